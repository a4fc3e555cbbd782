/*
 * sched.h - runs bundles here, or on any machine whose worker serves a spool directory. A bundle is
 * a directory with job.bin, into which a worker writes result.bin.
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
    bool timed_out;        /* ran longer than sched_submit() allowed */
    int exit_code, signal; /* how the worker ended; signal 0 = none */
    /* How long the bundle took. On this machine, the wait for the GPU does not count. In a spool,
     * this is the time since sched_submit(). */
    uint64_t wall_ns;
    char note[512]; /* the end of stderr, or why there is no result */
};

struct sched_ops {
    const char *name;
    int (*submit)(struct sched *s, const char *bundle_dir, uint64_t wall_ns,
                  const char *const *under, uint64_t ticket, struct err *err);
    int (*wait)(struct sched *s, uint64_t timeout_ns, struct sched_done *out, struct err *err);
    /* The path of the bundle's progress file, or NULL if the bundle does not run. The caller frees
     * it. */
    char *(*progress_path)(struct sched *s, uint64_t ticket);
    void (*close)(struct sched *s);
};

struct sched {
    const struct sched_ops *ops;
    uint64_t next_ticket;
    unsigned outstanding;
};

/* `on` is "local", "local:all", "local:0,2" (those GPUs), "spool:DIR", "slurm" or "slurm:...". For
 * "local", `slots` bundles run at a time (0 = one per core), on GPU `gpu` if that is not -1.
 * Workers of all processes take turns on a GPU. */
int sched_open(struct sched **out, const char *on, unsigned slots, int gpu, struct err *err);
/* Ends the workers that this process started, and withdraws waiting bundles from a spool. Other
 * workers go on. NULL is allowed. */
void sched_close(struct sched *s);
/* `wall_ns` is the time limit of the bundle; a spool ignores it. `under` is NULL, or the command
 * line of a program that starts the worker, such as a profiler. Only "local" allows that. */
int sched_submit(struct sched *s, const char *bundle_dir, uint64_t wall_ns,
                 const char *const *under, uint64_t *ticket, struct err *err);
/* Waits for the end of any bundle, and describes it in *out. Returns 1, 0 if no bundle ended within
 * timeout_ns, -1 on an error. */
int sched_wait(struct sched *s, uint64_t timeout_ns, struct sched_done *out, struct err *err);

/* Appends what the worker does, such as ": case 'check:1', call 2 of 'candidate'", if known. */
void sched_progress(struct sched *s, uint64_t ticket, struct strbuf *out);

/* Lets child processes share workers of Slurm. Opens one spool; sched_open() in each child process
 * then uses it. *out becomes NULL if `on` does not name Slurm. */
int sched_share(struct sched **out, const char *on, bool emu, struct err *err);
/* Starts and watches the workers of a spool from sched_share(). Call this a few times a second. */
int sched_tend(struct sched *s, struct err *err);

/* Appends the path of hone-worker: the program that HONE_WORKER names, else the one beside this
 * program. */
int sched_find_worker(struct strbuf *out, struct err *err);

int sched_local_open(struct sched **out, unsigned slots, int gpu, struct err *err);
int sched_spool_open(struct sched **out, const char *dir, struct err *err);
const char *sched_spool_dir(const struct sched *s);
/* `text` is what follows "slurm:" in --on (slurm_spec.h). */
int sched_slurm_open(struct sched **out, const char *text, bool emu, struct err *err);
/* Starts a worker for each GPU of the list ("all" or "0,2"). With `pretend`, emulators replace
 * GPUs. */
int sched_gpus_open(struct sched **out, const char *list, bool pretend, struct err *err);

#endif
