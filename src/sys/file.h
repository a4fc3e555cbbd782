/*
 * file.h - files and directories: capped reads, atomic writes, temporary directories.
 *
 *     struct strbuf sb = STRBUF_INIT(1 << 20);
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

/* Appends the file's bytes. A directory, a device or a file of more than max bytes is an error. The
 * cap of `out` also applies. */
int file_read(const char *path, size_t max, struct strbuf *out, struct err *err);

/* Writes a temporary file in the same directory, syncs it and renames it to `path`. If `path` is a
 * device or a pipe, such as /dev/stdout, writes to it directly. */
int file_write(const char *path, const void *data, size_t len, struct err *err);
/* As file_write, with a mode such as 0755. */
int file_write_mode(const char *path, const void *data, size_t len, unsigned mode, struct err *err);
/* As file_write, but the temporary file is PATH.partial, so that killed processes do not leave many
 * behind. Fails if another process is writing PATH.partial. */
int file_replace(const char *path, const void *data, size_t len, struct err *err);
int file_copy(const char *from, const char *to, struct err *err);

bool file_exists(const char *path);
/* Returns the path relative to the working directory, such as "../c", or a copy of `path` if
 * nothing exists there. The caller frees it. */
char *path_from_here(const char *path);
bool file_is_dir(const char *path);
bool file_is_executable(const char *path); /* a regular file that this user may run */

int dir_make(const char *path, struct err *err); /* makes its parents too; it may exist */
/* Does not follow symbolic links. Succeeds if the tree does not exist. */
int dir_remove(const char *path, struct err *err);
/* Lists the names in a directory, sorted, without "." and "..". Free them with name_vec_release. */
VEC_DECL(name_vec, char *);
int dir_list(const char *path, struct name_vec *out, struct err *err);
void name_vec_release(struct name_vec *v);

/*
 * A temporary directory. The owner holds a lock on it, so that temp_dir_sweep can tell directories
 * of killed processes from those in use.
 */
struct temp_dir {
    char *path; /* NULL when released */
    int lock_fd;
};
#define TEMP_DIR_INIT \
    {                 \
        NULL, -1      \
    }
int temp_dir_make(struct temp_dir *t, struct err *err); /* under TMPDIR or /tmp */
void temp_dir_release(struct temp_dir *t);
void temp_dir_sweep(void); /* removes the directories of killed processes */

/* Sets *out to HONE_CACHE_DIR, else XDG_CACHE_HOME/hone, else ~/.cache/hone. Creates it if
 * needed. */
int user_cache_dir(struct strbuf *out, struct err *err);

/* The directory of the running binary. */
int self_dir(struct strbuf *out, struct err *err);
/* Looks a program up on PATH. A name with a slash is a path. Returns false if there is none. */
bool find_program(const char *name, struct strbuf *out);

#endif
