/*
 * file.h - files and directories: capped reads, atomic writes, temporary directories.
 *
 *     struct strbuf sb = STRBUF_INIT(1 << 20);
 *     if (file_read(path, 1 << 20, &sb, err) < 0) ...     larger is an error, not a truncation
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

/* Appends the file's bytes to out (whose own cap also holds). A directory, a device or more than
 * max bytes is an error. */
int file_read(const char *path, size_t max, struct strbuf *out, struct err *err);

/* Through a temporary file beside it, synced, renamed over it: whole or not at all. */
int file_write(const char *path, const void *data, size_t len, struct err *err);
/* As file_write, with a mode (0755, 0600) of its own. */
int file_write_mode(const char *path, const void *data, size_t len, unsigned mode, struct err *err);
int file_copy(const char *from, const char *to, struct err *err);

bool file_exists(const char *path);
bool file_is_dir(const char *path);
bool file_is_executable(const char *path); /* a regular file this user may run */

int dir_make(const char *path, struct err *err); /* with its parents; present is fine */
/* Removes a tree; does not follow symbolic links; absent is fine. */
int dir_remove(const char *path, struct err *err);
/* Names in a directory but "." and "..", sorted; free with name_vec_release. */
VEC_DECL(name_vec, char *);
int dir_list(const char *path, struct name_vec *out, struct err *err);
void name_vec_release(struct name_vec *v);

/*
 * A directory that goes away with its owner. It holds a lock on itself, so that temp_dir_sweep can
 * tell what a killed process left behind from what is in use.
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
void temp_dir_sweep(void);

/* The user's directory, made if need be: HONE_CACHE_DIR, else XDG_CACHE_HOME/hone, else
 * ~/.cache/hone. */
int user_cache_dir(struct strbuf *out, struct err *err);

/* The directory the running binary is in. */
int self_dir(struct strbuf *out, struct err *err);
/* Looks a program up on PATH (or takes a path with a slash as it is); false if there is none. */
bool find_program(const char *name, struct strbuf *out);

#endif
