/*
 * check.h - checks a task's PyTorch expression, its key "torch".
 *
 * The caller first checks the oracle, the compiled reference.c, with task_check(). After a problem
 * there, steps 2 and 3 are skipped. After a problem in step 1 or 2, step 3 is skipped.
 *  1. Reads the expression, or the JSON of an imported task, into a graph. A wrong expression is a
 *     problem. If Python accepts the text but Hone cannot read it, adds only a note.
 *  2. Compares the oracle with a reference that Hone writes from the graph, on the smoke shapes.
 *     Skipped for an imported task if PyTorch runs, because step 3 proves more.
 *  3. If python3 has PyTorch, compares the oracle with it on the CPU, on the smoke shapes and on
 *     two shapes of each held-out workload unless they are large.
 *
 * A task without "torch" is not checked. It gets a note if it also has no "graph" and no reference
 * in Python.
 */
#ifndef TORCH_CHECK_H
#define TORCH_CHECK_H

#include <stdbool.h>

#include "task/check_result.h"

struct python;

struct torch_check {
    struct python *python; /* NULL if Python does not run */
    bool tried;
    char *version; /* such as "PyTorch 2.9.1"; NULL = none */
    bool raised;   /* PyTorch refused a shape that the task's constraints allow */
    /* The largest |PyTorch - oracle| / max(|oracle|, rms) since the caller set it to 0. `rms` is
     * the root mean square of the oracle's output. */
    double largest;
    /* Why there is no PyTorch; NULL if there is, or if it was not needed. */
    char *why_not;
};
#define TORCH_CHECK_INIT \
    {                    \
        .python = NULL   \
    }

void torch_check_task(struct torch_check *c, const struct task *t, struct task_check_result *r);
/* For a reference in Python: runs it in double and in the task's own dtypes, at the smoke shapes
 * and at two shapes of each held-out workload. The results must agree. */
void torch_check_reference(struct torch_check *c, const struct task *t,
                           struct task_check_result *r);
/* Runs a user's PyTorch program, at the same shapes and in the task's own dtypes, and compares it
 * with the oracle. `name` is the program's file, for messages. If PyTorch cannot run the program,
 * that is a problem. Returns true if the program agrees with the oracle. Returns false also if the
 * two could not be compared. */
bool torch_check_program(struct torch_check *c, const struct task *t, const char *name,
                         const char *source, struct task_check_result *r);
void torch_check_release(struct torch_check *c);

#endif
