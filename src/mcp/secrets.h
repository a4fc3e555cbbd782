/*
 * secrets.h - removes keys from what the server says.
 *
 * Children and kernels should never see a key. This is the second line of defence: every message is
 * searched for the keys that the server's user has, and a key that is found becomes asterisks.
 */
#ifndef MCP_SECRETS_H
#define MCP_SECRETS_H

#include <stddef.h>

#include "base/vec.h"

VEC_DECL(secret_vec, char *);

/* Collects the keys of the providers, and the values of environment variables whose names end in
 * KEY, TOKEN, SECRET or PASSWORD. */
void secrets_find(struct secret_vec *v);
void secrets_scrub(const struct secret_vec *v, char *text, size_t len);
void secrets_release(struct secret_vec *v);

#endif
