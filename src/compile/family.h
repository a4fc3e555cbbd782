/*
 * family.h - precompiled headers that hold the template instances of one kernel.
 *
 * A kernel with many templates spends nearly all its compile time on instances of CuTe types, and
 * an edited version of the kernel needs nearly the same instances. The kernel before the edit is
 * the parent. Hone puts the source of the parent into a precompiled header. The names of the parent
 * must not clash with those of the edited version, so the header looks like this:
 *
 *     #include <cute/tensor.hpp>       the parent's includes
 *     namespace hone_family { ... }    the parent's text
 *     #undef ...                       the parent's macros
 *
 * In the parent's text, kernels become static __device__ functions.
 *
 * The compile service builds this header in the background, once per parent. Hone uses it for an
 * edited version that includes at least the headers of the parent. If a compile with the header
 * takes more processor time than the compile of the parent did, Hone stops using the header.
 */
#ifndef COMPILE_FAMILY_H
#define COMPILE_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* A record of a slow compile. The cache keeps it, so that Hone can build the family header
 * later. */
struct family_record {
    const char *source;
    size_t len;
    const char **includes;
    size_t nincludes;
    uint64_t cpu_ns; /* processor time of this compile without a family header */
};

void family_record_write(const struct family_record *r, struct strbuf *out);
int family_record_read(const void *data, size_t len, struct family_record *r, struct arena *a);

/* Writes the header's text. Returns -1 if the source cannot be put into a namespace. */
int family_prelude(const struct family_record *r, struct strbuf *out);

/* True if a source with these includes may be compiled with the family header. */
bool family_covers(const struct family_record *r, const char *const *includes, size_t n);

#endif
