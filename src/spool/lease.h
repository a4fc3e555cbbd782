/*
 * lease.h - a worker's side of a spool, a directory in which bundles wait for workers on any
 * machine. A bundle is a directory with a job and its files. A worker claims a bundle, runs it, and
 * moves it to done/. Meanwhile the worker writes its file workers/W again and again (each write is
 * a beat), to show that it lives. If it writes nothing for the time of a lease, another process
 * puts the bundle back, so that another worker can claim it.
 *
 *     struct spool_worker w;
 *     spool_worker_begin(&w, fs, "node7-411-9f3a", lease_ns, seed, err);
 *     while (...)
 *         if (spool_claim(&w)) {              w.claim is a path like "claimed/ID.g0f0.node7-..."
 *             while (the bundle runs)
 *                 if (!spool_beat(&w, "runs")) ...     another worker has it now: drop it
 *             spool_end(&w, SPOOL_FINISHED);
 *         } else {
 *             spool_idle(&w, "idle");         again and again: shows that it lives, watches others
 *         }
 *     spool_worker_end(&w);
 *
 * Invariants:
 *   1. A bundle is one directory, and every step is one rename. So a bundle is always in exactly
 *      one place, and exactly one process moved it there.
 *   2. A name in claimed/ contains the worker W and the count N. N rises whenever the bundle goes
 *      back to todo/. So no name is used twice.
 *   3. done/ID appears once and has a whole result.bin.
 *   4. A worker holds at most one bundle, and workers/W says which. Only W writes that file.
 *   5. A worker that lost its bundle can neither finish the bundle nor put it back, because the
 *      path of its claim is gone.
 *   6. No step compares times of two machines (watch.h).
 *
 *     todo/ID.gNfM ──claim──> claimed/ID.gNfM.W ──finish──> done/ID
 *          ^                        │  │
 *          │<─── put back: gN+1 ────┘  │   the worker was told to stop, or a watcher found it quiet
 *          └──── fail: gN+1 fM+1 ──────┘   the bundle's process died without a result
 */
#ifndef SPOOL_LEASE_H
#define SPOOL_LEASE_H

#include "base/rng.h"
#include "spool/beat.h"
#include "spool/fs.h"
#include "spool/name.h"
#include "spool/watch.h"

enum { SPOOL_MAX_FAILED = 3, SPOOL_MAX_TAKEN = 20 }; /* see spool_hopeless() */

/* How long a worker may be silent: 30 s, or what HONE_SPOOL_LEASE_S says. */
uint64_t spool_lease_ns(void);

struct spool_worker {
    struct spool_fs *fs;
    char who[SPOOL_ID_MAX]; /* without dots and slashes */
    uint64_t lease_ns;
    bool gpu;                   /* takes bundles for a GPU */
    bool only_gpu;              /* takes only bundles for a GPU */
    const char *machine;        /* takes emulator bundles for this machine ("x86_64"); NULL = any */
    struct spool_name name;     /* the name of the bundle that the worker holds */
    char claim[SPOOL_NAME_MAX]; /* the bundle's path; "" = the worker holds none */
    struct spool_beat beat;
    uint64_t beat_ns, watch_ns; /* when the worker last wrote a beat, and last watched others */
    unsigned missed;            /* how many beats in a row did not find the claim */
    struct spool_names todo;    /* names of the last listing of todo/ that were not tried yet */
    uint64_t listed_ns;         /* when the worker last listed todo/ */
    size_t listed;              /* how many names the listing had */
    unsigned claims;            /* how often the worker tried to claim a bundle */
    struct rng rng;
    struct spool_watch watch;
};

/* Makes workers/W. Workers with different seeds choose different bundles. Returns -1 and sets *err
 * if the file cannot be written. */
int spool_worker_begin(struct spool_worker *w, struct spool_fs *fs, const char *who,
                       uint64_t lease_ns, uint64_t seed, struct err *err);
/* Puts back the bundle that the worker still holds, if any. Removes workers/W and frees *w's
 * memory. */
void spool_worker_end(struct spool_worker *w);

/* Tries to claim a bundle. Returns whether it got one: w->claim and w->name then describe it. */
bool spool_claim(struct spool_worker *w);
/* Returns how many of the waiting bundles this worker could take, or -1 if it could not look. */
int spool_waiting(const struct spool_worker *w);
/* Returns true if nobody should run this bundle again. This is so if its process died
 * SPOOL_MAX_FAILED times (M in its name), or if it came back to todo/ SPOOL_MAX_TAKEN times for any
 * reason (N in its name). The caller then writes a result that says so, and ends with
 * SPOOL_FINISHED. */
bool spool_hopeless(const struct spool_worker *w);

/* Call it often. It writes the beat if a beat is due or if `note` changed. Returns false if the
 * worker has just lost its bundle; the worker then holds no bundle. */
bool spool_beat(struct spool_worker *w, const char *note);
/* Call it while there is nothing to do. Writes the beat like spool_beat(). A few times in each
 * lease it also puts back bundles of workers that stopped, and returns whether there were any. */
bool spool_idle(struct spool_worker *w, const char *note);

enum spool_end { SPOOL_FINISHED, SPOOL_FAILED, SPOOL_PUT_BACK };
/* Hands the bundle on. SPOOL_FINISHED moves it to done/; the caller must have written result.bin
 * before. The other values of `how` move it to todo/. If there is a done/ID already, because
 * somebody put two bundles with this ID into todo/, deletes this bundle. The worker holds no bundle
 * afterwards. Returns true if the move succeeded. */
bool spool_end(struct spool_worker *w, enum spool_end how);

#endif
