/*
 * watchdog.h - a thread that ends this process when a call hangs, and writes a result that says so.
 *
 * Before each call, the main thread hands the watchdog a snapshot of the result and says how long
 * the call may take. If the time runs out, the watchdog sets the snapshot's status, writes the
 * snapshot as result.bin and ends the process. The device's context and memory end with the
 * process.
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

/* wall_ns limits the whole job, cpu_ns the CPU time of this process; 0 = no limit. When one of them
 * runs out, the status is RESULT_MACHINE, because no single call hung. */
int watchdog_start(struct watchdog **out, const char *dir, uint64_t wall_ns, uint64_t cpu_ns,
                   struct err *err);
/* Copies a serialized result (the snapshot) and keeps it until the next one. If `save_later` is
 * true, the watchdog writes the snapshot to progress.bin after 50 to 100 ms, unless it gets a newer
 * one before. If this process crashes before that, a signal handler writes the snapshot. Use
 * `save_later` only if watchdog_start() got a cpu_ns, because otherwise the thread does not wake up
 * to write the snapshot. */
void watchdog_snapshot(struct watchdog *w, const char *bytes, size_t len, bool save_later);
/* From now on the call may take limit_ns; 0 = no limit. If it takes longer, the result has this
 * status. */
void watchdog_arm(struct watchdog *w, uint64_t limit_ns, enum result_status status);
void watchdog_disarm(struct watchdog *w);
void watchdog_stop(struct watchdog *w);

#endif
