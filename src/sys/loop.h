/*
 * loop.h - the only poll loop of Hone. proc.h adds the descriptors of child processes.
 *
 *     struct loop *l = loop_new();
 *     loop_watch(l, fd, POLLIN, on_readable, ctx);
 *     while (!done)
 *         if (loop_step(l, LOOP_FOREVER, err) < 0)
 *             break;
 *     loop_free(l);
 *
 * A loop belongs to one thread. A callback may watch and unwatch any descriptor.
 */
#ifndef SYS_LOOP_H
#define SYS_LOOP_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define LOOP_FOREVER UINT64_MAX
/* A millisecond and a second, in nanoseconds. */
#define MS UINT64_C(1000000)
#define SEC UINT64_C(1000000000)

struct loop;
typedef void (*loop_fd_fn)(struct loop *l, int fd, short revents, void *ctx);

struct loop *loop_new(void);
void loop_free(struct loop *l);

/* A second call for a descriptor replaces its events and callback. */
void loop_watch(struct loop *l, int fd, short events, loop_fd_fn fn, void *ctx);
void loop_unwatch(struct loop *l, int fd);

/* Waits at most timeout_ns, and runs callbacks. Returns 1 if any ran, 0 if the time passed, -1 if
 * the user interrupted (interrupt.h) or poll failed. */
int loop_step(struct loop *l, uint64_t timeout_ns, struct err *err);

#endif
