/*
 * workdir.h - the one directory in which `hone mcp` works.
 *
 *     struct workdir w;
 *     workdir_open(&w, "project", err);
 *     workdir_read(&w, "kernels/a.cu", 1 << 20, &text, err);
 *
 * Paths come from clients. A path is relative to the directory, and Linux resolves it with
 * openat2(RESOLVE_BENEATH). So "..", absolute paths and symbolic links cannot lead out of the
 * directory.
 */
#ifndef MCP_WORKDIR_H
#define MCP_WORKDIR_H

#include "base/err.h"
#include "base/strbuf.h"

struct workdir {
    char *path; /* absolute, without symbolic links */
    int fd;
};

int workdir_open(struct workdir *w, const char *path, struct err *err);
void workdir_close(struct workdir *w);

enum workdir_kind { WORKDIR_NOTHING, WORKDIR_FILE, WORKDIR_DIR };

/* Says what a path names. A path that leads out of the directory, or to a device, is an error. */
int workdir_kind(const struct workdir *w, const char *path, enum workdir_kind *out,
                 struct err *err);
/* Appends the bytes of a regular file to `out`. A file of more than `max` bytes is an error. */
int workdir_read(const struct workdir *w, const char *path, size_t max, struct strbuf *out,
                 struct err *err);
/* Checks a path to which the caller will write a file or folder. The parent directory must exist.
 * If the path itself exists already, it must be a file or a folder, not a link. */
int workdir_check_new(const struct workdir *w, const char *path, struct err *err);

#endif
