/*
 * dialect.h - tells whether a kernel uses CuTe, and which parts of it.
 *
 * It looks at the source without comments and strings. In the cute dialect a kernel must use
 * tensors with CuTe layouts for the data that it reads and writes. It must move data or compute
 * through copy, MMA or partitioning of such tensors. A kernel that only does raw pointer arithmetic
 * is not in the dialect.
 */
#ifndef SOURCE_DIALECT_H
#define SOURCE_DIALECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct dialect_use {
    bool includes_cute;
    unsigned tensors, layouts, tiles, copies, copy_atoms, mma_atoms, gemms;
};

void dialect_scan(const char *source, size_t len, struct dialect_use *out);
/* True if the kernel is in the cute dialect; else `why` (may be NULL) says what is missing. */
bool dialect_is_cute(const char *source, size_t len, struct strbuf *why);
/* "CuTe: 4 layouts, 6 tensors, ..., 2 copy atoms, 1 MMA atoms": for verdicts and reports. */
void dialect_describe(const struct dialect_use *u, struct strbuf *out);

#endif
