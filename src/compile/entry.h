/*
 * entry.h - writes a struct compiled as the bytes of a cache entry, and reads it back.
 */
#ifndef COMPILE_ENTRY_H
#define COMPILE_ENTRY_H

#include "base/strbuf.h"
#include "compile/compiled.h"

void entry_write(const struct compiled *c, struct strbuf *out);
/* Fills everything but key and from_cache; -1 if the bytes are not an entry of this version. */
int entry_read(const void *data, size_t len, struct compiled *c);

#endif
