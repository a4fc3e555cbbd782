/*
 * bundle.h - files of a bundle: read whole with a cap, written by rename.
 *
 *     if (bundle_read(dir, "job.bin", JOB_MAX_BYTES, &data, &len, err) < 0) ...
 *     bundle_write(dir, "result.bin", buf, len, true, err);
 *
 * Names are those job_read() let through, or Hone's own: plain, inside the bundle. A symbolic link
 * is not followed: a bundle came from elsewhere.
 */
#ifndef WORKER_BUNDLE_H
#define WORKER_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* data[len] is NUL; the caller frees. */
int bundle_read(const char *dir, const char *name, size_t max, char **data, size_t *len,
                struct err *err);
/* Atomic; durable too if it is to survive a crash of the machine. */
int bundle_write(const char *dir, const char *name, const void *data, size_t len, bool durable,
                 struct err *err);
/* With all that is in it; links are removed, never followed. */
void bundle_remove(const char *dir);
/* This program once more, as a worker on the bundle; it dies with us. The caller waits for it. */
pid_t bundle_start(const char *dir);
/* "dir/name"; the caller frees. */
char *bundle_path(const char *dir, const char *name);

#endif
