/*
 * run.h - one job from beginning to end, and what the worker's own files share about it.
 *
 *     run_bundle(dir, open_device, err)      reads job.bin, obeys it, writes result.bin
 *
 * The order is the one job.h promises: first every call of every case (call.c, rounds.c), then,
 * with the candidate's module gone, the oracle and the comparison of what was kept (verify.c).
 */
#ifndef WORKER_RUN_H
#define WORKER_RUN_H

#include "worker/run_state.h"

/* How a job's device is opened; main.c knows the real ones, tests bring their own. */
typedef int (*open_device_fn)(struct device **out, const struct job *job, const char *bundle_dir,
                              struct err *err);

/* 0: result.bin was written, whatever it says. */
int run_bundle(const char *dir, open_device_fn open_device, struct err *err);

/* ---- between the worker's own files -------------------------------------------------------- */

/* Runs one call (call.c) and appends its result to the case. RESULT_OK, or what ends the job: the
 * reason is then in r->res. A baseline that fails is marked in r->mods and does not end anything.
 */
enum result_status run_call(struct run *r, uint32_t c, const struct job_call *call);
/* The adaptive rounds of a case (rounds.c); adds what measuring took to *spent_ns. */
enum result_status run_rounds(struct run *r, uint32_t c, uint64_t budget_ns, uint64_t *spent_ns);
/* The times of a program so far, in order; the caller frees. */
double *run_times(const struct run *r, uint32_t c, uint32_t program, size_t *n);
/* Further sittings (time_in_processes.c): is the candidate so short here that one process is not
 * enough? */
bool run_is_short(const struct run *r, uint32_t c);
/* Times all such cases again in processes of their own; the device is closed for that. Their calls
 * join the others. */
void run_again(struct run *r);
/* A timed call of the candidate is over: is it to be kept and verified? Makes room if so. */
bool rounds_sample(struct rounds *s, double time_ns);
/* Loads the oracle and compares all that was kept (verify.c). */
int run_verify(struct run *r, struct err *err);
/* Forgets a kept call (the sample of timed calls is drawn as it goes). */
void run_drop_kept(struct run *r, size_t index);
/* Unloads the modules of kernels: the next call of each loads it anew, in the order they come. */
void run_unload_kernels(struct run *r);
/* Ends the job: status, message, place. Returns the status. */
enum result_status run_fail(struct run *r, enum result_status st, uint32_t c, uint32_t k,
                            const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Serializes the result so far to progress.bin and to the watchdog; at most every 50 ms unless
 * `now`. */
void run_tell(struct run *r, const char *where, bool now);
unsigned run_threads(const struct run *r);
/* Clocks and why they are low, into the result: 0 = at the start, 1 = at the end. */
void run_note_health(struct run *r, int slot);

#endif
