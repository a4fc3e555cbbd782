/*
 * thin.h - finds the inputs that must be thin (zero except at a few places) so that the sums in
 * matrix products have few terms.
 *
 * Long sums hide how precisely their terms were computed: the errors of many terms cancel. With at
 * most GEN_FEW (4) terms that are not zero, a product in TF32 or half precision is visibly wrong.
 * So Hone also runs kernels on thin data (eval/precision.h).
 *
 * graph_thin() looks at each matrix product, convolution and attention in float32, and then at each
 * sum and mean. It searches for an operand that comes from one input by operations that keep zeros,
 * such as permute and abs. It also finds products of two inputs that nothing else uses. Hone may
 * multiply one of these inputs by a power of two and divide the other by it.
 */
#ifndef GRAPH_THIN_H
#define GRAPH_THIN_H

#include "graph/graph.h"

struct thin_input {
    uint32_t dims; /* bit d: the input is thin along dimension d */
    int scale;     /* 1 = Hone may multiply by a power of two, -1 = it may divide, 0 = neither */
};

struct thin {
    struct thin_input *inputs; /* one for each input of the graph, in its order */
    /* The number of products (also convolutions and attentions) whose sums get few terms. */
    uint32_t products;
    uint32_t sums; /* OP_SUM and OP_MEAN that get few terms */
    uint32_t left; /* products whose sums keep all their terms */
};

/* The result lives in the arena. */
struct thin graph_thin(const struct graph *g, struct arena *a);

#endif
