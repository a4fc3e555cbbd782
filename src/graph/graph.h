/*
 * graph.h - what a task computes: values, each the result of one operation on earlier values.
 *
 * Invariants:
 *  1. Values are in SSA form. A value never changes, and its arguments have smaller ids.
 *  2. Operations come from one closed table (ops.def). The caller gives the dtype and the shape of
 *     a leaf (an input, scalar, number or size). Every other value has the dtype and shape that its
 *     operation's rule infers; graph_add() refuses operands that do not fit the rule.
 *  3. A graph never has two values with the same operation, arguments and attributes. So two
 *     values are the same computation exactly if their pointers are equal.
 *  4. Sizes are expressions over the task's axes (dim.h).
 *
 *     struct graph g;
 *     graph_init(&g, axis_names, n);
 *     const struct value *x = graph_input(&g, "x", DT_F32, 2, dims);
 *     struct attr attrs[] = {attr_axis(-1), attr_bool(false)};
 *     const struct value *s = graph_add(&g, OP_SUM, &x, attrs, err);
 *     graph_add_output(&g, "y", DT_F32, 1, declared, s);
 *     graph_verify(&g, err);
 *
 * A graph comes from a PyTorch expression (torch/read.h), or from JSON (graph/json.h). From a graph
 * Hone derives the reference (graph/reference/reference.h), the task's class and cost
 * (graph/cost.h), a text (graph/print.h), and the built-in author's kernels (playbook/).
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
    /* The dtype and shape that the task declares. The dtype and shape of `value` may differ from
     * these in the ways that graph_verify() allows. */
    enum dtype dtype;
    uint32_t rank;
    const struct dim *shape[GRAPH_MAX_RANK];
    const struct value *value;
};

struct graph {
    struct arena arena;
    struct dim_pool dims;
    VEC(struct value *) values;       /* every value comes after its arguments */
    VEC(const struct value *) inputs; /* the OP_INPUT values, in the task's order */
    VEC(const struct value *) scalars;
    VEC(struct graph_output) outputs;
    const char *const *guards; /* conditions on the sizes; only graphs from JSON have them */
    size_t nguards;
};

/* Begins an empty graph. `names` lists the axes and integer scalars that sizes may mention. The
 * graph borrows `names`. */
void graph_init(struct graph *g, const char *const *names, size_t n);
void graph_release(struct graph *g);

/* ---- leaves ---------------------------------------------------------------------------------- */

const struct value *graph_input(struct graph *g, const char *name, enum dtype t, uint32_t rank,
                                const struct dim *const *shape);
/* A scalar of the task: a Python number that the kernel gets as an argument. */
const struct value *graph_scalar(struct graph *g, const char *name, enum dtype t);
/* A variable stands for a number that is not known yet. When Hone compares this graph with a task's
 * graph, the variable matches any number or scalar of the task (normal/compare.h). */
const struct value *graph_variable(struct graph *g, const char *name);
const struct value *graph_number(struct graph *g, double v);   /* a Python float */
const struct value *graph_integer(struct graph *g, int64_t v); /* a Python int */
/* Makes a value from a size, so that operations can compute with it. If the size is a plain number,
 * returns what graph_integer() returns for it. */
const struct value *graph_size(struct graph *g, const struct dim *d);
/* The input or scalar of that name; NULL if there is none. */
const struct value *graph_find(const struct graph *g, const char *name);

/* ---- operations ------------------------------------------------------------------------------ */

/*
 * Adds one operation. `args` and `attrs` have as many entries as the operation's row lists. An
 * absent operand is NULL. An attribute that is ATTR_NONE gets the row's default; if `attrs` is
 * NULL, all attributes get their defaults. An axis may be negative: it then counts from the end. A
 * reduction without axes (ATTR_NONE) reduces all axes. Returns NULL with err set if an operand is
 * missing, an attribute has the wrong kind, or the graph is full. Does the same if the operation's
 * rule refuses the operands, for example because shapes do not broadcast.
 */
const struct value *graph_add(struct graph *g, enum graph_op op, const struct value *const *args,
                              const struct attr *attrs, struct err *err);
/* Shorter ways to call graph_add(). If an operand is NULL, they return NULL and leave err
 * unchanged, so calls can be nested. graph_add1() to graph_add3() add an operation with that many
 * operands and the default attributes. graph_cast() and graph_reshape() return `a` itself if it
 * already has the dtype or shape. But graph_cast() always adds a cast of a Python number. */
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
/* Adds a value like v: the same operation with the same attributes, but with the operands `args`.
 * If v is a leaf, returns v. */
const struct value *graph_rebuild(struct graph *g, const struct value *v,
                                  const struct value *const *args, struct err *err);

/* ---- the whole ------------------------------------------------------------------------------- */

/* Declares the next output. graph_verify() compares the value's shape and dtype with the declared
 * ones. */
void graph_add_output(struct graph *g, const char *name, enum dtype t, uint32_t rank,
                      const struct dim *const *shape, const struct value *v);
/* Checks the whole graph. Every output must have its declared shape; extra or missing axes of size
 * 1 are allowed. No output may store floats as integers, or numbers as bool. No size may be so long
 * that dim.h gives it no text. Every value must come after its operands. There must be an output.
 * Returns -1 if something is wrong; err says what and where. */
int graph_verify(const struct graph *g, struct err *err);

/* Returns an array with one entry per id: how often the value is used by other values or as an
 * output. Values that no output needs do not count as users, and their own entries are 0. The
 * result lives in the arena. */
const uint32_t *graph_uses(const struct graph *g, struct arena *a);
/* Returns an array with one entry per id, up to v's id: true for v and for every value that v is
 * computed from. If `stop` is not NULL, the search does not follow the operands of a value for
 * which `stop` returns true. The result lives in the arena. */
const bool *graph_needed(const struct graph *g, const struct value *v,
                         bool (*stop)(const struct value *v), struct arena *a);

#endif
