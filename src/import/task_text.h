/*
 * task_text.h - writes the files of an imported task: task.json and reference.c.
 *
 *     struct import_files f = IMPORT_FILES_INIT;
 *     if (import_write_task(found, "relu", "model.py", &how, &f, err) < 0) ...
 *     f.task, f.reference                           the texts
 *     import_files_release(&f);
 */
#ifndef IMPORT_TASK_TEXT_H
#define IMPORT_TASK_TEXT_H

#include <jansson.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "task/task.h"

struct import_files {
    struct strbuf task, reference;
    int64_t statistics; /* size_choice.statistics of the chosen sizes (sizes.h) */
};
/* The description of an imported task. %s stands for the name of the user's file. */
#define IMPORT_DESCRIPTION "Imported from %s."

#define IMPORT_FILES_INIT                                                      \
    {                                                                          \
        STRBUF_INIT(TASK_MAX_TEXT + 1), STRBUF_INIT(TASK_MAX_REFERENCE + 1), 1 \
    }

/* Which operations a kernel may compute in TF32 if the inputs are float32. */
enum import_precision {
    PRECISION_TORCH, /* convolutions, but not matrix products: PyTorch's default */
    PRECISION_FP32,  /* none */
    PRECISION_TF32   /* convolutions and matrix products */
};

struct import_choice {
    enum import_precision precision;
    /* As in struct size_limits (sizes.h). `floor` is 1, or 2 if the module refuses sizes of 1. If
     * `statistics` is 1, there is no condition on variances. */
    int64_t floor;
    int64_t statistics;
    bool degenerate; /* the outputs hardly depend on the inputs */
};

/* Writes the task `name`. `found` is trace.py's answer (trace.h). `file` is the name of the user's
 * file, for the task's description. */
int import_write_task(const json_t *found, const char *name, const char *file,
                      const struct import_choice *how, struct import_files *out, struct err *err);
void import_files_release(struct import_files *f);

#endif
