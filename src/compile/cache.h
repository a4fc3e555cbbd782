/*
 * cache.h - a cache on disk for compile results and other costly results. The key is the hash of
 * everything that a result depends on.
 *
 *     DIR/obj/ab/cdef...   one entry: a magic word, the result's bytes, the SHA-256 of both
 *     DIR/pch/...          precompiled headers (pch.h)
 *     DIR/tmp/...          the compilers' temporary files
 *
 * Processes share the cache without locks: an entry is written to a temporary file, renamed, and
 * never changed. A damaged entry is removed and counts as a miss. When the cache is full, the least
 * recently used entries and headers are removed.
 */
#ifndef COMPILE_CACHE_H
#define COMPILE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

struct cache {
    char *dir;
    uint64_t max_bytes;
    unsigned puts; /* entries that cache_put() has written */
};

/* Opens the cache in `dir`, or in the user's cache directory if `dir` is NULL. HONE_CACHE_MAX
 * (default 8G) limits the size. */
int cache_open(struct cache *c, const char *dir, struct err *err);
void cache_release(struct cache *c);

/* Appends the bytes of an entry to `out`. False if there is no undamaged entry. */
bool cache_get(struct cache *c, const char *key, struct strbuf *out);
int cache_put(struct cache *c, const char *key, const void *data, size_t len, struct err *err);

struct cache_part {
    uint64_t n, bytes; /* files, and their total size */
};
struct cache_stat {
    /* files of obj/, precompiled headers, and family headers (family.h) */
    struct cache_part entries, headers, families;
    /* Files that are being written, or that killed processes left. */
    struct cache_part temps;
    uint64_t total_bytes;
    uint64_t bad; /* damaged entries and headers; counted only with `verify` */
    uint64_t removed, removed_bytes;
};
/* Counts the files of the cache. With `verify`, also reads every entry and header, and removes
 * damaged ones. */
int cache_stat(struct cache *c, bool verify, struct cache_stat *out, struct err *err);
/* Removes temporary files older than an hour, and headers not used for three days. Also removes the
 * least recently used entries and headers until at most max_bytes are left. */
int cache_prune(struct cache *c, uint64_t max_bytes, struct cache_stat *out, struct err *err);
/* Calls cache_prune() with c->max_bytes. cache_put() does so once per 32 entries. Call this after
 * you have added a large file in another way. */
void cache_trim(struct cache *c);

#endif
