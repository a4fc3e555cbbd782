/*
 * loop.h - the one poll loop: file descriptors and timers; child processes join through proc.h.
 *
 *     struct loop *l = loop_new();
 *     loop_watch(l, fd, POLLIN, on_readable, ctx);
 *     loop_timer(l, 200 * MS, on_tick, ctx);
 *     while (!done)
 *         if (loop_step(l, LOOP_FOREVER, err) < 0)
 *             break;
 *     loop_free(l);
 *
 * Single-threaded. A callback may watch, unwatch and set timers freely. The wait itself can be
 * replaced: curl_multi_poll() also waits for curl's sockets, and a test can bring its own clock.
 */
#ifndef SYS_LOOP_H
#define SYS_LOOP_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define LOOP_FOREVER UINT64_MAX
#define MS UINT64_C(1000000)
#define SEC UINT64_C(1000000000)

struct loop;
typedef void (*loop_fd_fn)(struct loop *l, int fd, short revents, void *ctx);
typedef void (*loop_timer_fn)(struct loop *l, void *ctx);

struct loop *loop_new(void);
void loop_free(struct loop *l);

/* One watch per descriptor; watching it again replaces events and callback. */
void loop_watch(struct loop *l, int fd, short events, loop_fd_fn fn, void *ctx);
void loop_unwatch(struct loop *l, int fd);

/* Once, after delay_ns; returns an id that is never 0. */
uint64_t loop_timer(struct loop *l, uint64_t delay_ns, loop_timer_fn fn, void *ctx);
void loop_cancel(struct loop *l, uint64_t id); /* unknown and 0 are fine */

/* Waits for something at most timeout_ns and runs its callbacks. Returns 1 if any ran, 0 if time
 * passed, -1 if the user interrupted (see interrupt.h) or poll failed. */
int loop_step(struct loop *l, uint64_t timeout_ns, struct err *err);

/* Seams. wait behaves as poll(2); clock returns monotonic nanoseconds. */
void loop_set_wait(struct loop *l, int (*wait)(void *ctx, struct pollfd *, nfds_t, int timeout_ms),
                   void *ctx);
void loop_set_clock(struct loop *l, uint64_t (*clock)(void *ctx), void *ctx);
uint64_t loop_now_ns(const struct loop *l);

#endif
