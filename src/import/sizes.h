/*
 * sizes.h - chooses the sizes of an imported task's workloads.
 *
 *     struct size_choice c;
 *     if (sizes_choose(&c, &graph, original, 1, reference.work, err) < 0) ...
 *     c.smoke.items[0].axes[i]                 the value of axis i
 *     sizes_release(&c);
 *
 * A size may depend on others in ways that only the graph shows: channels are a multiple of the
 * groups, and a pooled image must not vanish. So every size of every value must be at least 1, and
 * the graph's guards must hold. A search starts at the original sizes, which satisfy all of that.
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
    double cost;   /* operations and elements of everything that the graph computes */
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
    bool no_small_shape;           /* every shape has a tensor that is too large for a smoke test */
};

/* The conditions that every shape must satisfy beside the graph's guards. */
struct size_limits {
    int64_t floor;      /* of every axis: 1, or 2 if the module refuses a size of 1 */
    int64_t statistics; /* a variance is over so many elements at least, if it originally is */
    double work;        /* of the oracle, for one operation of the graph */
};

/* `original` has one value per axis. */
int sizes_choose(struct size_choice *c, struct graph *g, const int64_t *original,
                 struct size_limits limits, struct err *err);
void sizes_release(struct size_choice *c);

#endif
