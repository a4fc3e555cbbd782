/*
 * gen.h - input data: integer-only generators over a counter RNG.
 *
 * Element i of a tensor depends only on (seed, stream, i) and its spec, so any element can be made
 * alone, on the CPU or the GPU, to the same bit. The arithmetic lives in gen_core.h, which is the
 * common subset of C17 and C++17 and is compiled into Hone's device code as it stands.
 *
 * A task's `init` names one of these per input, e.g.
 *     "x": {"dist": "normal", "scale": 1.0, "special": [{"value": "-inf", "every": 10}]}
 */
#ifndef BASE_GEN_H
#define BASE_GEN_H

#include <stdint.h>

#include "base/dtype.h"

enum gen_dist {
    GEN_NORMAL,  /* sum of 12 uniforms: bell-shaped, mean `a`, deviation `b` */
    GEN_UNIFORM, /* floats: [a, b); */
    GEN_INT,     /* integers a..b inclusive */
    GEN_CONST,   /* a */
    GEN_ZERO,
    GEN_DENORMAL, /* random denormals of the dtype, both signs */
    GEN_CSR,      /* row pointers: element i of N+1, nondecreasing from 0 to b; a = mean degree */
    GEN_PERM      /* a permutation of 0..n-1 */
};

enum gen_special {
    GEN_SPECIAL_NONE,
    GEN_POS_INF,
    GEN_NEG_INF,
    GEN_NAN,
    GEN_SPECIAL_ZERO,
    GEN_SPECIAL_DENORMAL,
    GEN_SPECIAL_MAX
};

struct gen_spec {
    uint8_t dist;       /* enum gen_dist */
    uint8_t special[2]; /* enum gen_special, on about 1 of every[i] elements, at random */
    uint32_t every[2];  /* 0 = never */
    double a, b;
    uint64_t n; /* elements of the tensor, for CSR and PERM */
};

/* Fills elems [first, first+count) of a tensor at dst. */
void gen_fill(const struct gen_spec *spec, enum dtype t, uint64_t seed, uint32_t stream,
              uint64_t first, uint64_t count, void *dst);

#endif
