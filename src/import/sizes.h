/*
 * sizes.h - chooses the sizes of an imported task's workloads.
 *
 *     struct size_choice c;
 *     struct size_limits limits = {.floor = 1, .statistics = 1, .work = reference.work};
 *     if (sizes_choose(&c, &graph, original, limits, err) < 0) ...
 *     c.smoke.items[0].axes[i]                 the value of axis i
 *     sizes_release(&c);
 *
 * A size may depend on others in ways that only the graph shows. For example, channels are a
 * multiple of the groups, and a pooled image must not vanish. So every size of every value must be
 * at least 1, and the graph's guards (conditions on sizes that the trace found) must hold. The
 * original sizes, at which the module was traced, satisfy these conditions. The search draws shapes
 * between the least sizes that satisfy them and the original sizes.
 */
#ifndef IMPORT_SIZES_H
#define IMPORT_SIZES_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "graph/graph.h"

struct size_point {
    int64_t *axes; /* the size of each axis of the graph */
    double cost;   /* the sum of flops and elements over all values that an output needs */
};
VEC_DECL(size_points, struct size_point);

/* The sizes from lo to hi that are multiples of `multiple`. */
struct size_range {
    int64_t lo, hi, multiple;
};

struct size_choice {
    struct arena arena;
    struct size_points smoke, check; /* the shapes of the smoke and check workloads */
    struct size_range *heldout;      /* one for each axis */
    VEC(const char *) constraints;   /* the conditions that every shape must satisfy */
    int64_t statistics;              /* as in size_limits, or a larger number in a deep network */
    bool no_small_shape; /* no shape is small enough for a smoke test; `smoke` has the smallest */
};

/* Limits that every shape must keep in addition to the graph's guards, and a factor for its
 * cost. */
struct size_limits {
    /* Every axis has at least this size. An axis with a smaller original size keeps that size. */
    int64_t floor;
    /* Every variance is taken over at least this many elements. A variance that has fewer elements
     * at the original sizes must keep at least that number. If many variances follow each other,
     * sizes_choose() asks for more elements, because errors grow from variance to variance.
     */
    int64_t statistics;
    double work; /* how often the oracle computes a value: graph_reference.work */
};

/* Chooses sizes for the graph. original[i] is the size of axis i at which the module was traced. */
int sizes_choose(struct size_choice *c, struct graph *g, const int64_t *original,
                 struct size_limits limits, struct err *err);
void sizes_release(struct size_choice *c);

#endif
