/* reference_mode.h - which kind of reference graph_write_reference_as() writes. */
#ifndef GRAPH_REFERENCE_REFERENCE_MODE_H
#define GRAPH_REFERENCE_REFERENCE_MODE_H

#include <stdbool.h>
#include <stddef.h>

#define REFERENCE_SHARE_FROM (64u << 10)

enum reference_kind {
    REFERENCE_MAGNITUDE, /* values with magnitudes (OUT_MAG) */
    REFERENCE_SIGMA, /* values with the standard deviation of their rounding error (OUT_SIGMA) */
    REFERENCE_NOISY  /* values computed with random rounding; the oracle's noise seed chooses */
};

struct reference_mode {
    enum reference_kind kind;
    bool tf32_products, tf32_convs; /* the operands of float32 products are rounded to TF32 */
    /* SIGMA: ignore that an error of an operand can make a result jump (that of a comparison, of
     * floor, ...): add no variance for the jump. Elements whose sigma is much smaller in this mode
     * are undecided (tolerance/prove.h). */
    bool without_branches;
    /* MAGNITUDE: the text is for a GPU kernel (playbook/generate/). It computes values only, in the
     * types of kernel_type() (emit.h), and adds up long sums in chains. */
    bool kernel;
    /* Similar phases share a function if the text of all phases is longer than this many bytes; 0
     * stands for REFERENCE_SHARE_FROM. Phases of a short text can be read one by one. */
    size_t share_from;
};

#endif
