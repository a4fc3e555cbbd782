/*
 * check.h - checks a task's PyTorch expression, its key "torch".
 *
 *     struct torch_check c = TORCH_CHECK_INIT;
 *     torch_check_task(&c, task, &result);            for each task of a command
 *     if (c.why_not) ...                              says why there is no PyTorch to run tasks
 *     torch_check_release(&c);
 *
 * torch_check_task() checks a task with the key "torch" in three steps. It does not check a task
 * without this key. But if such a task has neither the key "graph" nor a reference in Python, it
 * adds a note. Before the call, the caller checks the oracle (the compiled reference.c) with
 * task_check(). If task_check() left problems in `result`, torch_check_task() skips steps 2 and 3.
 * It skips step 3 if an earlier step finds a problem.
 *  1. It reads the expression into a graph. For an imported task, which has its graph as JSON, it
 *     reads the JSON instead. An expression that is wrong is a problem. If the expression is right
 *     in Python, but has a function or syntax that Hone does not know, that is a note.
 *  2. It writes the reference of the graph and compares the task's oracle with it on the smoke
 *     shapes. It skips this step if the task is imported and PyTorch can run, because step 3 then
 *     proves more.
 *  3. If there is a python3 with PyTorch, it runs the expression on the CPU and compares the result
 *     with the oracle. It takes the smoke shapes, and two shapes of each held-out workload unless
 *     they are large.
 */
#ifndef TORCH_CHECK_H
#define TORCH_CHECK_H

#include <stdbool.h>

#include "task/check_result.h"

struct python;

struct torch_check {
    struct python *python; /* NULL if it is not started, or if there is no python3 */
    bool tried;            /* we have tried to start python3 */
    char *version;         /* such as "PyTorch 2.9.1"; NULL = none */
    bool raised;           /* PyTorch refused a shape that the task's constraints allow */
    /* The largest |PyTorch - oracle| / max(|oracle|, rms) of all elements that were compared since
     * the caller set this to 0. PyTorch computes in double. rms is the root mean square of the
     * oracle's output. */
    double largest;
    /* The reason why there is no PyTorch; NULL if there is PyTorch, or if it was not needed. */
    char *why_not;
};
#define TORCH_CHECK_INIT \
    {                    \
        .python = NULL   \
    }

void torch_check_task(struct torch_check *c, const struct task *t, struct task_check_result *r);
/* Checks a task whose reference is in Python. Runs the reference at the smoke shapes and at two
 * shapes of each held-out workload, in double and in the task's own dtypes. The reference must run,
 * and the two results must agree. */
void torch_check_reference(struct torch_check *c, const struct task *t,
                           struct task_check_result *r);
void torch_check_release(struct torch_check *c);

#endif
