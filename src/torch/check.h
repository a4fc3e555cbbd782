/*
 * check.h - checks a task's PyTorch expression, its key "torch".
 *
 *     struct torch_check c = TORCH_CHECK_INIT;
 *     torch_check_task(&c, task, &result);            for each task of a command
 *     if (c.why_not) ...                              PyTorch ran nothing, and why
 *     torch_check_release(&c);
 *
 * torch_check_task() takes three steps:
 *  1. It reads the expression into a graph. An expression that is wrong is a problem. An expression
 *  with a function that Hone does not know is only a note.
 *  2. It writes the reference of the graph and compares the task's oracle with it.
 *  3. If there is a python3 with PyTorch, it runs the expression on the CPU, at the smoke shapes
 *  and a few held-out ones, and compares the result with the oracle. The caller must check the
 *  oracle first, with task_check().
 */
#ifndef TORCH_CHECK_H
#define TORCH_CHECK_H

#include <stdbool.h>

#include "task/check_result.h"

struct python;

struct torch_check {
    struct python *python; /* NULL: not started, or there is none */
    bool tried;
    char *version;  /* "PyTorch 2.9.1"; NULL = none */
    bool raised;    /* PyTorch refused a shape that the task's constraints allow */
    double largest; /* the largest difference between oracle and PyTorch in double, relative to
                     * the element or to its output's rms, whichever is larger; over all outputs
                     * compared since the caller set it to 0 */
    char *
        why_not; /* the reason why there is no PyTorch; NULL if there is, or if it was not needed */
};
#define TORCH_CHECK_INIT \
    {                    \
        .python = NULL   \
    }

void torch_check_task(struct torch_check *c, const struct task *t, struct task_check_result *r);
void torch_check_release(struct torch_check *c);

#endif
