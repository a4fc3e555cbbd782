/*
 * python_task.h - makes a task from a definition of FlashInfer-Bench whose reference cannot be
 * traced, for example because it loops over `.item()`.
 *
 * The task is the definition itself with Hone's keys added. Its reference stays in Python: after
 * the candidate has run, a PyTorch process (worker/sidecar.h) computes the truth in double. Hone
 * does not see the reference's operations, so it uses the tolerance of FlashInfer-Bench.
 */
#ifndef IMPORT_PYTHON_TASK_H
#define IMPORT_PYTHON_TASK_H

#include "import/definition.h"
#include "import/import.h"

struct python_task_request {
    const struct definition *d;
    json_t *scalars; /* the key `scalars` of the task */
    /* Each shape to time or to check is an object with the sizes of the axes. */
    const json_t *timed, *checked;
    bool prove; /* run the reference in PyTorch, to prove that it works */
};

/* `refusal` says why trace.py refused a reference. Returns whether this reference can stay in
 * Python. It cannot if it draws random numbers, keeps state, or is broken. */
bool python_task_is_possible(const struct err *refusal);
/* Writes the task into the folder r->dir, and sets r->axes. */
int import_python_task(struct importer *im, const struct python_task_request *q,
                       struct import_report *r, struct err *err);

#endif
