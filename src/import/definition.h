/*
 * definition.h - reads a definition and its workloads. A definition is a task of FlashInfer-Bench.
 *
 *     struct definition d;
 *     if (definition_open(&d, "set/definitions/rmsnorm/rmsnorm_h4096.json", NULL, err) < 0) ...
 *     d.task->tensors, d.workloads.items[0].axes
 *     definition_close(&d);
 *
 * A data set is a folder with definitions/, workloads/ and files of tensors.
 * workloads/.../NAME.jsonl has one workload in each line. An input of a workload is a
 * random tensor, a scalar with its value, or a tensor in a safetensors file. An enemy may have
 * written any of these files, so Hone checks all that it reads from them.
 */
#ifndef IMPORT_DEFINITION_H
#define IMPORT_DEFINITION_H

#include <jansson.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "task/task.h"

struct definition_workload {
    int64_t *axes;        /* the size of each axis of the task, also of constant axes */
    const json_t *inputs; /* the part of `document` that describes the inputs */
    double size;          /* the product of the sizes of the axes that are not constant */
    json_t *document;     /* the JSON of the workload's line */
};

struct definition {
    struct task *task; /* the definition as Hone's loader reads it */
    json_t *document;  /* the definition's JSON */
    char *path;        /* the path of the definition, for messages */
    char *root;        /* the folder of the data set; NULL if `path` has no folder definitions/ */
    char *lines;       /* the path of the file of workloads; NULL if there is none */
    VEC(struct definition_workload) workloads;
    struct arena arena;
};

/* Reads the definition at `path` and its workloads. `workloads` is the file of workloads; NULL
 * means the file in the data set, if there is such a file. */
int definition_open(struct definition *d, const char *path, const char *workloads, struct err *err);
void definition_close(struct definition *d);
/* Adds the workloads in the text, one in each line. */
int definition_read_workloads(struct definition *d, const char *text, size_t len, struct err *err);

/* Returns the workload with the largest `size`, or NULL if there is none. */
const struct definition_workload *definition_largest(const struct definition *d);
/* Sets out[i] to the value of scalar i of the task. `given` lists n values such as "eps=1e-5". A
 * scalar that is not in this list gets the value that it has in the largest workload. If it has
 * none there, it gets 1, and the function adds a note. A task has one value for each scalar. So the
 * function drops the workloads in which a scalar has another value, but never all workloads. It
 * adds a note for each scalar that made it drop workloads. */
int definition_scalars(struct definition *d, const char *const *given, size_t n, double *out,
                       json_t *notes, struct err *err);
/* Returns the value of a task's key `init` (docs/data.md). It says how to draw random inputs that
 * are like those of the workloads. To find this out, the function reads the safetensors files.
 * Returns a new reference, or NULL after an error. */
json_t *definition_init(const struct definition *d, struct err *err);

#endif
