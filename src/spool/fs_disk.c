/* fs_disk.c - the file operations of a spool (fs.h) on a real file system. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "spool/fs.h"

void spool_names_release(struct spool_names *v)
{
    vec_each (char *, p, v)
        free(*p);
    vec_release(v);
}

bool spool_moved(struct spool_fs *fs, const char *from, const char *to)
{
    return fs->ops->move(fs, from, to) == 0 || fs->ops->exists(fs, to);
}

struct disk {
    struct spool_fs fs;
    int root; /* the spool's folder */
};

static int disk_list(struct spool_fs *fs, const char *dir, struct spool_names *out)
{
    int fd = openat(((struct disk *)fs)->root, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        int e = errno;
        if (fd >= 0)
            close(fd);
        return -e;
    }
    const struct dirent *e;
    while ((void)(errno = 0), (e = readdir(d)))
        if (e->d_name[0] != '.')
            *vec_push(out) = xstrdup(e->d_name);
    int rc = -errno; /* a network file system may fail in the middle of a listing */
    closedir(d);
    return rc;
}

static int disk_move(struct spool_fs *fs, const char *from, const char *to)
{
    int root = ((struct disk *)fs)->root;
    return renameat(root, from, root, to) < 0 ? -errno : 0;
}

static bool disk_exists(struct spool_fs *fs, const char *path)
{
    struct stat st;
    return fstatat(((struct disk *)fs)->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int put(struct spool_fs *fs, const char *path, int flags, const void *data, size_t len)
{
    int fd =
        openat(((struct disk *)fs)->root, path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    if (fd < 0)
        return -errno;
    int rc = 0;
    for (size_t at = 0; at < len && rc == 0;) {
        ssize_t n = pwrite(fd, (const char *)data + at, len - at, (off_t)at);
        if (n > 0)
            at += (size_t)n;
        else if (n == 0 || errno != EINTR)
            rc = n == 0 ? -EIO : -errno;
    }
    if (rc == 0 && ftruncate(fd, (off_t)len) < 0)
        rc = -errno;
    /* A network file system reports failed writes here. */
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    return rc;
}

static int disk_make(struct spool_fs *fs, const char *path, const void *data, size_t len)
{
    return put(fs, path, O_CREAT | O_EXCL, data, len);
}

static int disk_write(struct spool_fs *fs, const char *path, const void *data, size_t len)
{
    return put(fs, path, 0, data, len);
}

static int disk_read(struct spool_fs *fs, const char *path, void *data, size_t max)
{
    int fd =
        openat(((struct disk *)fs)->root, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    size_t at = 0;
    ssize_t n = 0;
    while (at < max && ((n = read(fd, (char *)data + at, max - at)) > 0 || errno == EINTR))
        if (n > 0)
            at += (size_t)n;
        else if (n == 0)
            break;
    int rc = n < 0 ? -errno : (int)at;
    close(fd);
    return rc;
}

static void remove_at(int dir, const char *name, int depth)
{
    if (unlinkat(dir, name, 0) == 0 || depth == 0)
        return;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (!str_eq(e->d_name, ".") && !str_eq(e->d_name, ".."))
            remove_at(dirfd(d), e->d_name, depth - 1);
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    unlinkat(dir, name, AT_REMOVEDIR);
}

static void disk_remove(struct spool_fs *fs, const char *path)
{
    enum { DEPTH = 4 };
    remove_at(((struct disk *)fs)->root, path, DEPTH);
}

static uint64_t disk_now(struct spool_fs *fs)
{
    (void)fs;
    return now_ns();
}

static const struct spool_fs_ops disk_ops = {disk_list,  disk_move, disk_exists, disk_make,
                                             disk_write, disk_read, disk_remove, disk_now};

static int check_owner(int fd, const char *dir, const char *folder, struct err *err)
{
    struct stat st;
    const char *slash = *folder ? "/" : "";
    if (fstat(fd, &st) < 0)
        return err_errno(err, "cannot look at %s%s%s", dir, slash, folder);
    if (st.st_uid != geteuid())
        return err_set(err, ERR_INPUT,
                       "user %u owns the spool %s%s%s, and you are user %u: workers run code from "
                       "a spool, so use a directory of your own",
                       (unsigned)st.st_uid, dir, slash, folder, (unsigned)geteuid());
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, ERR_INPUT,
                       "other users can write to the spool %s%s%s (mode %03o): workers run code "
                       "from a spool, so run `chmod -R go-w %s`, or use another directory",
                       dir, slash, folder, (unsigned)st.st_mode & 0777, dir);
    return 0;
}

static int open_folder(int at, const char *dir, const char *folder, struct err *err)
{
    const char *path = *folder ? folder : dir;
    if (mkdirat(at, path, 0700) < 0 && errno != EEXIST)
        return err_errno(err, "cannot make %s%s%s", dir, *folder ? "/" : "", folder);
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (*folder ? O_NOFOLLOW : 0));
    if (fd < 0)
        return err_errno(err, "cannot open %s%s%s", dir, *folder ? "/" : "", folder);
    if (check_owner(fd, dir, folder, err) == 0)
        return fd;
    close(fd);
    return -1;
}

int spool_fs_open(struct spool_fs **out, const char *dir, struct err *err)
{
    static const char *const folders[] = {"tmp", "todo", "claimed", "done", "workers"};
    int root = open_folder(AT_FDCWD, dir, "", err);
    if (root < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        int fd = open_folder(root, dir, folders[i], err);
        if (fd < 0) {
            close(root);
            return -1;
        }
        close(fd);
    }
    struct disk *d = xcalloc(1, sizeof *d);
    d->fs.ops = &disk_ops;
    d->root = root;
    *out = &d->fs;
    return 0;
}

void spool_fs_close(struct spool_fs *fs)
{
    if (!fs)
        return;
    close(((struct disk *)fs)->root);
    free(fs);
}
