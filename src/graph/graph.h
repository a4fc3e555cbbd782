/*
 * graph.h - what a task computes: values, each the result of one operation on earlier values.
 *
 * Invariants:
 *   1. A value never changes, and its arguments have smaller ids.
 *   2. The caller gives the dtype and the shape of a leaf: an input, scalar, number or size. A rule
 *      of ops.def infers those of all other values.
 *   3. No two values have the same operation, arguments and attributes. So the same pointer means
 *      the same computation.
 *   4. Sizes are expressions over the task's axes (dim.h).
 *
 *     struct graph g;
 *     graph_init(&g, axis_names, n);
 *     const struct value *x = graph_input(&g, "x", DT_F32, 2, dims);
 *     struct attr attrs[] = {attr_axis(-1), attr_bool(false)};
 *     const struct value *s = graph_add(&g, OP_SUM, &x, attrs, err);
 *     graph_add_output(&g, "y", DT_F32, 1, declared, s);
 *     graph_verify(&g, err);
 *
 * A graph comes from a PyTorch expression (torch/read.h), or from JSON (graph/json.h).
 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/dtype.h"
#include "base/err.h"
#include "base/vec.h"
#include "graph/dim.h"
#include "graph/ops.h"

#define GRAPH_MAX_VALUES 16384

struct graph_output {
    const char *name;
    /* dtype, rank and shape are as declared. Those of `value` may differ, as graph_verify()
     * allows. */
    enum dtype dtype;
    uint32_t rank;
    const struct dim *shape[GRAPH_MAX_RANK];
    const struct value *value;
};

struct graph {
    struct arena arena;
    struct dim_pool dims;
    VEC(struct value *) values;
    VEC(const struct value *) inputs;
    VEC(const struct value *) scalars;
    VEC(struct graph_output) outputs;
    const char *const *guards; /* conditions on the sizes */
    size_t nguards;
};

/* `names` lists the axes and integer scalars that sizes may mention. The graph borrows it. */
void graph_init(struct graph *g, const char *const *names, size_t n);
void graph_release(struct graph *g);

/* ---- leaves ---------------------------------------------------------------------------------- */

const struct value *graph_input(struct graph *g, const char *name, enum dtype t, uint32_t rank,
                                const struct dim *const *shape);
/* Adds a Python number that the kernel gets as an argument. */
const struct value *graph_scalar(struct graph *g, const char *name, enum dtype t);
/* Adds a variable. It matches any number or scalar when Hone compares graphs (normal/compare.h). */
const struct value *graph_variable(struct graph *g, const char *name);
const struct value *graph_number(struct graph *g, double v);   /* a Python float */
const struct value *graph_integer(struct graph *g, int64_t v); /* a Python int */
const struct value *graph_size(struct graph *g, const struct dim *d);
/* Returns the input or scalar with this name, or NULL. */
const struct value *graph_find(const struct graph *g, const char *name);

/* ---- operations ------------------------------------------------------------------------------ */

/* An absent operand is NULL. `attrs` may be NULL; ATTR_NONE gives an attribute its default. A
 * negative axis counts from the end. A reduction without axes reduces all axes. Returns NULL if the
 * operation's rule refuses the operands, or if the graph is full. */
const struct value *graph_add(struct graph *g, enum graph_op op, const struct value *const *args,
                              const struct attr *attrs, struct err *err);
/* Shorter ways to call graph_add(). If an operand is NULL, they return NULL and leave err
 * unchanged, so calls can be nested. graph_cast() and graph_reshape() return `a` itself if nothing
 * changes. But graph_cast() always casts a Python number. */
const struct value *graph_add1(struct graph *g, enum graph_op op, const struct value *a,
                               struct err *err);
const struct value *graph_add2(struct graph *g, enum graph_op op, const struct value *a,
                               const struct value *b, struct err *err);
const struct value *graph_add3(struct graph *g, enum graph_op op, const struct value *a,
                               const struct value *b, const struct value *c, struct err *err);
const struct value *graph_cast(struct graph *g, const struct value *a, enum dtype to,
                               struct err *err);
const struct value *graph_reshape(struct graph *g, const struct value *a, uint32_t rank,
                                  const struct dim *const *shape, struct err *err);
const struct value *graph_permute(struct graph *g, const struct value *a, const int64_t *axes,
                                  struct err *err);
/* Adds v's operation with v's attributes and the operands `args`. If v is a leaf, returns v. */
const struct value *graph_rebuild(struct graph *g, const struct value *v,
                                  const struct value *const *args, struct err *err);

/* ---- the whole ------------------------------------------------------------------------------- */

void graph_add_output(struct graph *g, const char *name, enum dtype t, uint32_t rank,
                      const struct dim *const *shape, const struct value *v);
/* Returns -1 unless all of this holds:
 *   - there is an output;
 *   - every output has its declared shape, except for extra or missing axes of size 1;
 *   - no output stores floats as integers, or numbers as bool;
 *   - every size is short enough for a text (dim.h);
 *   - every value comes after its operands. */
int graph_verify(const struct graph *g, struct err *err);

/* Returns an array by id: how often outputs and other values use each value. Only values that an
 * output needs count as users. */
const uint32_t *graph_uses(const struct graph *g, struct arena *a);
/* Returns an array by id, up to v's id: true for v and for the values that v is computed from. The
 * search does not go to the operands of a value for which `stop` returns true. `stop` may be
 * NULL. */
const bool *graph_needed(const struct graph *g, const struct value *v,
                         bool (*stop)(const struct value *v), struct arena *a);

#endif
