/*
 * secrets.h - removes keys from the messages of the server.
 *
 * Children and kernels should never see a key (host.h). This is the second line of defence: the
 * server searches every message for the user's keys, and replaces each by asterisks.
 */
#ifndef MCP_SECRETS_H
#define MCP_SECRETS_H

#include <stddef.h>

#include "base/vec.h"

VEC_DECL(secret_vec, char *);

/* Collects the user's API keys for providers of models (author/key.h). Also collects the values of
 * environment variables whose names end in KEY, TOKEN, SECRET or PASSWORD. */
void secrets_find(struct secret_vec *v);
/* Replaces the keys in a text by asterisks. */
void secrets_scrub(const struct secret_vec *v, char *text, size_t len);
void secrets_release(struct secret_vec *v);

#endif
