/*
 * cache.h - a cache on disk for compile results, and for other results that are costly to get. The
 * key of a result is the hash of everything that the result depends on.
 *
 *     DIR/obj/ab/cdef...   one entry: a magic word, the result's bytes, the SHA-256 of both
 *     DIR/pch/...          precompiled headers (pch.h)
 *     DIR/tmp/...          the compilers' temporary files
 *
 * Several processes can share the cache without locks: a process writes an entry to a temporary
 * file and renames it, and never changes it afterwards. Each entry carries a checksum. A damaged
 * entry is removed and counts as a miss. When the cache exceeds its maximal size, the entries and
 * headers whose last use is longest ago are removed.
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
    unsigned puts; /* how many entries cache_put() has written through this struct */
};

/* If `dir` is NULL, opens the user's cache directory. HONE_CACHE_MAX (default 8G) is the cap on the
 * size of the cache. */
int cache_open(struct cache *c, const char *dir, struct err *err);
void cache_release(struct cache *c);

/* If there is an undamaged entry, appends its bytes to `out` and returns true. */
bool cache_get(struct cache *c, const char *key, struct strbuf *out);
int cache_put(struct cache *c, const char *key, const void *data, size_t len, struct err *err);

struct cache_part {
    uint64_t n, bytes; /* how many files, and their total size */
};
struct cache_stat {
    /* `entries` are the files of obj/, `families` are family headers (family.h), and `headers` are
     * the other precompiled headers. */
    struct cache_part entries, headers, families;
    /* Files that are being written, or that killed processes left behind. */
    struct cache_part temps;
    uint64_t total_bytes;
    uint64_t bad; /* entries and headers that failed their checksum (only counted with `verify`) */
    uint64_t removed, removed_bytes; /* the files that cache_prune() removed */
};
/* With `verify`, reads every entry and header and removes damaged ones. */
int cache_stat(struct cache *c, bool verify, struct cache_stat *out, struct err *err);
/* Removes temporary files that are older than an hour, which killed processes left behind. Removes
 * headers that were not used for three days. Then removes the entries and headers whose last use is
 * longest ago, until at most max_bytes are left. */
int cache_prune(struct cache *c, uint64_t max_bytes, struct cache_stat *out, struct err *err);
/* Prunes the cache to its maximal size. cache_put() calls it once for every 32 entries; call it
 * after adding a large file. */
void cache_trim(struct cache *c);

#endif
