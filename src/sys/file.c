/*
 * file.c - reads and writes files, makes and removes directories, finds well-known places.
 */
#include "sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"

/* ---- reading ------------------------------------------------------------------------------ */

static int file_read_fd(int fd, const char *name, size_t max, struct strbuf *out, struct err *err)
{
    char buf[65536];
    size_t total = 0;
    for (;;) {
        ssize_t n = read(fd, buf, sizeof buf);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(err, "cannot read '%s'", name);
        if (n == 0)
            break;
        total += (size_t)n;
        if (total <= max)
            strbuf_add(out, buf, (size_t)n);
        if (total > max || out->truncated)
            return err_set(err, ERR_LIMIT, "'%s' is larger than the limit of %zu bytes", name,
                           MIN(max, out->max));
    }
    return 0;
}

int file_read(const char *path, size_t max, struct strbuf *out, struct err *err)
{
    /* A task's directory may contain a FIFO: with O_NONBLOCK, open() does not wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_errno(err, "cannot open '%s'", path);
    struct stat st;
    int r = 0;
    if (fstat(fd, &st) < 0)
        r = err_errno(err, "cannot read '%s'", path);
    else if (!S_ISREG(st.st_mode))
        r = err_set(err, ERR_SYSTEM, "'%s' is %s, not a file", path,
                    S_ISDIR(st.st_mode) ? "a directory" : "a device or pipe");
    else if ((uint64_t)st.st_size > max)
        r = err_set(err, ERR_LIMIT, "'%s' has %lld bytes, more than the limit of %zu", path,
                    (long long)st.st_size, max);
    else
        r = file_read_fd(fd, path, max, out, err);
    close(fd);
    return r;
}

/* ---- writing ------------------------------------------------------------------------------ */

static int write_all(int fd, const void *data, size_t len)
{
    const char *p = data;
    while (len) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Writes the data to fd, which is the open file `tmp`, and renames this file to `path`. Closes fd.
 * On failure removes `tmp`. */
static int write_and_rename(int fd, const char *tmp, const char *path, const void *data, size_t len,
                            unsigned mode, struct err *err)
{
    int r = 0;
    if (write_all(fd, data, len) < 0 || fchmod(fd, (mode_t)mode) < 0 || fsync(fd) < 0 ||
        rename(tmp, path) < 0) {
        r = err_errno(err, "cannot write '%s'", path);
        unlink(tmp);
    }
    close(fd);
    return r;
}

/* Returns whether we must write to `path` directly. We must for a device, a pipe, or a link such as
 * /dev/stdout, because a rename would put a plain file in its place. A rename replaces any other
 * link. If we followed links, one in a stranger's folder could make us overwrite any file. */
static bool is_device_or_pipe(const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return false;
    bool system = str_starts(path, "/dev/") || str_starts(path, "/proc/");
    return S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode) || (S_ISLNK(st.st_mode) && system);
}

/* Writes the data to a device or a pipe. Fails if `path` is a pipe that nobody reads. */
static int write_through(const char *path, const void *data, size_t len, struct err *err)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL), r = 0;
    if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 || write_all(fd, data, len) < 0)
        r = err_errno(err, "cannot write '%s'", path);
    if (fd >= 0)
        close(fd);
    return r;
}

int file_write_mode(const char *path, const void *data, size_t len, unsigned mode, struct err *err)
{
    if (is_device_or_pipe(path))
        return write_through(path, data, len, err);
    char *tmp = xasprintf("%s.XXXXXX", path);
    int fd = mkostemp(tmp, O_CLOEXEC);
    int r = fd < 0 ? err_errno(err, "cannot write '%s'", path)
                   : write_and_rename(fd, tmp, path, data, len, mode, err);
    free(tmp);
    return r;
}

static unsigned usual_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

int file_write(const char *path, const void *data, size_t len, struct err *err)
{
    return file_write_mode(path, data, len, usual_mode(), err);
}

/* Locks an open file until fd is closed. Returns true if another process holds the lock. On a file
 * system without locks, returns false, and the file stays unlocked. */
static bool locked_by_others(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static bool has_name(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

static int open_locked(const char *tmp, struct err *err)
{
    for (;;) {
        int fd = open(tmp, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return err_errno(err, "cannot write '%s'", tmp);
        if (locked_by_others(fd)) {
            close(fd);
            return err_set(err, ERR_ENV, "another process is writing '%s'; let it end first", tmp);
        }
        if (!has_name(fd, tmp)) { /* another process renamed it before we had the lock */
            close(fd);
            continue;
        }
        if (ftruncate(fd, 0) == 0)
            return fd;
        err_errno(err, "cannot write '%s'", tmp);
        close(fd);
        return -1;
    }
}

int file_replace(const char *path, const void *data, size_t len, struct err *err)
{
    if (is_device_or_pipe(path))
        return write_through(path, data, len, err);
    char *tmp = xasprintf("%s.partial", path);
    int fd = open_locked(tmp, err);
    int r = fd < 0 ? -1 : write_and_rename(fd, tmp, path, data, len, usual_mode(), err);
    free(tmp);
    return r;
}

int file_copy(const char *from, const char *to, struct err *err)
{
    struct strbuf sb = STRBUF_INIT((size_t)4 << 30);
    struct stat st;
    int r = file_read(from, sb.max, &sb, err);
    if (r == 0 && stat(from, &st) == 0)
        r = file_write_mode(to, sb.buf, sb.len, st.st_mode & 0777, err);
    strbuf_release(&sb);
    return r;
}

char *path_from_here(const char *path)
{
    struct strbuf out = STRBUF_INIT(64 << 10);
    char *full = realpath(path, NULL), *here = getcwd(NULL, 0);
    if (full && here) {
        size_t same = 0; /* bytes of the directories that both paths begin with */
        for (size_t i = 0;; i++) {
            if ((!full[i] || full[i] == '/') && (!here[i] || here[i] == '/'))
                same = i;
            if (!full[i] || full[i] != here[i])
                break;
        }
        for (const char *p = here + same; p[0] && p[1]; p += 1 + strcspn(p + 1, "/"))
            strbuf_adds(&out, out.len ? "/.." : "..");
        const char *rest = full + same + (full[same] == '/');
        if (*rest)
            strbuf_addf(&out, "%s%s", out.len ? "/" : "", rest);
        else if (!out.len)
            strbuf_addc(&out, '.');
    } else {
        strbuf_adds(&out, path);
    }
    free(full);
    free(here);
    return strbuf_detach(&out, NULL);
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool file_is_executable(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* ---- directories -------------------------------------------------------------------------- */

int dir_make(const char *path, struct err *err)
{
    char *p = xstrdup(path);
    int r = 0;
    for (char *s = p + 1; r == 0; s++) {
        if (*s && *s != '/')
            continue;
        char was = *s;
        *s = '\0';
        if (mkdir(p, 0777) < 0 && errno != EEXIST)
            r = err_errno(err, "cannot make directory '%s'", p);
        *s = was;
        if (!was)
            break;
    }
    if (r == 0 && !file_is_dir(path))
        r = err_set(err, ERR_ENV, "'%s' exists and is not a directory", path);
    free(p);
    return r;
}

/* Removes all that is in the directory fd, and closes fd. Fails beyond a depth of 200. */
static int remove_inside(int fd, unsigned depth)
{
    DIR *d = depth > 200 ? NULL : fdopendir(fd);
    if (!d) {
        close(fd);
        return -1;
    }
    int r = 0;
    struct dirent *e;
    while ((e = readdir(d))) {
        if (str_eq(e->d_name, ".") || str_eq(e->d_name, ".."))
            continue;
        if (unlinkat(fd, e->d_name, 0) == 0 || errno == ENOENT)
            continue;
        int sub = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub < 0 || remove_inside(sub, depth + 1) < 0 ||
            unlinkat(fd, e->d_name, AT_REMOVEDIR) < 0)
            r = -1;
    }
    closedir(d);
    return r;
}

int dir_remove(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || remove_inside(fd, 0) < 0 || rmdir(path) < 0)
        return err_errno(err, "cannot remove '%s'", path);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int dir_list(const char *path, struct name_vec *out, struct err *err)
{
    DIR *d = opendir(path);
    if (!d)
        return err_errno(err, "cannot list '%s'", path);
    struct dirent *e;
    while ((e = readdir(d)))
        if (!str_eq(e->d_name, ".") && !str_eq(e->d_name, ".."))
            *vec_push(out) = xstrdup(e->d_name);
    closedir(d);
    if (out->n)
        qsort(out->items, out->n, sizeof *out->items, by_name);
    return 0;
}

void name_vec_release(struct name_vec *v)
{
    vec_each (char *, p, v)
        free(*p);
    vec_release(v);
}

/* ---- temporary directories ---------------------------------------------------------------- */

static const char temp_prefix[] = "hone-tmp.";

static const char *temp_root(void)
{
    const char *t = getenv("TMPDIR");
    return t && *t ? t : "/tmp";
}

int temp_dir_make(struct temp_dir *t, struct err *err)
{
    *t = (struct temp_dir)TEMP_DIR_INIT;
    char *path = xasprintf("%s/%sXXXXXX", temp_root(), temp_prefix);
    if (!mkdtemp(path)) {
        err_errno(err, "cannot make a temporary directory in '%s'", temp_root());
        free(path);
        return -1;
    }
    t->path = path;
    t->lock_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (t->lock_fd >= 0)
        flock(t->lock_fd, LOCK_SH | LOCK_NB);
    return 0;
}

void temp_dir_release(struct temp_dir *t)
{
    if (t->path)
        dir_remove(t->path, NULL);
    if (t->lock_fd >= 0)
        close(t->lock_fd);
    free(t->path);
    *t = (struct temp_dir)TEMP_DIR_INIT;
}

/* A killed process left the directory behind if our user owns it and nobody holds its lock. We
 * spare directories younger than a minute, because a process makes its directory before it locks
 * it. */
static bool is_left_behind(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    bool left = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == getuid() &&
                st.st_mtime + 60 < time(NULL) && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0)
        close(fd);
    return left;
}

void temp_dir_sweep(void)
{
    struct name_vec names = VEC_INIT;
    if (dir_list(temp_root(), &names, NULL) == 0) {
        vec_each (char *, name, &names) {
            if (!str_starts(*name, temp_prefix))
                continue;
            char *path = xasprintf("%s/%s", temp_root(), *name);
            if (is_left_behind(path))
                dir_remove(path, NULL);
            free(path);
        }
    }
    name_vec_release(&names);
}

/* ---- well-known places -------------------------------------------------------------------- */

int user_cache_dir(struct strbuf *out, struct err *err)
{
    const char *v;
    strbuf_clear(out);
    if ((v = getenv("HONE_CACHE_DIR")) && *v)
        strbuf_adds(out, v);
    else if ((v = getenv("XDG_CACHE_HOME")) && *v == '/')
        strbuf_addf(out, "%s/hone", v);
    else if ((v = getenv("HOME")) && *v)
        strbuf_addf(out, "%s/.cache/hone", v);
    else
        return err_set(err, ERR_ENV, "there is no cache directory: set HOME or HONE_CACHE_DIR");
    return dir_make(out->buf, err);
}

int self_dir(struct strbuf *out, struct err *err)
{
    char buf[4096];
    ssize_t n = readlink("/proc/self/exe", buf, sizeof buf - 1);
    if (n <= 0)
        return err_errno(err, "cannot tell where this program is");
    buf[n] = '\0';
    char *slash = strrchr(buf, '/');
    if (slash && slash != buf)
        *slash = '\0';
    strbuf_clear(out);
    strbuf_adds(out, buf);
    return 0;
}

bool find_program(const char *name, struct strbuf *out)
{
    if (strchr(name, '/')) {
        strbuf_clear(out);
        strbuf_adds(out, name);
        return file_is_executable(name);
    }
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        strbuf_clear(out);
        strbuf_addf(out, "%.*s/%s", n ? (int)n : 1, n ? p : ".", name);
        if (file_is_executable(out->buf))
            return true;
        p += n + (p[n] == ':');
    }
    strbuf_clear(out);
    return false;
}
