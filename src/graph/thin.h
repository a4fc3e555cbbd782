/*
 * thin.h - finds the inputs that must be thin (zero except at a few places) so that the sums in
 * matrix products have few terms.
 *
 * Long sums hide how precisely their terms were computed: the errors of many terms cancel. With at
 * most GEN_FEW (4) terms that are not zero, a product in TF32 or half precision is visibly wrong.
 * So Hone also runs kernels on such data (eval/precision.h). For each matrix product, convolution
 * and attention in float32, and then for each sum and mean, this file looks for an operand that
 * comes from one input by operations that keep zeros (reshape, permute, expand, cast, abs, ...). It
 * says along which dimensions this input must be thin. Where both operands of a product come from
 * inputs that nothing else uses, one input may be multiplied by any power of two if the other is
 * divided by it.
 */
#ifndef GRAPH_THIN_H
#define GRAPH_THIN_H

#include "graph/graph.h"

struct thin_input {
    uint32_t dims; /* bit d says that the input is thin along dimension d; 0 = not thin */
    int scale;     /* 1 if this input may be multiplied, -1 if it may be divided, 0 if neither */
};

struct thin {
    struct thin_input *inputs; /* one for each input of the graph, in its order */
    uint32_t products;         /* products that get few terms */
    uint32_t sums;             /* sums and means (OP_SUM, OP_MEAN) that get few terms */
    uint32_t left;             /* products that keep all their terms */
};

/* The result lives in the arena. */
struct thin graph_thin(const struct graph *g, struct arena *a);

#endif
