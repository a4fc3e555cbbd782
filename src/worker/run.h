/*
 * run.h - runs one job from beginning to end; declares what the worker's own files share for that.
 *
 *     run_bundle(dir, open_device, err)      reads job.bin, obeys it, writes result.bin
 *
 * The order is the one that job.h promises. First come all calls of all cases (call.c, rounds.c).
 * Then the worker unloads the candidate's module, opens the oracle and compares the kept outputs
 * with the truth (verify.c).
 */
#ifndef WORKER_RUN_H
#define WORKER_RUN_H

#include "worker/run_state.h"

/* Opens the device of a job. main.c passes the real devices; tests pass their own. */
typedef int (*open_device_fn)(struct device **out, const struct job *job, const char *bundle_dir,
                              struct err *err);

/* Returns 0 if result.bin was written, whatever the result says. */
int run_bundle(const char *dir, open_device_fn open_device, struct err *err);

/* ---- between the worker's own files -------------------------------------------------------- */

/* Runs one call (call.c) and appends its result to the case. Returns RESULT_OK, or the status that
 * ends the job; the reason is then in r->res. A baseline that fails is marked in r->mods and does
 * not end the job. */
enum result_status run_call(struct run *r, uint32_t c, const struct job_call *call);
/* Runs the adaptive rounds of a case (rounds.c) and adds the time they took to *spent_ns. */
enum result_status run_rounds(struct run *r, uint32_t c, uint64_t budget_ns, uint64_t *spent_ns);
/* Returns the times of a program so far, in order; the caller frees them. */
double *run_times(const struct run *r, uint32_t c, uint32_t program, size_t *n);
/* Whether the candidate is so short in this case that it must be timed in further processes
 * (time_in_processes.c). */
bool run_is_short(const struct run *r, uint32_t c);
/* Times all such cases in further processes and appends their calls to the result. Closes the
 * device first. */
void run_again(struct run *r);
/* After a timed call of the candidate: decides whether to keep and verify it, and makes room if
 * so. */
bool rounds_sample(struct rounds *s, double time_ns);
/* Loads the oracle and verifies all kept calls (verify.c). */
int run_verify(struct run *r, struct err *err);
/* Drops a kept call: the reservoir of timed calls replaced it. */
void run_drop_kept(struct run *r, size_t index);
/* Unloads all kernel modules. The next call of each loads it again. */
void run_unload_kernels(struct run *r);
/* Ends the job: stores status, message and place in the result. Returns the status. */
enum result_status run_fail(struct run *r, enum result_status st, uint32_t c, uint32_t k,
                            const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Writes the result so far to progress.bin and hands it to the watchdog; at most every 50 ms unless
 * `now`. */
void run_tell(struct run *r, const char *where, bool now);
unsigned run_threads(const struct run *r);
/* Stores the clocks, and the reasons why they are low, in the result. Slot 0 = at the start, 1 = at
 * the end. */
void run_note_health(struct run *r, int slot);

#endif
