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
    int64_t *axes; /* one per axis of the graph */
    double cost;   /* flops plus elements, of all values that an output needs */
};
VEC_DECL(size_points, struct size_point);

struct size_range {
    int64_t lo, hi, multiple;
};

struct size_choice {
    struct arena arena;
    struct size_points smoke, check;
    struct size_range *heldout;    /* one per axis */
    VEC(const char *) constraints; /* what every shape must satisfy */
    int64_t statistics; /* size_limits.statistics, or more in a deep network */
    bool no_small_shape; /* no shape is small enough for a smoke test; `smoke` has the smallest */
};

/* Limits that every shape keeps beside the graph's guards, and a factor for its cost. */
struct size_limits {
    int64_t floor; /* every axis is at least `floor`, or has its original size if that is smaller */
    /* Every variance is taken over at least `statistics` elements, or over as many as at the
     * original sizes if those are fewer. If many variances follow each other, sizes_choose() asks
     * for more elements: errors grow from variance to variance. */
    int64_t statistics;
    double work; /* how often the oracle computes a value: graph_reference.work */
};

/* `original` has one value per axis. */
int sizes_choose(struct size_choice *c, struct graph *g, const int64_t *original,
                 struct size_limits limits, struct err *err);
void sizes_release(struct size_choice *c);

#endif
