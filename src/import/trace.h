/*
 * trace.h - runs trace.py, which reads what a PyTorch module computes.
 *
 *     struct trace_request rq = {.file = "model.py", .name = "Model"};
 *     json_t *found = trace_run(&rq, err);          "model.py:12: forward draws random numbers ..."
 *     json_object_get(found, "graph")               in the form of schema/graph.json
 *     json_decref(found);
 *
 * The program runs in the user's own Python, $HONE_PYTHON or python3, which must have PyTorch. It
 * executes the user's file, in a process that may take 5 minutes and 16 GiB.
 */
#ifndef IMPORT_TRACE_H
#define IMPORT_TRACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct trace_request {
    const char *file;
    const char *name;  /* the module or function; "" or NULL = "Model", or else the only module, or
                          else the only function */
    const char *shown; /* the file's name in messages; NULL = file */
    const char *task;  /* the task's name; NULL = made from `file` or `name` */
    const char *const *inputs; /* such as "x=float16[B,128]", for a file without get_inputs() */
    size_t ninputs;
    const char *const *sizes; /* such as "B=64": the size at which the module is traced and timed */
    size_t nsizes;
    const json_t *fixed;  /* names of sizes that must not vary; NULL = none */
    const char *recorded; /* a file with trace.py's answer: PyTorch does not run; NULL = none */
    const char *record;   /* a file to write the answer to; NULL = none */
    bool only_declared;   /* only names in `inputs` are sizes; integers in the file are not */
    /* Adds to trace.py's answer, also to a recorded one, facts that the file does not have, or
     * refuses the answer; NULL = none. */
    int (*add_facts)(json_t *found, void *ctx, struct err *err);
    void *ctx;
};

/* The name of the user's file in messages. */
const char *trace_shown(const struct trace_request *rq);

/* Checks that each of rq->sizes is a positive number and names a size of rq->inputs. A definition's
 * workloads may also name sizes that no input has. */
int trace_check_sizes(const struct trace_request *rq, struct err *err);

/* Returns a new reference to trace.py's answer, or NULL after an error. If trace.py refuses the
 * module, the error is of kind ERR_INPUT and names the line if trace.py knows it. */
json_t *trace_run(const struct trace_request *rq, struct err *err);

#endif
