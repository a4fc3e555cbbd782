/*
 * key.h - finds a provider's key in the environment, or in a file that only its owner can read.
 *
 * For OPENAI_API_KEY, Hone takes the variable itself, else the file named by OPENAI_API_KEY_FILE,
 * else ~/.config/hone/openai_api_key. If $XDG_CONFIG_HOME is set, it takes the place of ~/.config.
 * A key file must be a regular file with mode 0600 or stricter. Hone puts a key into the request's
 * header and nowhere else: it neither logs nor stores the key.
 */
#ifndef AUTHOR_KEY_H
#define AUTHOR_KEY_H

#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"

/* Fills `out` with the key. If there is no key, the error names every place where Hone looked. */
int key_find(const char *env_name, struct strbuf *out, struct err *err);
/* Overwrites every occurrence of the key in text with '*'. Does nothing for a key of fewer than 8
 * characters. */
void key_redact(char *text, size_t len, const char *key);

#endif
