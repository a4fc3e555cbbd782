/*
 * task_text.h - the files of an imported task: task.json and reference.c.
 *
 *     struct import_files f = IMPORT_FILES_INIT;
 *     if (import_write_task(found, "relu", "model.py", 1, &f, err) < 0) ...
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
};
#define IMPORT_FILES_INIT                                                \
    {                                                                    \
        STRBUF_INIT(TASK_MAX_TEXT + 1), STRBUF_INIT(TASK_MAX_REFERENCE + 1) \
    }

/* `found` is trace.py's answer (trace.h), `file` the user's file, for the description. No size of a
 * workload is less than `floor`. */
int import_write_task(const json_t *found, const char *name, const char *file, int64_t floor,
                      struct import_files *out, struct err *err);
void import_files_release(struct import_files *f);

#endif
