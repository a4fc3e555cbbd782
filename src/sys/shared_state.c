/*
 * shared_state.c - maps a file with two copies of a struct into memory, and locks its bytes.
 */
#include "sys/shared_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

/* Member k locks the byte MEMBER_BYTES + k, far behind the end of the file. shared_state_begin()
 * locks the next byte after these. A lock on the whole file would conflict with the members' locks
 * on a network file system. */
#define MEMBER_BYTES (INT64_C(1) << 40)
#define STATE_BYTE SHARED_STATE_MEMBERS

struct head {
    uint64_t magic; /* written last: without it, the file is set up again */
    uint64_t size;
    _Atomic uint64_t current; /* 0 or 1 */
    uint64_t unused[5];
};

struct shared_state {
    int fd; /* -1 = private memory */
    struct head *head;
    size_t size, map_size;
    unsigned member;
    bool begun;
};

static void *copy_at(const struct shared_state *s, uint64_t which)
{
    return (char *)s->head + sizeof(struct head) + (which & 1) * s->size;
}

/* Calls fcntl() with the command `how`, for a lock of this type on byte MEMBER_BYTES + k. fcntl()
 * writes its answer to *out. */
static int lock_byte(const struct shared_state *s, unsigned k, int how, short type,
                     struct flock *out)
{
    *out = (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = MEMBER_BYTES + (off_t)k, .l_len = 1};
    return fcntl(s->fd, how, out);
}

static int lock(const struct shared_state *s)
{
    struct flock range;
    int rc = 0;
    while (s->fd >= 0 && (rc = lock_byte(s, STATE_BYTE, F_OFD_SETLKW, F_WRLCK, &range)) < 0 &&
           errno == EINTR)
        ;
    return rc;
}

static void unlock(const struct shared_state *s)
{
    struct flock range;
    if (s->fd >= 0)
        lock_byte(s, STATE_BYTE, F_OFD_SETLK, F_UNLCK, &range);
}

static int check_file(int fd, const char *path, struct stat *st, struct err *err)
{
    if (fstat(fd, st) < 0)
        return err_errno(err, "'%s'", path);
    if (!S_ISREG(st->st_mode) || st->st_uid != geteuid() || (st->st_mode & 077))
        return err_set(err, ERR_ENV,
                       "'%s' must be a regular file of yours with mode 600: remove it", path);
    return 0;
}

/* Maps the file into memory, and sets it up if it is new. The caller holds the lock. */
static int map_file(struct shared_state *s, const char *path, uint64_t magic, struct err *err)
{
    struct stat st;
    if (check_file(s->fd, path, &st, err) < 0)
        return -1;
    /* Reserves disk space now. On a full disk, a later write to the mapping would kill this
     * process. */
    int full = (size_t)st.st_size < s->map_size ? posix_fallocate(s->fd, 0, (off_t)s->map_size) : 0;
    if (full)
        return errno = full, err_errno(err, "'%s'", path);
    void *p = mmap(NULL, s->map_size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (p == MAP_FAILED)
        return err_errno(err, "'%s'", path);
    s->head = p;
    if (s->head->magic && (s->head->magic != magic || s->head->size != s->size))
        return err_set(err, ERR_ENV, "'%s' was written by another version of Hone: remove it",
                       path);
    if (!s->head->magic) {
        memset(p, 0, s->map_size);
        s->head->size = s->size;
        s->head->magic = magic;
    }
    return 0;
}

static int join(struct shared_state *s, const char *path, struct err *err)
{
    struct flock range;
    for (s->member = 0; s->member < SHARED_STATE_MEMBERS; s->member++)
        if (lock_byte(s, s->member, F_OFD_SETLK, F_WRLCK, &range) == 0)
            return 0;
        else if (errno != EAGAIN && errno != EACCES)
            return err_errno(err, "cannot lock '%s'", path);
    return err_set(err, ERR_LIMIT, "more than %d processes use '%s'", SHARED_STATE_MEMBERS, path);
}

int shared_state_open(struct shared_state **out, const char *path, uint64_t magic, size_t size,
                      struct err *err)
{
    struct shared_state *s = xcalloc(1, sizeof *s);
    s->fd = -1;
    s->size = (size + 63) / 64 * 64;
    s->map_size = sizeof(struct head) + 2 * s->size;
    int rc = 0;
    if (path) {
        s->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        rc = s->fd < 0 ? err_errno(err, "'%s'", path) : 0;
        if (rc == 0 && lock(s) < 0)
            rc = err_errno(err, "cannot lock '%s'", path);
        if (rc == 0)
            rc = map_file(s, path, magic, err);
        if (rc == 0)
            rc = join(s, path, err);
        if (rc == 0)
            unlock(s);
    } else {
        s->head = xcalloc(1, s->map_size);
    }
    if (rc < 0)
        shared_state_close(s);
    else
        *out = s;
    return rc;
}

void shared_state_close(struct shared_state *s)
{
    if (!s)
        return;
    if (s->fd < 0)
        free(s->head);
    else if (s->head)
        munmap(s->head, s->map_size);
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}

void *shared_state_begin(struct shared_state *s)
{
    if (s->begun)
        BUG("a change of the shared state has begun already");
    if (lock(s) < 0)
        BUG("the lock of the shared state: %s", strerror(errno));
    s->begun = true;
    uint64_t now = atomic_load(&s->head->current);
    memcpy(copy_at(s, now + 1), copy_at(s, now), s->size);
    return copy_at(s, now + 1);
}

void shared_state_end(struct shared_state *s, bool keep)
{
    if (keep)
        atomic_store(&s->head->current, (atomic_load(&s->head->current) + 1) & 1);
    s->begun = false;
    unlock(s);
}

unsigned shared_state_member(const struct shared_state *s)
{
    return s->member;
}

bool shared_state_is_alive(const struct shared_state *s, unsigned member)
{
    struct flock range;
    if (member == s->member || s->fd < 0)
        return member == s->member;
    return lock_byte(s, member, F_OFD_GETLK, F_WRLCK, &range) < 0 || range.l_type != F_UNLCK;
}

void shared_state_boot_id(char out[64])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, 63) : 0;
    if (fd >= 0)
        close(fd);
    n = n > 0 ? n : 0;
    while (n && out[n - 1] == '\n')
        n--;
    out[n] = '\0';
}
