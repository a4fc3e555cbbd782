/*
 * cache.h - compile results on disk, by the hash of everything that went into them.
 *
 *     DIR/obj/ab/cdef...   one result: a header, its bytes, their SHA-256
 *     DIR/pch/...          precompiled headers (pch.h)
 *     DIR/tmp/...          the compilers' temporary files
 *
 * Safe for several processes without locks: an entry is written beside its place and renamed, is
 * never changed, and carries a checksum; a damaged one is removed and counts as a miss. Reading
 * an entry makes it young; the oldest go when the cache is over its size.
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
    unsigned puts; /* since the size was last looked at */
};

/* dir NULL = the user's cache directory; HONE_CACHE_MAX (8G) is its size. */
int cache_open(struct cache *c, const char *dir, struct err *err);
void cache_release(struct cache *c);

/* True and the bytes if there is a sound entry. */
bool cache_get(struct cache *c, const char *key, struct strbuf *out);
int cache_put(struct cache *c, const char *key, const void *data, size_t len, struct err *err);

struct cache_part {
    uint64_t n, bytes;
};
struct cache_stat {
    struct cache_part entries, headers, families; /* results; precompiled headers; of families */
    struct cache_part temps;                      /* being written, or left by killed processes */
    uint64_t total_bytes;
    uint64_t bad; /* entries and headers that failed their checksum, when verified */
    uint64_t removed, removed_bytes;
};
/* verify reads every entry and header and removes damaged ones. */
int cache_stat(struct cache *c, bool verify, struct cache_stat *out, struct err *err);
/* Removes the oldest until at most max_bytes are left, and what killed processes left behind. */
int cache_prune(struct cache *c, uint64_t max_bytes, struct cache_stat *out, struct err *err);
/* ... to its own size, at work: cache_put calls it now and then, others when they added much. */
void cache_trim(struct cache *c);

#endif
