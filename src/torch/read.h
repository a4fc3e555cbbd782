/*
 * read.h - reads a PyTorch expression into a graph.
 *
 *     struct torch_task t = {.axes = axes, .naxes = 2, .tensors = tensors, .ntensors = 3};
 *     struct graph g;
 *     if (torch_read(&g, "F.silu(x[:, :D]) * x[:, D:]", &t, err) < 0) ...
 *     graph_release(&g);
 *
 * The text goes through parse.h (the parser), changes.h (changes in place), evaluate.h (names,
 * operators, subscripts) and functions.h (PyTorch's functions). An expression that has no exact
 * meaning as a graph is refused with the column and the reason.
 *
 * Two spellings that mean the same in PyTorch become one value: for example x.sum(1) and
 * torch.sum(x, dim=1), or clamp(x, 0, None) and clamp_min(x, 0). Two formulas that are only
 * mathematically equal (x * x and x.square()) stay two values; graph/normal/normal.h rewrites them
 * to one.
 */
#ifndef TORCH_READ_H
#define TORCH_READ_H

#include "graph/graph.h"
#include "torch/names.h"

/* The task's signature. All texts are borrowed, and must live as long as the graph. */
struct torch_tensor {
    const char *name;
    enum dtype dtype;
    uint32_t rank;
    const char *shape[GRAPH_MAX_RANK];
    bool input, output;
};

struct torch_scalar {
    const char *name;
    enum dtype dtype;
};

struct torch_task {
    const char *const *axes; /* names that sizes may mention: axes and integer scalars */
    const int64_t *fixed;    /* one per name: the value of a constant axis, else 0; may be NULL */
    size_t naxes;
    const struct torch_tensor *tensors;
    size_t ntensors;
    const struct torch_scalar *scalars;
    size_t nscalars;
    /* A constraint such as "OH == (H + 1)/2" says that two sizes are equal. Constraints of other
     * forms are ignored. */
    const char *const *constraints;
    size_t nconstraints;
};

/* Sets up g with its inputs, scalars and outputs. If t->tensors has one output, the expression
 * gives its value. If it has several outputs, the expression must be a tuple with their values, in
 * the order of t->tensors. On an error it returns -1, err says what is wrong at which column, and g
 * is released. graph_verify() compares outputs with their declared shapes.
 */
int torch_read(struct graph *g, const char *text, const struct torch_task *t, struct err *err);

/* Reads the values of an expression over g's inputs and `names`. A name hides an input with the
 * same name. Here sum(x), max(x) and so on are PyTorch's functions if x is a tensor, even without
 * "torch." in front. Returns how many values there are, or -1 with err set; more than `max` values
 * are an error. */
int torch_read_values(struct graph *g, const char *text, const struct torch_names *names,
                      const struct value **out, size_t max, struct err *err);
/* Reads one value. On an error returns NULL with err set. */
const struct value *torch_read_value(struct graph *g, const char *text,
                                     const struct torch_names *names, struct err *err);

#endif
