/*
 * family.h - precompiled headers that hold the template instances of one kernel.
 *
 * A kernel with many templates spends nearly all its compile time on instances of CuTe types. An
 * edited version needs nearly the same instances. So Hone puts the parent, the kernel before the
 * edit, into a precompiled header. A namespace keeps the parent's names apart:
 *
 *     #include <cute/tensor.hpp>       the parent's includes
 *     namespace hone_family { ... }    the parent's text
 *     #undef ...                       the parent's macros that no header has
 *
 * In the parent's text, kernels become static __device__ functions.
 *
 * The compile service builds this header in the background, once per parent. Hone uses it for an
 * edited version that includes at least the parent's headers. If a compile with it takes more
 * processor time than the parent's compile did, Hone stops using it.
 */
#ifndef COMPILE_FAMILY_H
#define COMPILE_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* A slow compile. The cache keeps this record, so that Hone can build the family header later. */
struct family_record {
    const char *source;
    size_t len;
    const char **includes;
    size_t nincludes;
    uint64_t cpu_ns; /* processor time without a family header */
};

void family_record_write(const struct family_record *r, struct strbuf *out);
int family_record_read(const void *data, size_t len, struct family_record *r, struct arena *a);

/* Appends the family header's text. Returns -1 if the source cannot be put into a namespace. */
int family_prelude(const struct family_record *r, struct strbuf *out);

/* True if a source with these includes may use the family header. */
bool family_covers(const struct family_record *r, const char *const *includes, size_t n);

#endif
