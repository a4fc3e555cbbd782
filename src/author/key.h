/*
 * key.h - finds a provider's key in the environment, or in a file that only its owner can read.
 *
 * For OPENAI_API_KEY, Hone takes the variable itself, or the file that OPENAI_API_KEY_FILE names,
 * or ~/.config/hone/openai_api_key. $XDG_CONFIG_HOME replaces ~/.config. A key file must be a
 * regular file with mode 0600 or stricter. Hone neither logs nor stores a key.
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
