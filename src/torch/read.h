/*
 * read.h - reads a PyTorch expression into a graph.
 *
 *     struct torch_task t = {.axes = axes, .naxes = 2, .tensors = tensors, .ntensors = 3};
 *     struct graph g;
 *     if (torch_read(&g, "F.silu(x[:, :D]) * x[:, D:]", &t, err) < 0) ...
 *     graph_release(&g);
 *
 * The text goes through parse.h, in_place.h, evaluate.h and functions.h. An expression without an
 * exact meaning as a graph is refused, with the column and the reason.
 *
 * x.sum(1) and torch.sum(x, dim=1) become the same value. graph/normal/normal.h unifies formulas
 * that are only mathematically equal.
 */
#ifndef TORCH_READ_H
#define TORCH_READ_H

#include "graph/graph.h"
#include "torch/names.h"

/* All texts must live as long as the graph. */
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
    const char *const *axes; /* names in sizes: axes and integer scalars */
    const int64_t *fixed;    /* for each name: value of a constant axis, else 0; may be NULL */
    size_t naxes;
    const struct torch_tensor *tensors;
    size_t ntensors;
    const struct torch_scalar *scalars;
    size_t nscalars;
    /* "OH == (H + 1)/2" says that two sizes are equal, and "C % 32 == 0" that 32 divides C. Other
     * forms are ignored. */
    const char *const *constraints;
    size_t nconstraints;
};

/* The expression is the value of the task's output, or a tuple for several outputs. On an error
 * returns -1, with the column in err, and releases g. graph_verify() compares the outputs with
 * their declared shapes. */
int torch_read(struct graph *g, const char *text, const struct torch_task *t, struct err *err);

/* Reads an expression, and sets out[i] to its values in the graph. `names` have precedence over
 * inputs of the same name. If x is a tensor, sum(x), max(x) and so on are PyTorch's functions.
 * Returns the number of values, or -1 with err set. More than `max` values are an error. */
int torch_read_values(struct graph *g, const char *text, const struct torch_names *names,
                      const struct value **out, size_t max, struct err *err);

#endif
