/* bundle.c - files of a bundle, and the start of a worker on a bundle. See bundle.h. */
#include "worker/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

char *bundle_path(const char *dir, const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

static int read_fd(int fd, char *buf, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = read(fd, buf + at, len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO; /* the file became shorter */
        if (n <= 0)
            return -1;
        at += (size_t)n;
    }
    return 0;
}

int bundle_read(const char *dir, const char *name, size_t max, char **data, size_t *len,
                struct err *err)
{
    char *path = bundle_path(dir, name), *buf = NULL;
    int rc = -1, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        err_errno(err, "cannot open %s", path);
        goto out;
    }
    if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > max) {
        err_set(err, ERR_INPUT, "%s: not a file of at most %zu bytes", path, max);
        goto out;
    }
    buf = xmalloc((size_t)st.st_size + 1);
    if (read_fd(fd, buf, (size_t)st.st_size) < 0) {
        err_errno(err, "cannot read %s", path);
        goto out;
    }
    buf[st.st_size] = '\0';
    *data = buf;
    *len = (size_t)st.st_size;
    buf = NULL;
    rc = 0;
out:
    free(buf);
    if (fd >= 0)
        close(fd);
    free(path);
    return rc;
}

static int write_fd(int fd, const char *buf, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = write(fd, buf + at, len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        at += (size_t)n;
    }
    return 0;
}

int bundle_write(const char *dir, const char *name, const void *data, size_t len, bool durable,
                 struct err *err)
{
    char *path = bundle_path(dir, name);
    /* The watchdog and the main thread may write at the same time, so each thread has its own
     * temporary file. */
    char *tmp = xasprintf("%s.%d.%u.tmp", path, (int)getpid(), (unsigned)gettid());
    int rc = -1;
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
        err_errno(err, "cannot create %s", tmp);
        goto out;
    }
    if (write_fd(fd, data, len) < 0 || (durable && fsync(fd) < 0)) {
        err_errno(err, "cannot write %s", tmp);
        close(fd);
        unlink(tmp);
        goto out;
    }
    if (close(fd) < 0 || rename(tmp, path) < 0) {
        err_errno(err, "cannot put %s in place", path);
        unlink(tmp);
        goto out;
    }
    rc = 0;
out:
    free(tmp);
    free(path);
    return rc;
}

static void remove_tree(const char *path, int depth)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return;
    if (!S_ISDIR(st.st_mode) || depth == 0) {
        unlink(path);
        return;
    }
    DIR *d = opendir(path);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        if (str_eq(e->d_name, ".") || str_eq(e->d_name, ".."))
            continue;
        char *inside = bundle_path(path, e->d_name);
        remove_tree(inside, depth - 1);
        free(inside);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

void bundle_remove(const char *dir)
{
    enum { DEPTH = 4 };
    remove_tree(dir, DEPTH);
}

pid_t bundle_start(const char *dir)
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the parent dies, this process dies too */
    if (getppid() != parent)
        _exit(3);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    execl("/proc/self/exe", "hone-worker", dir, (char *)NULL);
    _exit(3);
}
