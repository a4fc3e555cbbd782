/* reference_mode.h - which kind of reference graph_write_reference_as() writes. */
#ifndef GRAPH_REFERENCE_REFERENCE_MODE_H
#define GRAPH_REFERENCE_REFERENCE_MODE_H

#include <stdbool.h>
#include <stddef.h>

#define REFERENCE_SHARE_FROM (64u << 10)

enum reference_kind {
    REFERENCE_MAGNITUDE, /* values with magnitudes (OUT_MAG) */
    REFERENCE_SIGMA, /* values with the standard deviation of their rounding error (OUT_SIGMA) */
    REFERENCE_NOISY  /* values with random rounding, which depends on the oracle's noise seed */
};

struct reference_mode {
    enum reference_kind kind;
    bool tf32_products, tf32_convs; /* the operands of float32 products are rounded to TF32 */
    /* For SIGMA references. An error of an operand can make the result of some operations jump, for
     * example that of a comparison or of floor. With this flag such jumps add no variance. Elements
     * whose sigma is much smaller with the flag are undecided (tolerance/prove.h). */
    bool without_branches;
    /* For MAGNITUDE references. With this flag the text is for a GPU kernel (playbook/generate/).
     * It computes values only, in the types of kernel_type() (emit.h), and adds up long sums in
     * chains. */
    bool kernel;
    /* Similar phases share a function if the text of all phases is longer than this many bytes; 0
     * stands for REFERENCE_SHARE_FROM. Phases of a short text can be read one by one. */
    size_t share_from;
};

#endif
