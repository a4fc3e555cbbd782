/*
 * regime_axes.h - which values the axes of a task may have, and which of these values matter.
 *
 * For each axis we list the sizes at which kernels go wrong: just below, at and above a warp, a
 * tile, a block. Kernels use vectors along an axis on which memory is contiguous, so its sizes
 * differ from those of an axis that counts rows. regimes.c combines the sizes into shapes.
 */
#ifndef TASK_REGIME_AXES_H
#define TASK_REGIME_AXES_H

#include "task/task.h"

enum {
    MAX_VALUES = 56,
    VECTOR = 16,    /* bytes of the widest vector, so it has at most 16 elements */
    MAX_SCAN = 4200 /* when we search for a value, we try 1 to MAX_SCAN */
};

struct axis_value {
    int64_t v;
    const char *text; /* "just above a warp (32)" */
    bool alone;       /* also try this value with all other axes at their least values */
};

struct axis_info {
    bool is_const;
    bool inner;           /* the innermost extent of a tensor depends on it */
    bool outer;           /* another extent of a tensor depends on it */
    struct expr *follows; /* a constraint makes the axis equal to this; NULL = free */
    int64_t least;        /* smallest allowed value, up to MAX_SCAN; 0 = none */
    int64_t most;         /* largest value in the task's own workloads */
    bool vectors;         /* kernels use vectors along it: see find_vector_axes() */
    size_t n;
    struct axis_value values[MAX_VALUES];
};

struct regime_axes {
    struct task *t;
    struct axis_info axis[TASK_MAX_AXES];
    bool heavy; /* much arithmetic for each element, as in a matrix product */
};

void axes_read(struct regime_axes *a, struct task *t);

size_t axes_count(const struct regime_axes *a);
bool axes_is_free(const struct regime_axes *a, size_t i);
/* Returns whether the axis may have the value v: from 1 to `most`, and allowed by the constraints
 * that depend only on this axis. */
bool axes_allow(const struct regime_axes *a, size_t axis, int64_t v);
/* Returns the allowed value that is nearest to v in direction `step` (1 or -1). Returns 0 if there
 * is none within v/4 + 1 of v. */
int64_t axes_nearest(const struct regime_axes *a, size_t axis, int64_t v, int step);
/* Does axis `of` depend on `axis`, perhaps through other axes? */
bool axes_depend(const struct regime_axes *a, size_t of, size_t axis);
/* Writes the constant axes and integer scalars to x. */
void axes_fill_scalars(const struct task *t, int64_t *x);
/* Returns the operations at a shape: the task's `flops`, or else twice the product of its axes. */
double axes_flops(const struct regime_axes *a, const struct shape *s);

#endif
