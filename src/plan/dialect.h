/*
 * dialect.h - does a kernel go through CuTe, and with which of its facilities?
 *
 * Looks at the source with comments and strings taken out. In the cute dialect a kernel must have
 * tensors over CuTe layouts for what it reads and writes, and move or compute through copy, MMA or
 * partitioning of such tensors; raw pointer arithmetic alone is sent back.
 */
#ifndef PLAN_DIALECT_H
#define PLAN_DIALECT_H

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
/* "layouts 4, tensors 6, copy atoms 2, MMA atoms 1": for verdicts and reports. */
void dialect_describe(const struct dialect_use *u, struct strbuf *out);

#endif
