/*
 * trace.h - runs trace.py, which reads what a PyTorch module computes.
 *
 *     struct trace_request rq = {.file = "model.py", .name = "Model"};
 *     json_t *found = trace_run(&rq, err);          the answer of trace.py
 *     json_object_get(found, "graph")               in the form of schema/graph.json
 *     json_decref(found);
 *
 * trace.py runs in the user's own Python, $HONE_PYTHON or python3, which must have PyTorch. It
 * executes the user's file, with at most 15 minutes of CPU time and 16 GiB.
 */
#ifndef IMPORT_TRACE_H
#define IMPORT_TRACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct trace_request {
    const char *file; /* the user's Python file */
    /* The module or function to trace. If `name` is "" or NULL, trace.py takes the module "Model".
     * If there is none, it takes the file's only module, else the file's only function. */
    const char *name;
    const char *shown; /* name of the file in messages; NULL means `file` */
    const char *task;  /* the task's name; NULL makes it from `file` or `name` */
    /* Types of the inputs, such as "x=float16[B,128]". A file without get_inputs() needs them. */
    const char *const *inputs;
    size_t ninputs;
    /* Sizes at which the module is traced and timed, such as "B=64". */
    const char *const *sizes;
    size_t nsizes;
    const json_t *fixed; /* names of sizes that must not vary, or NULL */
    /* A file with the answer of an earlier trace, or NULL. With it, PyTorch does not run. */
    const char *recorded;
    const char *record; /* a file to write the answer to, or NULL */
    bool only_declared; /* integers in the file are not sizes; only names in `inputs` are */
    /* If not NULL, trace_run() calls this function. It may add facts to the answer, or refuse it.
     */
    int (*add_facts)(json_t *found, void *ctx, struct err *err);
    void *ctx;
};

const char *trace_shown(const struct trace_request *rq);

/* Each of rq->sizes must be positive and name a size of rq->inputs. With only_declared, names are
 * not checked: workloads of FlashInfer-Bench may give sizes that no input has. */
int trace_check_sizes(const struct trace_request *rq, struct err *err);

/* Returns trace.py's answer as a new reference, or NULL after an error. If trace.py refuses the
 * module, the error is ERR_INPUT and names the line if it is known. */
json_t *trace_run(const struct trace_request *rq, struct err *err);

#endif
