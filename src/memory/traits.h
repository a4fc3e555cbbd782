/*
 * traits.h - what a task is, so that memory can find similar tasks.
 *
 *     struct task_traits t;
 *     task_traits(&t, task, &arena);
 *     t.class "softmax", t.ops "softmax", t.sizes "24.0 10.0 12.0 2.0 2.0", t.marks "1f... 83..."
 *
 * A mark is a hash of everything that the task computes at one timed shape: the graph in normal
 * form with its sizes, dtypes and constants. Names, and the order of the operands of a sum or
 * product, do not change it. Tasks with a common mark compute the same at a timed shape.
 *
 * One exception: x - y and y - x have the same mark, because inputs have no names in it. That does
 * no harm: memory leaves out more lessons than it must. Without a graph, a mark is a hash of the
 * task's class, op_type and tensors.
 */
#ifndef MEMORY_TRAITS_H
#define MEMORY_TRAITS_H

#include <stdbool.h>

#include "base/arena.h"
#include "task/task.h"

#define TRAITS_SIZES 5 /* numbers in `sizes` */
#define TRAITS_MARK 16 /* hex digits of a mark */
#define TRAITS_MAX_MARKS 16

struct task_traits {
    const char *class;
    /* The names of the graph's operations, sorted, each once. Without a graph, the op_type. */
    const char *ops;
    /* Five numbers, each the mean of a log2 over the timed shapes: bytes of all tensors; last
     * extent of the first tensor; product of its other extents; bytes of one of its elements; 1 +
     * the number of tensors. */
    const char *sizes;
    /* Marks of the first TRAITS_MAX_MARKS timed shapes. */
    const char *marks;
};

void task_traits(struct task_traits *out, const struct task *t, struct arena *a);
/* Returns how similar two tasks of one class are: 1 for equal traits, and down to nearly 0. Returns
 * 0.01 if the sizes cannot be read. */
double traits_similarity(const char *ops_a, const char *sizes_a, const char *ops_b,
                         const char *sizes_b);
bool traits_share_mark(const char *a, const char *b);

#endif
