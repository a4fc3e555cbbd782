/*
 * thin.h - finds the inputs that must be thin (zero except at a few places) so that the sums in
 * matrix products have few terms.
 *
 * Long sums hide how precisely their terms were computed: the errors of many terms cancel. With at
 * most GEN_FEW (4) terms that are not zero, a product in TF32 or half precision is visibly wrong.
 * So Hone also runs kernels on thin data (eval/precision.h).
 *
 * graph_thin() looks at each matrix product, convolution and attention in float32, and then at each
 * sum and mean. It searches for an operand that is computed from one input by operations that keep
 * zeros, such as reshape, permute, cast and abs. It says along which dimensions this input must be
 * thin. It also finds products whose two operands come from inputs that nothing else uses. There
 * Hone may multiply one input by a power of two and divide the other by the same power.
 */
#ifndef GRAPH_THIN_H
#define GRAPH_THIN_H

#include "graph/graph.h"

struct thin_input {
    uint32_t dims; /* bit d says that the input is thin along dimension d; 0 = not thin */
    int scale;     /* by a power of two: 1 = may be multiplied, -1 = may be divided, 0 = neither */
};

struct thin {
    struct thin_input *inputs; /* one for each input of the graph, in its order */
    uint32_t products;         /* products whose sums get few terms */
    uint32_t sums;             /* sums and means (OP_SUM, OP_MEAN) that get few terms */
    uint32_t left;             /* products whose sums keep all their terms */
};

/* The result lives in the arena. */
struct thin graph_thin(const struct graph *g, struct arena *a);

#endif
