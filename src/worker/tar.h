/*
 * tar.h - reads bundles from one ustar file, and writes their results to another.
 *
 * The reader trusts nothing. It accepts regular files named todo/ID/FILE and the directories above
 * them, and skips pax headers. ID and FILE consist of letters, digits, '.', '_' and '-' and do not
 * start with a dot. Sizes and counts have limits, and header checksums must be right. Anything else
 * is an error, and then no bundle runs.
 */
#ifndef WORKER_TAR_H
#define WORKER_TAR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define TAR_MAX_FILE (1ull << 30)   /* bytes */
#define TAR_MAX_TOTAL (64ull << 30) /* bytes */
#define TAR_MAX_FILES 200000

/* Unpacks the bundles under `dir`. dir/todo must exist. */
int tar_unpack(const char *path, const char *dir, struct err *err);

struct tar_writer;
int tar_create(struct tar_writer **out, const char *path, struct err *err);
int tar_add(struct tar_writer *w, const char *name, const void *data, size_t len, struct err *err);
/* Gives the file its final name if `keep`, else deletes it. Frees w. */
int tar_finish(struct tar_writer *w, bool keep, struct err *err);

#endif
