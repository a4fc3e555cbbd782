/*
 * sizes.h - chooses the sizes of an imported task's workloads.
 *
 *     struct size_choice c;
 *     struct size_limits limits = {.floor = 1, .statistics = 1, .work = reference.work};
 *     if (sizes_choose(&c, &graph, original, limits, err) < 0) ...
 *     c.smoke.items[0].axes[i]                 the value of axis i
 *     sizes_release(&c);
 *
 * Only the graph shows how sizes depend on each other: channels are a multiple of the groups, and a
 * pooled image must not vanish. So every size of every value must be at least 1, and the graph's
 * guards (conditions that the trace found) must hold. The search draws shapes between the least
 * possible sizes and the traced ones.
 */
#ifndef IMPORT_SIZES_H
#define IMPORT_SIZES_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "graph/graph.h"

struct size_point {
    int64_t *axes;
    double cost; /* flops plus elements of all values that an output needs */
};
VEC_DECL(size_points, struct size_point);

/* The multiples of `multiple` from lo to hi. */
struct size_range {
    int64_t lo, hi, multiple;
};

struct size_choice {
    struct arena arena;
    struct size_points smoke, check;
    struct size_range *heldout;    /* per axis */
    VEC(const char *) constraints; /* conditions for every shape */
    int64_t statistics;            /* as in size_limits, or more in a deep network */
    bool no_small_shape; /* no shape is small enough for a smoke test; `smoke` has the smallest */
};

struct size_limits {
    /* Each axis is at least this large, or at least its original size if that is smaller. */
    int64_t floor;
    /* Each variance combines at least this many elements, or as many as at the original shape if
     * these are fewer. sizes_choose() raises the number for a deep network, because errors grow
     * from variance to variance. */
    int64_t statistics;
    double work; /* graph_reference.work */
};

/* original[i] is the size of axis i at which the module was traced. */
int sizes_choose(struct size_choice *c, struct graph *g, const int64_t *original,
                 struct size_limits limits, struct err *err);
void sizes_release(struct size_choice *c);

#endif
