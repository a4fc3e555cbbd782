/*
 * key.h - provider keys: from the environment, or from a file only its owner can read.
 *
 * For OPENAI_API_KEY: the variable itself; else the file named by OPENAI_API_KEY_FILE; else
 * ~/.config/hone/openai_api_key. A key file must be a regular file with mode 0600 or stricter.
 * A key is handed to the request's header and nowhere else: never logged, never stored.
 */
#ifndef AUTHOR_KEY_H
#define AUTHOR_KEY_H

#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"

/* Fills out with the key; the error names every place that was looked at. */
int key_find(const char *env_name, struct strbuf *out, struct err *err);
/* Overwrites every occurrence of the key in text with '*'. */
void key_redact(char *text, size_t len, const char *key);

#endif
