/*
 * reuse.h - imports a module as a task once, and reuses that task as long as nothing has
 * changed.
 *
 *     bool reused;
 *     if (import_or_reuse(&im, &rq, "hone-out/imported", &report, &reused, err) < 0) ...
 *     report.dir                                        "hone-out/imported/1a2b3c4d5e6f/model"
 *
 * The name of the folder 1a2b3c4d5e6f is a hash of the request. The hash covers the path and the
 * text of the user's file, the name of the module in that file, and the options. It also covers the
 * versions of Python, PyTorch and the importer. In that folder, import.json has the report, and the
 * hash of every file that the user's file imports from its own folder. If one of these files has
 * changed, the module is imported again.
 */
#ifndef IMPORT_REUSE_H
#define IMPORT_REUSE_H

#include <stdbool.h>

#include "import/import.h"

/* Sets *reused to true if a task of an earlier import can be used. Otherwise imports the module
 * into a new folder in `root`. That folder gets its final name only when the task is complete and
 * proven. In the report of a reused task, `seconds`, `is_loose` and `files` are not set. The caller
 * releases the report, also after an error. */
int import_or_reuse(struct importer *im, const struct trace_request *rq, const char *root,
                    struct import_report *r, bool *reused, struct err *err);

#endif
