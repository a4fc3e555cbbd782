/*
 * near_epsilon.h - finds how to scale inputs so that small constants ("epsilons") matter.
 *
 * A norm divides by sqrt(variance + epsilon). On ordinary data the variance can be so large that a
 * kernel with a wrong epsilon is within the tolerance. Inputs multiplied by a suitable 2^-k bring
 * the variance near the epsilon and make the mistake visible.
 *
 * An epsilon is a number in (0, 1e-3]. It is added to a value, or it is the lower bound of a clamp,
 * or the eps of a norm. For each epsilon, graph_near_epsilon() looks for inputs that control the
 * value beside the epsilon: if they are multiplied by s, this value is multiplied by s^p, for some
 * p > 0. For a variance p is 2. The function estimates how large the value usually is, and chooses
 * s.
 */
#ifndef GRAPH_NEAR_EPSILON_H
#define GRAPH_NEAR_EPSILON_H

#include "graph/graph.h"

/* The elements of an input are drawn with this mean and variance. */
struct near_epsilon_input {
    double mean, variance;
    bool can_scale; /* the caller allows that the input is multiplied */
};

struct near_epsilon {
    int *bits;      /* one for each input, 0 or negative: the input must be multiplied by 2^bits */
    uint32_t found; /* number of epsilons for which inputs are scaled */
};

/* `inputs` and `scalars` have an entry for each of the graph's inputs and scalars, in order.
 * `sizes` has the value of each name in g->dims. The result lives in the arena. */
struct near_epsilon graph_near_epsilon(const struct graph *g,
                                       const struct near_epsilon_input *inputs,
                                       const double *scalars, const int64_t *sizes,
                                       struct arena *a);

#endif
