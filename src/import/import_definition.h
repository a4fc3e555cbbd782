/*
 * import_definition.h - makes a task from a definition of FlashInfer-Bench.
 *
 *     struct definition_request q = {.path = "set/definitions/norm/rmsnorm_h4096.json"};
 *     if (import_definition(&im, &q, "tasks", &report, err) < 0) ...
 *
 * The definition's `reference` is traced like any other PyTorch function. Its outputs are cast to
 * the dtypes that the definition declares. The task keeps the whole definition in its key
 * "definition", so that Hone can export a kernel as a Solution (FlashInfer-Bench's file for a
 * kernel).
 */
#ifndef IMPORT_IMPORT_DEFINITION_H
#define IMPORT_IMPORT_DEFINITION_H

#include "import/import.h"

struct definition_request {
    const char *path;
    const char *workloads;      /* a file of workloads; NULL = that of the data set */
    const char *const *scalars; /* such as "eps=1e-5" */
    size_t nscalars;
    const char *const *sizes; /* such as "batch_size=64"; only if there are no workloads */
    size_t nsizes;
    /* `sizes` are for all definitions of a data set. Those that this definition does not have
     * are left out. */
    bool in_set;
    const char *recorded, *record; /* a trace to read or to write: trace.h */
};

/* Writes the task's folder into the folder `out`. The caller releases the report, also after an
 * error. */
int import_definition(struct importer *im, const struct definition_request *q, const char *out,
                      struct import_report *r, struct err *err);

#endif
