/*
 * job_run.h - runs one job from beginning to end. It also declares the functions that the worker's
 * files share.
 *
 *     run_bundle(dir, open_device, false, err)   reads job.bin, runs the job, writes result.bin
 *
 * The worker keeps the order that job.h promises. First it runs all calls of all cases (call.c,
 * rounds.c), and keeps the outputs of some calls. Then it unloads all modules and opens the oracle,
 * which computes the right outputs (the truth). It compares the kept outputs with the truth
 * (verify.c). On the emulator there are sampled calls, which run only a sample of their blocks.
 * Before the first case with sampled calls, the worker verifies all calls that it has run. Last, if
 * the device is a GPU, it times short kernels again in further processes (time_in_processes.c).
 */
#ifndef WORKER_JOB_RUN_H
#define WORKER_JOB_RUN_H

#include "worker/job_run_state.h"

/* Opens the device of a job. main.c passes the real devices; tests pass their own. */
typedef int (*open_device_fn)(struct device **out, const struct job *job, const char *bundle_dir,
                              struct err *err);

/* Returns 0 if result.bin was written, whatever the result says. If `lock_gpu` is true, a job for a
 * GPU waits until no other process of Hone uses that GPU, however long that takes. Then it holds
 * the GPU's lock until the end. */
int run_bundle(const char *dir, open_device_fn open_device, bool lock_gpu, struct err *err);

/* ---- between the worker's own files -------------------------------------------------------- */

/* Runs one call (call.c) and appends its result to the case. Returns RESULT_OK, or the status that
 * ends the job; then r->res holds the reason. A baseline that fails is marked in r->mods and does
 * not end the job. There is one exception: after a fault on a GPU the context is unusable, so the
 * job ends. */
enum result_status run_call(struct job_run *r, uint32_t c, const struct job_call *call);
/* Runs the timed rounds of a case (rounds.c) for about budget_ns. Adds the time they took to
 * *spent_ns. */
enum result_status run_rounds(struct job_run *r, uint32_t c, uint64_t budget_ns,
                              uint64_t *spent_ns);
/* Returns the times of a program so far, in order; the caller frees them. */
double *job_run_times(const struct job_run *r, uint32_t c, uint32_t program, size_t *n);
/* Whether the candidate takes so little time in this case that it must be timed in further
 * processes (time_in_processes.c). */
bool candidate_is_short(const struct job_run *r, uint32_t c);
/* Times all cases with a short candidate in further processes and appends the calls of these
 * processes to the result. If there are such cases, closes the device first. */
void time_in_processes(struct job_run *r);
/* Decides after a timed call of the candidate whether the worker keeps the call's outputs, to
 * verify them. If so, and if the case already has as many kept calls as the job asks for, drops one
 * of these earlier calls. */
bool rounds_keep_call(struct rounds *s, double time_ns);
/* Loads the oracle and verifies all kept calls (verify.c). */
int verify_kept_calls(struct job_run *r, struct err *err);
/* Frees the outputs of a kept call and removes the call from r->kept. The last kept call gets its
 * index. */
void drop_kept_call(struct job_run *r, size_t index);
/* Unloads all kernel modules. The next call of a module loads it again. */
void unload_kernels(struct job_run *r);
/* Ends the job: stores the status, the message, the case `c` and the call `k` in the result.
 * Returns the status. */
enum result_status job_run_fail(struct job_run *r, enum result_status st, uint32_t c, uint32_t k,
                                const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Hands the result so far to the watchdog and writes it to progress.bin, with the message `where`.
 * If the last write was less than 50 ms ago (on the emulator 250 ms), does less:
 *   - if `now` is false, nothing;
 *   - if `now` is true and the job runs on the emulator with a time limit, only hands the result to
 *     the watchdog, which writes it 50 to 100 ms later, unless it gets a newer one before. */
void job_run_save_progress(struct job_run *r, const char *where, bool now);
/* Returns how many threads to use: the job's number, or one for each core if the job names none. */
unsigned job_run_threads(const struct job_run *r);
/* Stores the GPU's clocks, and the reasons why they are low, in the result. Slot 0 is for the start
 * of the job, 1 for the end. */
void job_run_note_clocks(struct job_run *r, int slot);

#endif
