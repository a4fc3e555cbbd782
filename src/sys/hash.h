/*
 * hash.h - SHA-256, for cache keys and for telling whether two texts are the same.
 *
 *     struct hash *h = hash_new();
 *     hash_str(h, "sm_90a");               length-prefixed: "ab","c" differs from "a","bc"
 *     hash_bytes(h, src, len);
 *     hash_finish(h, key);                 64 hex digits; frees h
 */
#ifndef SYS_HASH_H
#define SYS_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define HASH_HEX 65 /* 64 digits and the NUL */

struct hash;

struct hash *hash_new(void);
void hash_bytes(struct hash *h, const void *p, size_t n); /* adds the length first */
void hash_str(struct hash *h, const char *s);             /* NULL counts as "" */
void hash_u64(struct hash *h, uint64_t v);
void hash_finish(struct hash *h, char hex[HASH_HEX]);

/* The plain SHA-256 of n bytes. */
void hash_hex(const void *p, size_t n, char hex[HASH_HEX]);

#endif
