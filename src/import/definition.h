/*
 * definition.h - reads a definition of FlashInfer-Bench (its name for a task), with the workloads
 * of its data set.
 *
 *     struct definition d;
 *     if (definition_open(&d, "set/definitions/rmsnorm/rmsnorm_h4096.json", NULL, err) < 0) ...
 *     d.task->tensors, d.workloads.items[0].axes
 *     definition_close(&d);
 *
 * A data set is a folder with definitions/, workloads/ and files of tensors.
 * workloads/.../NAME.jsonl has one workload in each line. An input of a workload is random, a
 * scalar with its value, or a tensor in a safetensors file. All of these files are hostile input.
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
    int64_t *axes;        /* the size of each axis of the task, also of const axes */
    const json_t *inputs; /* a part of `document` */
    double size;          /* the product of the variable axes */
    json_t *document;     /* the JSON of its line */
};

struct definition {
    struct task *task; /* the definition as Hone's loader reads it */
    json_t *document;
    char *path;  /* the path of the definition, for messages */
    char *root;  /* the folder of the data set; NULL if `path` has no folder definitions/ */
    char *lines; /* the file of workloads; NULL = none */
    VEC(struct definition_workload) workloads;
    struct arena arena;
};

/* `workloads` is the file of workloads; NULL = the one in the data set, if there is one. */
int definition_open(struct definition *d, const char *path, const char *workloads, struct err *err);
void definition_close(struct definition *d);
/* Adds the workloads in the text, one in each line. definition_open() does this; fuzzers call it.
 */
int definition_read_workloads(struct definition *d, const char *text, size_t len, struct err *err);

/* Returns the workload with the largest `size`, or NULL if there is none. */
const struct definition_workload *definition_largest(const struct definition *d);
/* Sets out[i] to the value of scalar i of the task: as `given` has it ("eps=1e-5"), else as the
 * largest workload has it, else 1. A task has one value for each scalar, so the workloads without
 * this value are dropped, unless that would drop all. Adds a note for each scalar that drops
 * workloads, or that is 1 because neither gives it a value. */
int definition_scalars(struct definition *d, const char *const *given, size_t n, double *out,
                       json_t *notes, struct err *err);
/* Returns how to draw inputs like those of the workloads: the `init` of a task (docs/data.md).
 * Reads the safetensors files. Returns a new reference, or NULL after an error. */
json_t *definition_init(const struct definition *d, struct err *err);

#endif
