/*
 * file.h - files and directories.
 *
 *     if (file_read(path, 1 << 20, &sb, err) < 0) ...     a larger file is an error
 *     if (file_write(path, sb.buf, sb.len, err) < 0) ...  readers see the old file or the new one
 */
#ifndef SYS_FILE_H
#define SYS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* Appends the bytes of the file to `out`. Fails for a directory, a device, a pipe, or more than
 * `max` bytes. */
int file_read(const char *path, size_t max, struct strbuf *out, struct err *err);

/* Writes a temporary file in the same directory, syncs it and renames it to `path`. If `path` is a
 * device or a pipe, such as /dev/stdout, writes to it directly. */
int file_write(const char *path, const void *data, size_t len, struct err *err);
int file_write_mode(const char *path, const void *data, size_t len, unsigned mode, struct err *err);
/* Like file_write(), but the temporary file is always PATH.partial, so that killed processes do not
 * leave many. Fails if another process is writing PATH.partial. */
int file_replace(const char *path, const void *data, size_t len, struct err *err);
int file_copy(const char *from, const char *to, struct err *err);

bool file_exists(const char *path);
/* Returns the path as seen from the working directory, such as "../c". If there is no such file,
 * returns a copy of `path`. The caller frees the result. */
char *path_from_here(const char *path);
bool file_is_dir(const char *path);
bool file_is_executable(const char *path); /* also false for a directory */

int dir_make(const char *path, struct err *err); /* also makes its parents; succeeds if it exists */
/* Removes the directory with all that is in it. Does not follow symbolic links. Succeeds if there
 * is no such directory. */
int dir_remove(const char *path, struct err *err);
/* dir_list() appends the names in a directory, sorted, without "." and "..". */
VEC_DECL(name_vec, char *);
int dir_list(const char *path, struct name_vec *out, struct err *err);
void name_vec_release(struct name_vec *v);

/*
 * The owner locks the directory, so that temp_dir_sweep can tell directories of killed processes
 * from those in use.
 */
struct temp_dir {
    char *path;
    int lock_fd;
};
#define TEMP_DIR_INIT \
    {                 \
        NULL, -1      \
    }
int temp_dir_make(struct temp_dir *t, struct err *err); /* under TMPDIR or /tmp */
void temp_dir_release(struct temp_dir *t);
void temp_dir_sweep(void); /* removes directories that killed processes left */

/* Sets `out` to HONE_CACHE_DIR, else XDG_CACHE_HOME/hone, else ~/.cache/hone. Creates the
 * directory. */
int user_cache_dir(struct strbuf *out, struct err *err);

int self_dir(struct strbuf *out, struct err *err);
/* Looks for a program on PATH, and sets `out` to its path. A name with a slash is a path already.
 * Returns false if there is no such program. */
bool find_program(const char *name, struct strbuf *out);

#endif
