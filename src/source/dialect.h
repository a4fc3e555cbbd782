/*
 * dialect.h - tells whether a kernel uses CuTe, and which parts of it.
 *
 * It counts CuTe's names in the source, without comments and strings. A source is in the cute
 * dialect if it does all of this:
 *  - it includes a header of CuTe or CUTLASS;
 *  - it makes tensors, and divides them into tiles or partitions;
 *  - it uses copy, a copy atom or an MMA atom.
 */
#ifndef SOURCE_DIALECT_H
#define SOURCE_DIALECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct dialect_use {
    bool includes_cute;
    /* How often names of each kind occur. */
    unsigned tensors, layouts, tiles, copies, copy_atoms, mma_atoms, gemms;
};

void dialect_scan(const char *source, size_t len, struct dialect_use *out);
/* Is the source in the cute dialect? If not, `why` (may be NULL) says what is missing. */
bool dialect_is_cute(const char *source, size_t len, struct strbuf *why);
/* Appends "CuTe: 4 layouts, 6 tensors, ..., 2 copy atoms, 1 MMA atoms", or "no CuTe". */
void dialect_describe(const struct dialect_use *u, struct strbuf *out);

#endif
