/* reference_mode.h - which kind of reference graph_write_reference_as() writes. */
#ifndef GRAPH_REFERENCE_REFERENCE_MODE_H
#define GRAPH_REFERENCE_REFERENCE_MODE_H

#include <stdbool.h>
#include <stddef.h>

#define REFERENCE_SHARE_FROM (64u << 10)

enum reference_kind {
    REFERENCE_MAGNITUDE, /* values with magnitudes (emit.h); it writes outputs with OUT_MAG */
    REFERENCE_SIGMA, /* values with the standard deviation of their rounding error (OUT_SIGMA) */
    REFERENCE_NOISY  /* values that are rounded at random; the text has a seed, hone_noise_seed */
};

struct reference_mode {
    enum reference_kind kind;
    /* Do matrix products in float32 round their operands to TF32? Do convolutions? */
    bool tf32_products, tf32_convs;
    /* For SIGMA references. In a comparison or a floor, a small error of an operand can make the
     * result jump. With this flag, jumps add no variance. If that makes the sigma of an element
     * much smaller, the element is undecided (tolerance/prove.h). */
    bool without_branches;
    /* For MAGNITUDE references. With this flag the text is for a GPU kernel (playbook/generate/):
     * it computes values without magnitudes, in the types of kernel_type() (emit.h). It cuts a long
     * sum into chains (collect.h), adds up each chain, and then adds up the results. */
    bool kernel;
    /* With `kernel`: the results are rounded to 16 bits, so exponentials may be off by some 2^-17
     * of their value. */
    bool rough;
    /* If the text of all phases has more bytes than this, similar phases share a function
     * (shared_body.h). 0 stands for REFERENCE_SHARE_FROM. A shorter text is easier to read without
     * shared functions. */
    size_t share_from;
};

#endif
