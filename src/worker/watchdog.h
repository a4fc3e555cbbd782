/*
 * watchdog.h - a thread that ends this process when a call hangs, and writes down that it did.
 *
 * The main thread hands it a snapshot of the result before each call and says how long the call may
 * take. If time runs out, the dog sets the snapshot's status, writes it as result.bin and ends the
 * process; the device's context, and its memory, go with it.
 *
 *     watchdog_start(&dog, dir, wall_ns);
 *     watchdog_snapshot(dog, bytes, len);
 *     watchdog_arm(dog, call_ns, RESULT_HANG);
 *     ... the call ...
 *     watchdog_disarm(dog);
 *     watchdog_stop(dog);            before result.bin is written by anybody else
 */
#ifndef WORKER_WATCHDOG_H
#define WORKER_WATCHDOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "job/result.h"

struct watchdog;

/* wall_ns 0 = no limit on the whole. Past it the status is RESULT_MACHINE: no single call hung. */
int watchdog_start(struct watchdog **out, const char *dir, uint64_t wall_ns, struct err *err);
/* A serialized result (copied); it is kept until the next. */
void watchdog_snapshot(struct watchdog *w, const char *bytes, size_t len);
void watchdog_arm(struct watchdog *w, uint64_t limit_ns, enum result_status status);
void watchdog_disarm(struct watchdog *w);
void watchdog_stop(struct watchdog *w);

#endif
