/*
 * trace.h - runs trace.py, which reads what a PyTorch module computes.
 *
 *     struct trace_request rq = {.file = "model.py", .name = "Model"};
 *     json_t *found = trace_run(&rq, err);          the answer of trace.py
 *     json_object_get(found, "graph")               in the form of schema/graph.json
 *     json_decref(found);
 *
 * The program runs in the user's own Python, $HONE_PYTHON or python3, which must have PyTorch. It
 * executes the user's file, in a process that may use 15 minutes of CPU time and 16 GiB.
 */
#ifndef IMPORT_TRACE_H
#define IMPORT_TRACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct trace_request {
    const char *file; /* the user's Python file */
    /* The name of the module or function to trace. If it is "" or NULL, trace.py takes "Model", or
     * else the only module in the file, or else the only function. */
    const char *name;
    const char *shown; /* the name of the file in messages; NULL means `file` */
    const char *task;  /* the task's name; if NULL, it is made from `file` or `name` */
    /* The inputs, such as "x=float16[B,128]". They are needed for a file without get_inputs(). */
    const char *const *inputs;
    size_t ninputs;
    /* Sizes, such as "B=64". The module is traced and timed at these sizes. */
    const char *const *sizes;
    size_t nsizes;
    const json_t *fixed; /* the names of sizes that must not vary; NULL if there are none */
    /* A file with trace.py's answer from an earlier trace, or NULL. If there is such a file,
     * PyTorch does not run. */
    const char *recorded;
    const char *record; /* a file to write the answer to; NULL if it is not wanted */
    bool only_declared; /* only names in `inputs` are sizes; integers in the file are not */
    /* If it is not NULL, it is called with trace.py's answer, or with the recorded one. It can add
     * facts that the file does not have, or refuse the answer. */
    int (*add_facts)(json_t *found, void *ctx, struct err *err);
    void *ctx;
};

/* Returns the name of the user's file in messages. */
const char *trace_shown(const struct trace_request *rq);

/* Checks that each of rq->sizes is a positive number and names a size of rq->inputs. With
 * only_declared it does not check the names. That flag is for definitions of FlashInfer-Bench,
 * whose workloads may give sizes that no input has. */
int trace_check_sizes(const struct trace_request *rq, struct err *err);

/* Returns a new reference to trace.py's answer, or NULL after an error. If trace.py refuses the
 * module, the error is of kind ERR_INPUT and names the line if trace.py knows it. */
json_t *trace_run(const struct trace_request *rq, struct err *err);

#endif
