/*
 * job_run.h - runs one job from beginning to end. It also declares the functions that the worker's
 * files share.
 *
 *     run_bundle(dir, open_device, false, err)   reads job.bin, runs the job, writes result.bin
 *
 * First the worker runs all calls of all cases, and keeps the outputs of some. Then it unloads all
 * modules and opens the oracle, which computes the right outputs (the truth). It compares the kept
 * outputs with the truth. Last, it times short kernels on a GPU again in further processes.
 */
#ifndef WORKER_JOB_RUN_H
#define WORKER_JOB_RUN_H

#include "worker/job_run_state.h"

/* Opens the device of a job. Tests pass their own function. */
typedef int (*open_device_fn)(struct device **out, const struct job *job, const char *bundle_dir,
                              struct err *err);

/* Returns 0 if result.bin was written, whatever the result says. If `lock_gpu` is true, a job for a
 * GPU waits until no other process of Hone uses that GPU, and locks it. */
int run_bundle(const char *dir, open_device_fn open_device, bool lock_gpu, struct err *err);

/* ---- between the worker's own files -------------------------------------------------------- */

/* Runs one call (call.c) and appends its result to the case. Returns RESULT_OK, or the status that
 * ends the job; then r->res holds the reason. A failing baseline ends the job only if a fault
 * destroyed the GPU's context. */
enum result_status run_call(struct job_run *r, uint32_t c, const struct job_call *call);
/* rounds.c: runs the timed rounds of a case for about budget_ns. Adds their time to *spent_ns. */
enum result_status run_rounds(struct job_run *r, uint32_t c, uint64_t budget_ns,
                              uint64_t *spent_ns);
/* Returns the times of a program so far; the caller frees them. */
double *job_run_times(const struct job_run *r, uint32_t c, uint32_t program, size_t *n);
/* Whether the candidate is so fast in this case that time_in_processes() must time it again. */
bool candidate_is_short(const struct job_run *r, uint32_t c);
/* Times short candidates in further processes and appends the calls. If there are any, closes the
 * device first. */
void time_in_processes(struct job_run *r);
/* rounds.c: decides whether to keep the outputs of a timed call. If so, and if enough calls are
 * kept, drops one of them. */
bool rounds_keep_call(struct rounds *s, double time_ns);
/* verify.c: loads the oracle and verifies all kept calls. */
int verify_kept_calls(struct job_run *r, struct err *err);
/* The last kept call gets the index of the dropped call. */
void drop_kept_call(struct job_run *r, size_t index);
void unload_kernels(struct job_run *r);
/* Ends the job. Stores the status, the message, the case `c` and the call `k`. Returns `st`. */
enum result_status job_run_fail(struct job_run *r, enum result_status st, uint32_t c, uint32_t k,
                                const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Hands the result so far to the watchdog and writes it to progress.bin, with the message `where`.
 * If the last write was less than 50 ms ago (on the emulator 250 ms), does less:
 * - if `now` is false, nothing;
 * - if `now` is true, on the emulator with a time limit, only hands the result to the watchdog,
 *   which writes it 50 to 100 ms later. */
void job_run_save_progress(struct job_run *r, const char *where, bool now);
/* The job's number of threads, or one for each core if the job names none. */
unsigned job_run_threads(const struct job_run *r);
/* Stores the GPU's clocks and why they are low. Slot 0 is for the job's start, 1 for its end. */
void job_run_note_clocks(struct job_run *r, int slot);

#endif
