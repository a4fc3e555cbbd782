/*
 * job_run.h - runs one job from beginning to end. Also declares what the worker's files share.
 *
 * The worker runs all calls of all cases, and keeps the outputs of some. Then it unloads all
 * modules, opens the oracle, and compares the kept outputs with the truth. (Before the first
 * sampled call it compares the outputs that it has kept so far.) At the end of a job for a GPU, it
 * times short kernels again in further processes.
 */
#ifndef WORKER_JOB_RUN_H
#define WORKER_JOB_RUN_H

#include "worker/job_run_state.h"

/* Opens the device for a job. Tests pass a function of their own. */
typedef int (*open_device_fn)(struct device **out, const struct job *job, const char *bundle_dir,
                              struct err *err);

/* Reads job.bin, runs the job and writes result.bin. Returns 0 if that file was written, whatever
 * it says. With `lock_gpu`, a job for a GPU waits until no other process of Hone uses the GPU, and
 * locks it. */
int run_bundle(const char *dir, open_device_fn open_device, bool lock_gpu, struct err *err);

/* ---- between the worker's own files -------------------------------------------------------- */

/* Returns RESULT_OK, or the status that ends the job; then r->res holds the reason. A failing
 * baseline ends the job only if a fault destroyed the GPU's context. */
enum result_status run_call(struct job_run *r, uint32_t c, const struct job_call *call);
/* Times the programs of case c in rounds, for about budget_ns. Adds the time that this took to
 * *spent_ns. */
enum result_status run_rounds(struct job_run *r, uint32_t c, uint64_t budget_ns,
                              uint64_t *spent_ns);
/* Returns the measured times of a program's calls in case c; *n becomes their number. The caller
 * frees the times. */
double *job_run_times(const struct job_run *r, uint32_t c, uint32_t program, size_t *n);
bool candidate_is_short(const struct job_run *r, uint32_t c);
/* Times short candidates in further processes. If there are any, closes the device first. */
void time_in_processes(struct job_run *r);
/* Returns whether to keep the outputs of this timed call. May drop another kept call in
 * exchange. */
bool rounds_keep_call(struct rounds *s, double time_ns);
int verify_kept_calls(struct job_run *r, struct err *err);
/* Drops a kept call. The last kept call moves to its index. */
void drop_kept_call(struct job_run *r, size_t index);
void unload_kernels(struct job_run *r);
/* Records that the job ends with status `st` in call k of case c. Returns `st`. */
enum result_status job_run_fail(struct job_run *r, enum result_status st, uint32_t c, uint32_t k,
                                const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Hands the result so far to the watchdog and writes it to progress.bin, with the message `where`.
 * If the last write was less than 50 ms ago (250 ms on the emulator), there are two exceptions:
 * - if `now` is false, does nothing;
 * - if `now` is true, on the emulator with a time limit, leaves the writing to the watchdog. */
void job_run_save_progress(struct job_run *r, const char *where, bool now);
/* Returns the job's number of threads, or one per core if the job gives none. */
unsigned job_run_threads(const struct job_run *r);
/* Notes the clocks of the GPU in the result. Slot 0 is for the job's start, slot 1 for its end. */
void job_run_note_clocks(struct job_run *r, int slot);

#endif
