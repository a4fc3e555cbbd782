/*
 * watchdog.h - a thread that ends this process if a call hangs, and writes a result that says so.
 *
 * Before each call, the main thread passes the facts that it has so far, as bytes of a result.bin.
 * It also says how long the call may take. If the time runs out, the watchdog sets another status
 * in these bytes, writes them to result.bin, and ends the process.
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
/* Copies `bytes`, and keeps the copy until the next call of this function. With `save_later`, the
 * watchdog writes the copy to progress.bin after 50 to 100 ms, unless a newer copy has replaced it.
 * If the process crashes earlier, a signal handler writes the copy to progress.bin. `save_later`
 * works only if watchdog_start() got a cpu_ns: without one, the thread does not wake up every 50
 * ms. */
void watchdog_snapshot(struct watchdog *w, const char *bytes, size_t len, bool save_later);
/* From now on the call may take limit_ns; 0 = no limit. If it takes longer, the result gets
 * `status`. */
void watchdog_arm(struct watchdog *w, uint64_t limit_ns, enum result_status status);
void watchdog_disarm(struct watchdog *w);
void watchdog_stop(struct watchdog *w);

#endif
