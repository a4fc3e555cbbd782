/*
 * sched.h - runs bundles: on this machine, or on any machine whose worker serves a spool directory.
 *
 *     struct sched *s;
 *     sched_open(&s, "local", 0, -1, err);
 *     sched_submit(s, bundle_dir, wall_ns, NULL, &ticket, err);
 *     while ((rc = sched_wait(s, timeout_ns, &done, err)) == 0) ...
 *
 * A bundle is a directory with job.bin in it. A worker runs the job. The result appears as
 * result.bin in the same directory, even if the worker ran on another machine. `done` says how the
 * worker ended. The caller reads result.bin. Each kind of scheduler is one const vtable.
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
    bool have_result;      /* result.bin exists (from a killed worker it may be incomplete) */
    bool timed_out;        /* the worker was killed at its wall limit */
    int exit_code, signal; /* how the worker ended; signal 0 = no signal ended it */
    uint64_t wall_ns;      /* how long the bundle took; if local, without its wait for the GPU */
    char note[512];        /* the end of the worker's stderr, or why there is no result */
};

struct sched_ops {
    const char *name;
    int (*submit)(struct sched *s, const char *bundle_dir, uint64_t wall_ns,
                  const char *const *under, uint64_t ticket, struct err *err);
    /* Returns 1 with *out filled, 0 if nothing ended within timeout_ns, -1 on an error. */
    int (*wait)(struct sched *s, uint64_t timeout_ns, struct sched_done *out, struct err *err);
    /* The path of the bundle's progress file (the caller frees it), or NULL if the bundle does
     * not run. */
    char *(*progress_path)(struct sched *s, uint64_t ticket);
    void (*close)(struct sched *s); /* see sched_close() */
};

struct sched {
    const struct sched_ops *ops;
    uint64_t next_ticket;
    unsigned outstanding; /* submitted bundles that sched_wait() has not returned yet */
};

/* `on` is "local", "local:all", "local:0,2" (those GPUs), "spool:DIR", "slurm" or "slurm:...".
 * `slots` is how many bundles run at the same time, for "local" only; 0 = one for each core. `gpu`
 * is the number of the GPU that the bundles run on, or -1 for no GPU. Only one worker at a time
 * uses a GPU; the workers of several processes take turns. */
int sched_open(struct sched **out, const char *on, unsigned slots, int gpu, struct err *err);
/* Ends all workers that this process has started, withdraws bundles that wait in a spool, and frees
 * s. A worker that somebody else started finishes its bundle. NULL is allowed. */
void sched_close(struct sched *s);
/* `wall_ns` is the time limit of the worker; a spool ignores it, because the job has limits too.
 * `under` is the command line of a program that starts the worker, such as a profiler; NULL = none.
 * `under` works for "local" only. */
int sched_submit(struct sched *s, const char *bundle_dir, uint64_t wall_ns,
                 const char *const *under, uint64_t *ticket, struct err *err);
/* Returns 1 with *out filled, 0 if no bundle ended within timeout_ns, -1 on an error. */
int sched_wait(struct sched *s, uint64_t timeout_ns, struct sched_done *out, struct err *err);

/* Appends what the bundle's worker is doing (": case 'check:1', call 2 of 'candidate'"), from
 * its progress.bin. Appends nothing if the bundle waits or has no progress yet. */
void sched_progress(struct sched *s, uint64_t ticket, struct strbuf *out);

/* Several processes, such as the runs of a campaign (`hone bench`), can share one place: a spool
 * and its workers. If `on` is "slurm" or "slurm:...", opens such a place, and sched_open() in every
 * child process uses its workers. For any other `on`, processes need not share a place, and *out
 * becomes NULL. */
int sched_share(struct sched **out, const char *on, bool emu, struct err *err);
/* Starts and watches the workers of a place that sched_share() opened. Call it a few times a
 * second. Returns -1 if no worker can be started. */
int sched_tend(struct sched *s, struct err *err);

/* Finds the hone-worker beside this program; HONE_WORKER names another. */
int sched_find_worker(struct strbuf *out, struct err *err);

/* The functions that open each kind of scheduler. */
int sched_local_open(struct sched **out, unsigned slots, int gpu, struct err *err);
int sched_spool_open(struct sched **out, const char *dir, struct err *err);
const char *sched_spool_dir(const struct sched *s);
/* Jobs of Slurm; slurm_spec.h describes the text. */
int sched_slurm_open(struct sched **out, const char *text, bool emu, struct err *err);
/* Several GPUs of this machine, each with a worker of its own: "all", "0,2". If `pretend` is true,
 * the emulator takes the place of each GPU. */
int sched_gpus_open(struct sched **out, const char *list, bool pretend, struct err *err);

#endif
