/*
 * fs.h - the file operations on a spool (lease.h). They are in a table of functions, so that
 * t/unit/cluster.c can simulate the file system and the clock.
 *
 *     struct spool_fs *fs;
 *     if (spool_fs_open(&fs, "/shared/spool", err) < 0) ...
 *     fs->ops->move(fs, "todo/x", "claimed/x.me");
 *     spool_fs_close(fs);
 *
 * All paths are relative to the spool. On a network file system, expect this:
 *   1. For some seconds, `list` may show old names and miss new ones.
 *   2. `move` may report a failure although it moved the file.
 *   3. Any operation may fail for a moment.
 *   4. Clocks of two machines differ. `now_ns` is the clock of this process alone.
 */
#ifndef SPOOL_FS_H
#define SPOOL_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

VEC_DECL(spool_names, char *);
void spool_names_release(struct spool_names *v);

struct spool_fs;

/* Functions that return int return -errno on failure. */
struct spool_fs_ops {
    /* Appends the names in the folder `dir`, in any order. Leaves out names that start with a
     * dot. */
    int (*list)(struct spool_fs *fs, const char *dir, struct spool_names *out);
    /* As rename(2): replaces a file, and fails if `to` is a folder that is not empty. */
    int (*move)(struct spool_fs *fs, const char *from, const char *to);
    bool (*exists)(struct spool_fs *fs, const char *path);
    /* Makes a file with these bytes. Fails if the file exists. */
    int (*make)(struct spool_fs *fs, const char *path, const void *data, size_t len);
    /* Overwrites a file that this process made. A reader may see it half written. */
    int (*write)(struct spool_fs *fs, const char *path, const void *data, size_t len);
    /* Returns the bytes read, at most `max`. */
    int (*read)(struct spool_fs *fs, const char *path, void *data, size_t max);
    /* Removes a file, or a folder with its contents. Does not report failures. */
    void (*remove)(struct spool_fs *fs, const char *path);
    uint64_t (*now_ns)(struct spool_fs *fs);
};

struct spool_fs {
    const struct spool_fs_ops *ops;
};

/* Moves `from`, and returns whether it was moved. `to` must be a name that nobody else uses. So if
 * `to` exists although the move reported a failure, the move has happened. */
bool spool_moved(struct spool_fs *fs, const char *from, const char *to);

/* Opens a spool on disk and makes its folders. Refuses a spool that other users own or can write,
 * because workers run the code in it. */
int spool_fs_open(struct spool_fs **out, const char *dir, struct err *err);
void spool_fs_close(struct spool_fs *fs);

#endif
