/*
 * read.h - reads a PyTorch expression into a graph.
 *
 *     struct torch_task t = {.axes = axes, .naxes = 2, .tensors = tensors, .ntensors = 3};
 *     struct graph g;
 *     if (torch_read(&g, "F.silu(x[:, :D]) * x[:, D:]", &t, err) < 0) ...
 *     graph_release(&g);
 *
 * The text goes through parse.h, in_place.h (changes in place), evaluate.h (names, operators,
 * subscripts) and functions.h. An expression without an exact meaning as a graph is refused with
 * the column and the reason.
 *
 * Spellings that mean the same in PyTorch become one value, such as x.sum(1) and torch.sum(x,
 * dim=1). graph/normal/normal.h unifies formulas that are only mathematically equal.
 */
#ifndef TORCH_READ_H
#define TORCH_READ_H

#include "graph/graph.h"
#include "torch/names.h"

/* The task's signature. All texts must live as long as the graph. */
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
    const int64_t *fixed;    /* one per name: value of a constant axis, else 0; may be NULL */
    size_t naxes;
    const struct torch_tensor *tensors;
    size_t ntensors;
    const struct torch_scalar *scalars;
    size_t nscalars;
    /* Constraints such as "OH == (H + 1)/2" say that two sizes are equal. Other forms are
     * ignored. */
    const char *const *constraints;
    size_t nconstraints;
};

/* Fills g. The expression is the value of the task's output, or a tuple with the values of several
 * outputs. On an error, returns -1 with the column in err, and releases g. graph_verify() compares
 * the outputs with their declared shapes. */
int torch_read(struct graph *g, const char *text, const struct torch_task *t, struct err *err);

/* Reads the values of an expression over g's inputs and `names`. A name hides an input of the same
 * name. sum(x), max(x) and so on are PyTorch's functions if x is a tensor. Returns the number of
 * values, or -1 with err set; more than `max` values are an error. */
int torch_read_values(struct graph *g, const char *text, const struct torch_names *names,
                      const struct value **out, size_t max, struct err *err);
/* On an error returns NULL with err set. */
const struct value *torch_read_value(struct graph *g, const char *text,
                                     const struct torch_names *names, struct err *err);

#endif
