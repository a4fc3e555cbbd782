/*
 * near_epsilon.h - finds how to scale inputs so that small constants ("epsilons") matter.
 *
 * A norm divides by sqrt(variance + epsilon). On ordinary data the variance can be so large that a
 * kernel with a wrong epsilon is within the tolerance. If the inputs are multiplied by a small
 * power of two, the variance comes near the epsilon, and the fault is visible.
 *
 * An epsilon is a number in (0, 1e-3] that is added to a value, or that is the least value of a
 * clamp, or the eps of a norm. For each epsilon, this file looks for inputs such that the value
 * beside the epsilon is multiplied by s^k (k > 0) if all these inputs are multiplied by s. It
 * estimates how large the value usually is, and chooses s.
 */
#ifndef GRAPH_NEAR_EPSILON_H
#define GRAPH_NEAR_EPSILON_H

#include "graph/graph.h"

/* How an input is drawn. */
struct near_epsilon_input {
    double mean, variance;
    bool can_scale;
};

struct near_epsilon {
    int *bits;      /* one for each input; the input must be multiplied by 2^bits */
    uint32_t found; /* how many epsilons matter once the inputs are scaled */
};

/* `inputs` has one entry for each input of the graph, and `scalars` the value of each scalar, in
 * the order of the graph. `sizes` has the value of each name in g->dims. The result lives in the
 * arena. */
struct near_epsilon graph_near_epsilon(const struct graph *g,
                                       const struct near_epsilon_input *inputs,
                                       const double *scalars, const int64_t *sizes,
                                       struct arena *a);

#endif
