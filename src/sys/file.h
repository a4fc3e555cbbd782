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

/* Appends the file's bytes to out. The cap of out also applies. A directory, a device or a file of
 * more than max bytes is an error. */
int file_read(const char *path, size_t max, struct strbuf *out, struct err *err);

/* Writes a temporary file in the same directory, syncs it and renames it to `path`. So readers see
 * the whole new file, or what was there before. */
int file_write(const char *path, const void *data, size_t len, struct err *err);
/* Like file_write, with a mode (0755, 0600). */
int file_write_mode(const char *path, const void *data, size_t len, unsigned mode, struct err *err);
/* Like file_write, but the temporary file is always PATH.partial. A process that is killed may
 * leave PATH.partial behind. The next call overwrites it, so no temporary files pile up. Fails if
 * another process is writing PATH.partial. */
int file_replace(const char *path, const void *data, size_t len, struct err *err);
int file_copy(const char *from, const char *to, struct err *err);

bool file_exists(const char *path);
/* Returns the path of an existing file or directory as seen from the working directory: "a/b",
 * "../c". Returns a copy of `path` if nothing exists there. The caller frees the result. */
char *path_from_here(const char *path);
bool file_is_dir(const char *path);
bool file_is_executable(const char *path); /* a regular file that this user may run */

int dir_make(const char *path,
             struct err *err); /* makes its parents too; an existing directory is not an error */
/* Removes a tree. Does not follow symbolic links. It is not an error if the tree does not exist. */
int dir_remove(const char *path, struct err *err);
/* Lists the names in a directory except "." and "..", sorted. Free them with name_vec_release. */
VEC_DECL(name_vec, char *);
int dir_list(const char *path, struct name_vec *out, struct err *err);
void name_vec_release(struct name_vec *v);

/*
 * A temporary directory. temp_dir_release removes it. The owner holds a lock on it, so that
 * temp_dir_sweep can tell directories of killed processes from those in use.
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
void temp_dir_sweep(void); /* removes the temporary directories of processes that were killed */

/* Sets *out to the user's cache directory and creates it if needed: HONE_CACHE_DIR, else
 * XDG_CACHE_HOME/hone, else ~/.cache/hone. */
int user_cache_dir(struct strbuf *out, struct err *err);

/* Sets *out to the directory of the running binary. */
int self_dir(struct strbuf *out, struct err *err);
/* Looks a program up on PATH. A name with a slash is a path already. Returns false if there is no
 * such program. */
bool find_program(const char *name, struct strbuf *out);

#endif
