/*
 * definition.h - reads a definition and its workloads. A definition is a task of FlashInfer-Bench.
 *
 *     struct definition d;
 *     if (definition_open(&d, "set/definitions/rmsnorm/rmsnorm_h4096.json", NULL, err) < 0) ...
 *     d.task->tensors, d.workloads.items[0].axes
 *     definition_close(&d);
 *
 * A data set is a folder with definitions/, workloads/ and files of tensors. Each line of
 * workloads/.../NAME.jsonl is a workload. Its inputs are random tensors, scalars with values, or
 * tensors in safetensors files. Hone treats the whole data set as hostile.
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
    int64_t *axes;        /* the size of every axis, also of constant ones */
    const json_t *inputs; /* in `document` */
    double size;          /* product of the variable axes */
    json_t *document;     /* the line as JSON */
};

struct definition {
    struct task *task; /* as Hone's loader reads the definition */
    json_t *document;  /* the definition as JSON */
    char *path;
    char *root;  /* the data set's folder; NULL if `path` has no definitions/ */
    char *lines; /* the file of workloads, or NULL */
    VEC(struct definition_workload) workloads;
    struct arena arena;
};

/* Reads the definition in the file `path`, and the workloads in the file `workloads`. If
 * `workloads` is NULL, reads the data set's own file of workloads, if there is one. */
int definition_open(struct definition *d, const char *path, const char *workloads, struct err *err);
void definition_close(struct definition *d);
int definition_read_workloads(struct definition *d, const char *text, size_t len, struct err *err);

const struct definition_workload *definition_largest(const struct definition *d);
/* Sets out[i] to the value of the task's scalar i: from `given`, n texts such as "eps=1e-5", else
 * from the largest workload, else 1 with a note. A task has one value for each scalar. Workloads
 * with another value are dropped with a note, but never all of them. */
int definition_scalars(struct definition *d, const char *const *given, size_t n, double *out,
                       json_t *notes, struct err *err);
/* Returns a new reference to a task's `init` (docs/data.md), which draws inputs like those in the
 * workloads' safetensors files. NULL after an error. */
json_t *definition_init(const struct definition *d, struct err *err);

#endif
