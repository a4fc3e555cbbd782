/* workdir.c - opens files of the server's directory with openat2. See workdir.h. */
#include "mcp/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/utf8.h"
#include "base/util.h"

enum { MAX_PATH_BYTES = 1024 };

int workdir_open(struct workdir *w, const char *path, struct err *err)
{
    *w = (struct workdir){.path = realpath(path, NULL), .fd = -1};
    if (!w->path)
        return err_errno(err, "directory '%s'", path);
    w->fd = open(w->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (w->fd < 0) {
        err_errno(err, "directory '%s'", path);
        workdir_close(w);
        return -1;
    }
    return 0;
}

void workdir_close(struct workdir *w)
{
    free(w->path);
    if (w->fd >= 0)
        close(w->fd);
    *w = (struct workdir){.path = NULL, .fd = -1};
}

/* Refuses paths that would confuse a reader of an error or a log. */
static int check_text(const char *path, struct err *err)
{
    size_t n = strlen(path);
    if (!n || n > MAX_PATH_BYTES)
        return err_set(err, ERR_INPUT, "a path must have 1 to %d bytes, not %zu", MAX_PATH_BYTES,
                       n);
    for (const char *p = path; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return err_set(err, ERR_INPUT, "a path must not hold control characters");
    return 0;
}

static int open_beneath(const struct workdir *w, const char *path, int flags, struct err *err)
{
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    if (check_text(path, err) < 0)
        return -1;
    int fd = (int)syscall(SYS_openat2, w->fd, path, &how, sizeof how), e = errno;
    if (fd >= 0)
        return fd;
    if (e == EXDEV || e == ELOOP)
        err_set(err, ERR_INPUT,
                "'%s' leads out of the directory of this server; give a path inside it", path);
    else if (e == ENOSYS)
        err_set(err, ERR_ENV, "this machine's Linux has no openat2, so paths cannot be confined");
    else
        err_errno(err, "'%s'", path);
    errno = e;
    return -1;
}

int workdir_kind(const struct workdir *w, const char *path, enum workdir_kind *out, struct err *err)
{
    struct stat st;
    *out = WORKDIR_NOTHING;
    int fd = open_beneath(w, path, O_PATH, err);
    if (fd < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            return -1;
        err_clear(err);
        return 0;
    }
    int rc = fstat(fd, &st);
    close(fd);
    if (rc < 0)
        return err_errno(err, "'%s'", path);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return err_set(err, ERR_INPUT, "'%s' must be a file or a folder", path);
    *out = S_ISDIR(st.st_mode) ? WORKDIR_DIR : WORKDIR_FILE;
    return 0;
}

static int read_all(int fd, const char *path, size_t max, struct strbuf *out, struct err *err)
{
    char buf[65536];
    size_t total = 0;
    ssize_t n;
    while ((n = read(fd, buf, sizeof buf)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(err, "'%s'", path);
        total += (size_t)n;
        if (total > max)
            return err_set(err, ERR_INPUT, "'%s' must have at most %zu bytes", path, max);
        strbuf_add(out, buf, (size_t)n);
    }
    return 0;
}

int workdir_read(const struct workdir *w, const char *path, size_t max, struct strbuf *out,
                 struct err *err)
{
    struct stat st;
    int fd = open_beneath(w, path, O_RDONLY | O_NONBLOCK, err), rc = -1;
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0)
        err_errno(err, "'%s'", path);
    else if (!S_ISREG(st.st_mode))
        err_set(err, ERR_INPUT, "'%s' must be a regular file", path);
    else
        rc = read_all(fd, path, max, out, err);
    close(fd);
    return rc;
}

/* Checks that the last part of a path is a name, not "", "." or "..". */
static int check_name(const char *path, size_t dir_len, struct err *err)
{
    const char *name = path + dir_len;
    if (!*name || str_eq(name, ".") || str_eq(name, ".."))
        return err_set(err, ERR_INPUT, "'%s' must end in a name", path);
    return 0;
}

int workdir_check_new(const struct workdir *w, const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    size_t dir_len = slash ? (size_t)(slash + 1 - path) : 0;
    struct stat st;
    if (check_text(path, err) < 0 || check_name(path, dir_len, err) < 0)
        return -1;
    char *dir = slash ? xstrndup(path, dir_len) : xstrdup(".");
    int fd = open_beneath(w, dir, O_PATH | O_DIRECTORY, err);
    free(dir);
    if (fd < 0)
        return -1;
    int rc = fstatat(fd, path + dir_len, &st, AT_SYMLINK_NOFOLLOW);
    close(fd);
    if (rc == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return err_set(err, ERR_INPUT, "'%s' exists, so it must be a file or a folder", path);
    return 0;
}
