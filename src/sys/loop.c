/*
 * loop.c - waits for descriptors with poll() and calls their callbacks.
 */
#include "sys/loop.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "base/vec.h"
#include "sys/interrupt.h"

struct watch {
    int fd; /* -1: removed; sweep() drops it before the next poll() */
    short events;
    loop_fd_fn fn;
    void *ctx;
};

struct loop {
    VEC(struct watch) watches;
    VEC(struct pollfd) fds; /* for poll(): one for each watch, then interrupt_fd() */
};

struct loop *loop_new(void)
{
    return xcalloc(1, sizeof(struct loop));
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    vec_release(&l->watches);
    vec_release(&l->fds);
    free(l);
}

static struct watch *find_watch(struct loop *l, int fd)
{
    vec_each (struct watch, w, &l->watches)
        if (w->fd == fd)
            return w;
    return NULL;
}

void loop_watch(struct loop *l, int fd, short events, loop_fd_fn fn, void *ctx)
{
    struct watch *w = find_watch(l, fd);
    if (!w)
        w = vec_push(&l->watches);
    *w = (struct watch){fd, events, fn, ctx};
}

void loop_unwatch(struct loop *l, int fd)
{
    struct watch *w = fd >= 0 ? find_watch(l, fd) : NULL;
    if (w)
        w->fd = -1;
}

/* Drops removed watches. Only this function changes the indices of watches. */
static void sweep(struct loop *l)
{
    size_t n = 0;
    vec_each (struct watch, w, &l->watches)
        if (w->fd >= 0)
            l->watches.items[n++] = *w;
    l->watches.n = n;
}

/* Returns the milliseconds to wait, rounded up; -1 = forever. */
static int wait_ms(uint64_t timeout_ns)
{
    if (timeout_ns == LOOP_FOREVER)
        return -1;
    uint64_t ms = timeout_ns / MS + (timeout_ns % MS != 0);
    return ms > 1000000000 ? 1000000000 : (int)ms;
}

int loop_step(struct loop *l, uint64_t timeout_ns, struct err *err)
{
    sweep(l);
    l->fds.n = 0;
    vec_each (struct watch, w, &l->watches)
        *vec_push(&l->fds) = (struct pollfd){.fd = w->fd, .events = w->events};
    size_t nwatch = l->fds.n;
    int ifd = interrupt_fd();
    if (ifd >= 0)
        *vec_push(&l->fds) = (struct pollfd){.fd = ifd, .events = POLLIN};

    int n = poll(l->fds.items, l->fds.n, wait_ms(timeout_ns));
    if (n < 0 && errno != EINTR)
        return err_errno(err, "poll");
    if (interrupt_check(err) < 0)
        return -1;

    int ran = 0;
    for (size_t i = 0; n > 0 && i < nwatch; i++) {
        struct pollfd p = l->fds.items[i];
        struct watch w = l->watches.items[i];
        if (!p.revents || w.fd != p.fd)
            continue;
        w.fn(l, p.fd, p.revents, w.ctx);
        ran = 1;
    }
    return ran;
}
