/*
 * shape_times.h - the times of settings at each timed shape of a task, from all candidates that
 * were tried. The time of a candidate with a table counts, at each shape, for the point of the
 * shape's range.
 *
 *     struct shape_times t;
 *     shape_times_read(&book, facts, &t);
 *     ...                                    t.points.items[i].log_ns[shape]
 *     shape_times_release(&t);
 */
#ifndef AUTHOR_PROPOSAL_SHAPE_TIMES_H
#define AUTHOR_PROPOSAL_SHAPE_TIMES_H

#include "playbook/playbook.h"

#define SHAPES_MAX 32 /* further timed shapes are ignored */

struct point_times {
    struct pb_point point;
    bool failed;               /* a candidate with this point failed */
    double log_ns[SHAPES_MAX]; /* per shape: mean of the logarithms of the point's times */
    uint32_t n[SHAPES_MAX];    /* per shape: number of these times */
};

struct shape_times {
    const json_t *axes[SHAPES_MAX]; /* the axes of each timed shape */
    bool known[SHAPES_MAX];         /* some candidate has a time for this shape */
    uint32_t nshapes;
    VEC(struct point_times) points;
    VEC(struct pb_ranges) tables; /* the tables of tried candidates that have several ranges */
};

void shape_times_read(const struct bound_book *book, const json_t *facts, struct shape_times *out);
void shape_times_release(struct shape_times *t);
int64_t shape_size(const struct shape_times *t, uint32_t shape, const char *axis);
/* Returns whether some candidate has a time for the shape, and the shape lies in range i. */
bool shape_counts(const struct shape_times *t, uint32_t shape, const struct pb_ranges *r,
                  uint32_t i);

#endif
