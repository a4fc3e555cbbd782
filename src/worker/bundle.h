/*
 * bundle.h - reads, writes and removes the files of a bundle, and starts a worker on a bundle.
 *
 *     if (bundle_read(dir, "job.bin", JOB_MAX_BYTES, &data, &len, err) < 0) ...
 *     bundle_write(dir, "result.bin", buf, len, true, err);
 *
 * Names are plain names inside the bundle: names that job_read() accepted, or Hone's own. A bundle
 * may come from another machine, so these functions never follow symbolic links.
 */
#ifndef WORKER_BUNDLE_H
#define WORKER_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Reads at most `max` bytes. Sets data[len] to NUL. The caller frees data. */
int bundle_read(const char *dir, const char *name, size_t max, char **data, size_t *len,
                struct err *err);
/* Writes a temporary file and renames it, so readers never see half a file. If `durable`, syncs the
 * data to disk before the rename. */
int bundle_write(const char *dir, const char *name, const void *data, size_t len, bool durable,
                 struct err *err);
/* Removes the bundle, with folders up to four deep. Removes links, never follows them. */
void bundle_remove(const char *dir);
/* Starts this program in a child process, as a worker on the bundle. The child dies when this
 * process dies. The caller must wait for it. */
pid_t bundle_start(const char *dir);
/* Returns "dir/name". The caller frees it. */
char *bundle_path(const char *dir, const char *name);

#endif
