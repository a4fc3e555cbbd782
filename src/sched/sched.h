/*
 * sched.h - where a bundle runs: on this machine, or wherever a spool directory is served.
 *
 *     struct sched *s;
 *     sched_open(&s, "local", 0, -1, err);
 *     sched_submit(s, bundle_dir, wall_ns, NULL, &ticket, err);
 *     while ((rc = sched_wait(s, timeout_ns, &done, err)) == 0) ...
 *
 * A bundle is a directory with job.bin in it; its result is result.bin in the same directory
 * (local) or brought back there (spool). `done` says how the worker ended; the facts are read and
 * judged by the caller. One const vtable per place.
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
    bool have_result; /* result.bin is there (it may be partial: a killed worker) */
    bool timed_out;   /* the wall limit ended it */
    int exit_code, signal;
    uint64_t wall_ns;
    char note[512]; /* the worker's last words on stderr, or why there is no result */
};

struct sched_ops {
    const char *name;
    int (*submit)(struct sched *s, const char *bundle_dir, uint64_t wall_ns,
                  const char *const *under, uint64_t ticket, struct err *err);
    /* 1: *out is filled; 0: nothing yet within timeout_ns; -1: error. */
    int (*wait)(struct sched *s, uint64_t timeout_ns, struct sched_done *out, struct err *err);
    /* Where the worker of a bundle writes its progress now; to be freed; NULL = it does not run. */
    char *(*progress_path)(struct sched *s, uint64_t ticket);
    void (*close)(struct sched *s); /* ends what still runs */
};

struct sched {
    const struct sched_ops *ops;
    uint64_t next_ticket;
    unsigned outstanding;
};

/* "local" or "spool:DIR". `slots`: how many bundles run at once (local); 0 = one per core. `gpu`:
 * the GPU they run on, shared with other processes one at a time; -1 = none. */
int sched_open(struct sched **out, const char *on, unsigned slots, int gpu, struct err *err);
void sched_close(struct sched *s);
/* `under`: a program and its options that runs the worker (a profiler); NULL = none. Local only. */
int sched_submit(struct sched *s, const char *bundle_dir, uint64_t wall_ns,
                 const char *const *under, uint64_t *ticket, struct err *err);
int sched_wait(struct sched *s, uint64_t timeout_ns, struct sched_done *out, struct err *err);

/* Appends what the bundle's worker is doing (": case 'check:1', call 2 of 'candidate'"), read from
 * its progress.bin; nothing if it waits or has not said. */
void sched_progress(struct sched *s, uint64_t ticket, struct strbuf *out);

/* The hone-worker beside this binary; HONE_WORKER names another. */
int sched_find_worker(struct strbuf *out, struct err *err);

/* The backends' entries. */
int sched_local_open(struct sched **out, unsigned slots, int gpu, struct err *err);
int sched_spool_open(struct sched **out, const char *dir, struct err *err);

#endif
