#include "sys/loop.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "base/vec.h"
#include "sys/interrupt.h"

struct watch {
    int fd; /* -1: removed, swept after the step */
    short events;
    loop_fd_fn fn;
    void *ctx;
};

struct timer {
    uint64_t id; /* 0: done, swept */
    uint64_t at_ns;
    loop_timer_fn fn;
    void *ctx;
};

struct loop {
    VEC(struct watch) watches;
    VEC(struct timer) timers;
    VEC(struct pollfd) fds;
    uint64_t next_id;
    int (*wait)(void *ctx, struct pollfd *, nfds_t, int);
    void *wait_ctx;
    uint64_t (*clock)(void *ctx);
    void *clock_ctx;
};

static int plain_poll(void *ctx, struct pollfd *fds, nfds_t n, int timeout_ms)
{
    return poll(fds, n, timeout_ms);
}

static uint64_t plain_clock(void *ctx)
{
    return now_ns();
}

struct loop *loop_new(void)
{
    struct loop *l = xcalloc(1, sizeof *l);
    l->wait = plain_poll;
    l->clock = plain_clock;
    return l;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    vec_release(&l->watches);
    vec_release(&l->timers);
    vec_release(&l->fds);
    free(l);
}

void loop_set_wait(struct loop *l, int (*wait)(void *ctx, struct pollfd *, nfds_t, int), void *ctx)
{
    l->wait = wait ? wait : plain_poll;
    l->wait_ctx = ctx;
}

void loop_set_clock(struct loop *l, uint64_t (*clock)(void *ctx), void *ctx)
{
    l->clock = clock ? clock : plain_clock;
    l->clock_ctx = ctx;
}

uint64_t loop_now_ns(const struct loop *l)
{
    return l->clock(l->clock_ctx);
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

uint64_t loop_timer(struct loop *l, uint64_t delay_ns, loop_timer_fn fn, void *ctx)
{
    uint64_t now = loop_now_ns(l);
    uint64_t at = delay_ns > UINT64_MAX - now ? UINT64_MAX : now + delay_ns;
    *vec_push(&l->timers) = (struct timer){++l->next_id, at, fn, ctx};
    return l->next_id;
}

void loop_cancel(struct loop *l, uint64_t id)
{
    vec_each (struct timer, t, &l->timers)
        if (id && t->id == id)
            t->id = 0;
}

/* Drops what was removed; indices are stable only between sweeps. */
static void sweep(struct loop *l)
{
    size_t n = 0;
    vec_each (struct watch, w, &l->watches)
        if (w->fd >= 0)
            l->watches.items[n++] = *w;
    l->watches.n = n;
    n = 0;
    vec_each (struct timer, t, &l->timers)
        if (t->id)
            l->timers.items[n++] = *t;
    l->timers.n = n;
}

/* Milliseconds to wait, rounded up so that a timer is due when poll returns; -1 = forever. */
static int wait_ms(const struct loop *l, uint64_t timeout_ns)
{
    uint64_t now = loop_now_ns(l), best = timeout_ns;
    vec_each (struct timer, t, &l->timers)
        best = MIN(best, t->at_ns > now ? t->at_ns - now : 0);
    if (best == LOOP_FOREVER)
        return -1;
    uint64_t ms = best / MS + (best % MS != 0);
    return ms > 1000000000 ? 1000000000 : (int)ms;
}

static int run_timers(struct loop *l)
{
    int ran = 0;
    uint64_t now = loop_now_ns(l);
    /* Timers set by these callbacks wait for the next step, even if due at once. */
    for (size_t i = 0, n = l->timers.n; i < n; i++) {
        struct timer t = l->timers.items[i];
        if (!t.id || t.at_ns > now)
            continue;
        l->timers.items[i].id = 0;
        t.fn(l, t.ctx);
        ran = 1;
    }
    return ran;
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

    int n = l->wait(l->wait_ctx, l->fds.items, l->fds.n, wait_ms(l, timeout_ns));
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
    return run_timers(l) || ran;
}
