/*
 * traits.h - what a task is, in a few words and numbers, so that memory can find similar tasks.
 *
 *     struct task_traits t;
 *     task_traits(&t, task, &arena);
 *     t.class "softmax", t.ops "softmax", t.sizes "24.0 10.0 12.0 2.0 2.0", t.marks "1f... 83..."
 *
 * A mark is a hash of everything that the task computes at one of its timed shapes. It covers the
 * graph in normal form, with the sizes of this shape, the dtypes and the constants. The names of
 * the task, its tensors and its axes do not change a mark. Neither does the order of the operands
 * of a sum or product. Two tasks that have a mark in common compute the same at one of their timed
 * shapes. There is one exception, because inputs have no names in a mark: x - y and y - x have the
 * same mark if x and y have the same shape and dtype. Memory offers a run no lessons of a task with
 * the same mark (memory.h). So the exception only means that it leaves out more lessons than it
 * must. The mark of a task without a graph is a hash of its class, op_type and tensors only.
 */
#ifndef MEMORY_TRAITS_H
#define MEMORY_TRAITS_H

#include <stdbool.h>

#include "base/arena.h"
#include "task/task.h"

#define TRAITS_SIZES 5 /* how many numbers `sizes` has */
#define TRAITS_MARK 16 /* how many hex digits a mark has */
#define TRAITS_MAX_MARKS 16

struct task_traits {
    const char *class;
    /* The names of the graph's operations, sorted, each once, with spaces between. For a task
     * without a graph, its op_type. */
    const char *ops;
    /* Five numbers. Each is the mean, over the timed shapes, of the log2 of one quantity. The
     * quantities are: the bytes of all tensors; the last extent of the first tensor; the product of
     * its other extents; the bytes of one of its elements; 1 + the number of tensors. */
    const char *sizes;
    /* One mark for each of the first TRAITS_MAX_MARKS timed shapes, with spaces between. */
    const char *marks;
};

void task_traits(struct task_traits *out, const struct task *t, struct arena *a);
/* How similar two tasks of one class are: 1 for equal traits, nearly 0 for very different ones. If
 * sizes_a or sizes_b is not a list of TRAITS_SIZES numbers, the result is 0.01. */
double traits_similarity(const char *ops_a, const char *sizes_a, const char *ops_b,
                         const char *sizes_b);
/* Returns true if the two lists have a mark in common. */
bool traits_share_mark(const char *a, const char *b);

#endif
