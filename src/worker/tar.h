/*
 * tar.h - bundles and results as one ustar file each way.
 *
 * Reading trusts nothing: only regular files and directories named todo/ID/FILE are accepted, ID
 * and FILE made of letters, digits, '.', '_' and '-' and not starting with a dot; sizes and counts
 * are capped; header checksums must fit. Anything else is an error and nothing runs.
 */
#ifndef WORKER_TAR_H
#define WORKER_TAR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define TAR_MAX_FILE (1ull << 30)
#define TAR_MAX_TOTAL (64ull << 30)
#define TAR_MAX_FILES 200000

/* Unpacks under dir, where todo/ exists already. */
int tar_unpack(const char *path, const char *dir, struct err *err);

struct tar_writer;
int tar_create(struct tar_writer **out, const char *path, struct err *err);
int tar_add(struct tar_writer *w, const char *name, const void *data, size_t len, struct err *err);
/* Puts the file in place (or throws it away unless `keep`) and frees w. */
int tar_finish(struct tar_writer *w, bool keep, struct err *err);

#endif
