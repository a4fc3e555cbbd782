/*
 * import_definition.h - makes a task from a definition of FlashInfer-Bench.
 *
 *     struct definition_request q = {.path = "set/definitions/norm/rmsnorm_h4096.json"};
 *     if (import_definition(&im, &q, "tasks", &report, err) < 0) ...
 *
 * The task keeps the definition in its key "definition", so that Hone can export a kernel as a
 * Solution (FlashInfer-Bench's file for a kernel).
 */
#ifndef IMPORT_IMPORT_DEFINITION_H
#define IMPORT_IMPORT_DEFINITION_H

#include "import/import.h"

struct definition_request {
    const char *path;
    const char *workloads;      /* a file of workloads; NULL means the file in the data set */
    const char *const *scalars; /* such as "eps=1e-5" */
    size_t nscalars;
    /* Such as "batch_size=64". If the definition has workloads, they give the sizes: then an entry
     * here is an error, or is ignored with in_set. */
    const char *const *sizes;
    size_t nsizes;
    /* `sizes` and `scalars` are meant for all definitions of a data set. Names that this definition
     * does not have are ignored. */
    bool in_set;
    /* `recorded` is a file with an earlier trace to use, `record` a file to write the trace to
     * (trace.h). Each may be NULL. */
    const char *recorded, *record;
};

/* Writes the task's folder into `out`. The caller releases the report, also after an error. */
int import_definition(struct importer *im, const struct definition_request *q, const char *out,
                      struct import_report *r, struct err *err);

#endif
