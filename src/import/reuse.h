/*
 * reuse.h - imports a module as a task once, and reuses that task as long as nothing has changed.
 *
 *     bool reused;
 *     if (import_or_reuse(&im, &rq, "hone-out/imported", &report, &reused, err) < 0) ...
 *     report.dir                                        "hone-out/imported/1a2b3c4d5e6f/model"
 *
 * The folder's name 1a2b3c4d5e6f is a hash of the request: the user's file, the module's name, the
 * options, and the versions of Python, PyTorch and the importer. import.json has a hash of every
 * file that the user's file imports from its own folder. If one of these has changed, the module is
 * imported again.
 */
#ifndef IMPORT_REUSE_H
#define IMPORT_REUSE_H

#include <stdbool.h>

#include "import/import.h"

/* Sets *reused to true if an earlier task can be used. A new folder in `root` gets its final name
 * only when the task is complete and proven. In the report of a reused task, `seconds`, `is_loose`
 * and `files` are not set. The caller releases the report, also after an error. */
int import_or_reuse(struct importer *im, const struct trace_request *rq, const char *root,
                    struct import_report *r, bool *reused, struct err *err);

#endif
