/*
 * traits.h - what a task is, in a few words and numbers, so that memory can find similar tasks.
 *
 *     struct task_traits t;
 *     task_traits(&t, task, &arena);
 *     t.class "softmax", t.ops "softmax", t.sizes "24.0 10.0 12.0 2.0 2.0", t.marks "1f... 83..."
 *
 * A mark is a hash of everything that the task computes at one of its timed shapes: the graph in
 * normal form, with the sizes of this shape, the dtypes and the constants. Names of the task, of
 * its tensors and of its axes do not change a mark, and neither does the order of the operands of a
 * sum or product. Two tasks that have a mark in common are the same task under two names, or
 * overlap. Two marks can be equal although the graphs differ in which of two like inputs goes
 * where; memory then leaves out more than it must.
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
    const char *ops;   /* names of the graph's operations, sorted, each once, with spaces between */
    const char *sizes; /* log2 of: bytes of all tensors, the first input's last extent, its other
                          extents, the bytes of its elements, the number of tensors; each the mean
                          over the timed shapes */
    const char *marks; /* one for each timed shape, with spaces between */
};

void task_traits(struct task_traits *out, const struct task *t, struct arena *a);
/* How similar two tasks of one class are: 1 for equal traits, towards 0 for different ones. Text
 * that is not of the form above counts as different. */
double traits_similarity(const char *ops_a, const char *sizes_a, const char *ops_b,
                         const char *sizes_b);
/* Do the two lists have a mark in common? */
bool traits_share_mark(const char *a, const char *b);

#endif
