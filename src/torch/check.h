/*
 * check.h - checks a task's PyTorch expression, its key "torch".
 *
 *     struct torch_check c = TORCH_CHECK_INIT;
 *     torch_check_task(&c, task, &result);            for each task of a command
 *     if (c.why_not) ...                              says why there is no PyTorch to run tasks
 *     torch_check_release(&c);
 *
 * Before, the caller checks the oracle, the compiled reference.c, with task_check(). Then
 * torch_check_task() has three steps. If `result` has problems already, it skips steps 2 and 3. A
 * problem in step 1 or 2 skips step 3.
 *  1. It reads the expression, or the JSON of an imported task, into a graph. A wrong expression is
 *     a problem. Python that Hone does not know is a note.
 *  2. It compares the oracle with a reference that Hone writes from the graph, on the smoke shapes.
 *     It skips this for an imported task if PyTorch runs, because step 3 proves more.
 *  3. If python3 has PyTorch, it compares the oracle with PyTorch on the CPU, on the smoke shapes
 *     and on two shapes of each held-out workload unless they are large.
 *
 * A task without "torch" is not checked. If it also has neither "graph" nor a reference in Python,
 * it gets a note.
 */
#ifndef TORCH_CHECK_H
#define TORCH_CHECK_H

#include <stdbool.h>

#include "task/check_result.h"

struct python;

struct torch_check {
    struct python *python; /* NULL if not started, or if there is no python3 */
    bool tried;            /* we have tried to start python3 */
    char *version;         /* such as "PyTorch 2.9.1"; NULL = none */
    bool raised;           /* PyTorch refused a shape that the task's constraints allow */
    /* The largest |PyTorch - oracle| / max(|oracle|, rms) since the caller set it to 0. PyTorch
     * computes in double. rms is the root mean square of the oracle's output. */
    double largest;
    /* Why there is no PyTorch; NULL if there is, or if it was not needed. */
    char *why_not;
};
#define TORCH_CHECK_INIT \
    {                    \
        .python = NULL   \
    }

void torch_check_task(struct torch_check *c, const struct task *t, struct task_check_result *r);
/* Checks a task whose reference is in Python. Runs it at the smoke shapes and at two shapes of each
 * held-out workload, in double and in the task's own dtypes. The two results must agree. */
void torch_check_reference(struct torch_check *c, const struct task *t,
                           struct task_check_result *r);
void torch_check_release(struct torch_check *c);

#endif
