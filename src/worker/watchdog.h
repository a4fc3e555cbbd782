/*
 * watchdog.h - a thread that ends this process when a call hangs, and writes a result that says so.
 *
 * Before each call, the main thread hands over a snapshot of the result and says how long the call
 * may take. If the time runs out, the watchdog writes the snapshot with another status as
 * result.bin, and ends the process.
 *
 *     watchdog_start(&dog, dir, wall_ns, cpu_ns, err);
 *     watchdog_snapshot(dog, bytes, len, false);
 *     watchdog_arm(dog, call_ns, RESULT_HANG);
 *     ... the call ...
 *     watchdog_disarm(dog);
 *     watchdog_stop(dog);            before anything else writes result.bin
 */
#ifndef WORKER_WATCHDOG_H
#define WORKER_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "job/result.h"

struct watchdog;

/* wall_ns limits the whole job, cpu_ns the CPU time of this process; 0 = no limit. When either runs
 * out, the status is RESULT_MACHINE, because no single call hung. */
int watchdog_start(struct watchdog **out, const char *dir, uint64_t wall_ns, uint64_t cpu_ns,
                   struct err *err);
/* Copies the snapshot and keeps it until the next one. With `save_later`, the watchdog writes it to
 * progress.bin after 50 to 100 ms, unless a newer one comes. In a crash, a signal handler writes
 * it. `save_later` needs a cpu_ns: otherwise the thread does not wake up to write. */
void watchdog_snapshot(struct watchdog *w, const char *bytes, size_t len, bool save_later);
/* From now on the call may take limit_ns; 0 = no limit. `status` is for a call that takes
 * longer. */
void watchdog_arm(struct watchdog *w, uint64_t limit_ns, enum result_status status);
void watchdog_disarm(struct watchdog *w);
void watchdog_stop(struct watchdog *w);

#endif
