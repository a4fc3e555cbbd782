/*
 * workdir.h - the one directory in which `hone mcp` works.
 *
 *     struct workdir w;
 *     workdir_open(&w, "project", err);
 *     workdir_read(&w, "kernels/a.cu", 1 << 20, &text, err);
 *
 * Clients send paths relative to this directory. Linux resolves them with openat2(RESOLVE_BENEATH),
 * so "..", absolute paths and symbolic links cannot lead out of the directory.
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

/* A path that leads out of the directory, or to a device, is an error. */
int workdir_kind(const struct workdir *w, const char *path, enum workdir_kind *out,
                 struct err *err);
/* Appends a regular file of at most `max` bytes to `out`. Anything else is an error. */
int workdir_read(const struct workdir *w, const char *path, size_t max, struct strbuf *out,
                 struct err *err);
/* Checks a path that the caller will write. Its parent directory must exist. If the path itself
 * exists, it must be a file or a folder, not a link. */
int workdir_check_new(const struct workdir *w, const char *path, struct err *err);

#endif
