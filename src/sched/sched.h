/*
 * sched.h - runs bundles: on this machine, or on any machine whose worker serves a spool directory.
 *
 *     struct sched *s;
 *     sched_open(&s, "local", 0, -1, err);
 *     sched_submit(s, bundle_dir, wall_ns, NULL, &ticket, err);
 *     while ((rc = sched_wait(s, timeout_ns, &done, err)) == 0) ...
 *
 * A bundle is a directory with a job in job.bin. A worker runs the job and writes result.bin to the
 * same directory, which the caller reads.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

struct sched;

struct sched_done {
    uint64_t ticket;
    bool have_result;      /* result.bin exists; a killed worker may leave it incomplete */
    bool timed_out;        /* the worker was killed at its wall limit */
    int exit_code, signal; /* how the worker ended; signal 0 = none */
    uint64_t wall_ns;      /* how long the bundle took; if local, without its wait for the GPU */
    char note[512];        /* the end of the worker's stderr, or why there is no result */
};

struct sched_ops {
    const char *name;
    int (*submit)(struct sched *s, const char *bundle_dir, uint64_t wall_ns,
                  const char *const *under, uint64_t ticket, struct err *err);
    int (*wait)(struct sched *s, uint64_t timeout_ns, struct sched_done *out, struct err *err);
    /* Returns the path of the bundle's progress file; NULL if the bundle does not run. The caller
     * frees it. */
    char *(*progress_path)(struct sched *s, uint64_t ticket);
    void (*close)(struct sched *s);
};

struct sched {
    const struct sched_ops *ops;
    uint64_t next_ticket;
    unsigned outstanding; /* bundles that sched_wait() has not returned yet */
};

/* `on` is "local", "local:all", "local:0,2" (those GPUs), "spool:DIR", "slurm" or "slurm:...". For
 * "local", `slots` bundles run at a time; 0 = one for each core. `gpu` is the GPU to run on, or -1.
 * Workers, also those of other processes, take turns on a GPU. */
int sched_open(struct sched **out, const char *on, unsigned slots, int gpu, struct err *err);
/* Ends all workers that this process started, withdraws bundles that wait in a spool, and frees s.
 * Other workers finish their bundles. NULL is allowed. */
void sched_close(struct sched *s);
/* `wall_ns` is the worker's time limit; a spool ignores it, because the job has limits too. `under`
 * is the command line of a program that starts the worker, such as a profiler, or NULL; only for
 * "local". */
int sched_submit(struct sched *s, const char *bundle_dir, uint64_t wall_ns,
                 const char *const *under, uint64_t *ticket, struct err *err);
/* Returns 1 with *out filled, 0 if no bundle ended within timeout_ns, -1 on an error. */
int sched_wait(struct sched *s, uint64_t timeout_ns, struct sched_done *out, struct err *err);

/* Appends what the bundle's worker is doing, such as ": case 'check:1', call 2 of 'candidate'".
 * Appends nothing if this is not known. */
void sched_progress(struct sched *s, uint64_t ticket, struct strbuf *out);

/* Lets child processes share workers. For "slurm" and "slurm:...", opens a spool. Later, each child
 * process calls sched_open(), which uses this spool. For any other `on`, *out becomes NULL. */
int sched_share(struct sched **out, const char *on, bool emu, struct err *err);
/* Starts and watches the workers of this spool. Call it a few times a second. Returns -1 if no
 * worker can be started. */
int sched_tend(struct sched *s, struct err *err);

/* Finds the hone-worker beside this program, or the one that HONE_WORKER names. */
int sched_find_worker(struct strbuf *out, struct err *err);

int sched_local_open(struct sched **out, unsigned slots, int gpu, struct err *err);
int sched_spool_open(struct sched **out, const char *dir, struct err *err);
const char *sched_spool_dir(const struct sched *s);
/* slurm_spec.h describes the text. */
int sched_slurm_open(struct sched **out, const char *text, bool emu, struct err *err);
/* Each GPU of the list ("all" or "0,2") gets a worker. With `pretend`, emulators take the place of
 * GPUs. */
int sched_gpus_open(struct sched **out, const char *list, bool pretend, struct err *err);

#endif
