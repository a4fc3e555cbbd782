/*
 * cache_entry.h - writes a struct compiled as the bytes of a cache entry, and reads it back.
 */
#ifndef COMPILE_CACHE_ENTRY_H
#define COMPILE_CACHE_ENTRY_H

#include "base/strbuf.h"
#include "compile/compiled.h"

void cache_entry_write(const struct compiled *c, struct strbuf *out);
/* Fills every member of *c except key and from_cache. Returns -1 if the bytes are not an entry of
 * this version. */
int cache_entry_read(const void *data, size_t len, struct compiled *c);

#endif
