/*
 * family.h - precompiled headers that hold a parent kernel's template instantiations.
 *
 * A template-heavy kernel spends nearly all its compile time instantiating CuTe types, and an edit
 * of it needs nearly the same ones. So the parent's source, made harmless, becomes part of a
 * precompiled header:
 *
 *     #include <cute/tensor.hpp>              the parent's includes
 *     namespace hone_family { ... }           its text: kernels as static __device__ functions
 *     #undef ...                              its macros
 *
 * It is built in the background, once per parent, and used for a child whose includes cover the
 * parent's; if it proves slower than the parent's own compile, it is not used again.
 */
#ifndef COMPILE_FAMILY_H
#define COMPILE_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* What is remembered of a heavy compile, to build its family header from later. */
struct family_record {
    const char *source;
    size_t len;
    const char **includes;
    size_t nincludes;
    uint64_t cpu_ns; /* of its compile without a family header */
};

void family_record_write(const struct family_record *r, struct strbuf *out);
int family_record_read(const void *data, size_t len, struct family_record *r, struct arena *a);

/* The header's text; -1 if the source has something that cannot be put into a namespace. */
int family_prelude(const struct family_record *r, struct strbuf *out);

/* True if a source with these includes may be compiled behind the family's header. */
bool family_covers(const struct family_record *r, const char *const *includes, size_t n);

#endif
