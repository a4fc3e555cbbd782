/*
 * lease.h - a worker's side of a spool, a directory where bundles wait for workers on any machine.
 *
 * A worker claims a bundle, runs it, and moves it to done/. Meanwhile it keeps rewriting its file
 * workers/W. Each write is a beat. A lease is the longest time without a beat (30 s, unless the
 * user sets another). After that time, another process puts the bundle back.
 *
 *     while (...)
 *         if (spool_claim(&w)) {
 *             while (the bundle runs)
 *                 if (!spool_beat(&w, "runs")) ...     the bundle is lost: stop it
 *             spool_end(&w, SPOOL_FINISHED);
 *         } else {
 *             spool_idle(&w, "idle");
 *         }
 *
 * Invariants:
 *   1. Every step is one rename. So a bundle is in one place, and one process moved it there.
 *   2. A name in claimed/ contains the worker W and the number N, which counts how often the bundle
 *      went back to todo/. So no name is used twice. M counts failures.
 *   3. done/ID appears once and has a whole result.bin.
 *   4. A worker holds at most one bundle, and workers/W names it. Only W writes that file.
 *   5. A worker that lost its bundle can neither finish it nor put it back: the path is gone.
 *   6. No step compares times of two machines (watch.h).
 *
 *     todo/ID.gNfM ──claim──> claimed/ID.gNfM.W ──finish──> done/ID
 *          ^                        │  │
 *          │<─── put back: gN+1 ────┘  │   the worker had to stop, or was silent
 *          └──── fail: gN+1 fM+1 ──────┘   the bundle's process died without a result
 */
#ifndef SPOOL_LEASE_H
#define SPOOL_LEASE_H

#include "base/rng.h"
#include "spool/beat.h"
#include "spool/fs.h"
#include "spool/name.h"
#include "spool/watch.h"

enum { SPOOL_MAX_FAILED = 3, SPOOL_MAX_TAKEN = 20 };

/* Returns the length of a lease: HONE_SPOOL_LEASE_S seconds, or 30 s if that is not set. */
uint64_t spool_lease_ns(void);

struct spool_worker {
    struct spool_fs *fs;
    char who[SPOOL_ID_MAX]; /* without dots and slashes */
    uint64_t lease_ns;
    bool gpu;                   /* takes bundles for a GPU */
    bool only_gpu;              /* takes none for the emulator */
    const char *machine;        /* takes emulator bundles for this machine ("x86_64"); NULL = any */
    struct spool_name name;     /* of the claimed bundle */
    char claim[SPOOL_NAME_MAX]; /* path of the claimed bundle; "" = none */
    struct spool_beat beat;
    uint64_t beat_ns, watch_ns; /* last beat, last look at other workers */
    unsigned missed;            /* beats in a row that did not find the claim */
    struct spool_names todo;    /* last listing of todo/: names not tried yet */
    uint64_t listed_ns;
    size_t listed;
    unsigned claims;
    struct rng rng;
    struct spool_watch watch;
};

/* Makes workers/W. Different seeds choose different bundles. */
int spool_worker_begin(struct spool_worker *w, struct spool_fs *fs, const char *who,
                       uint64_t lease_ns, uint64_t seed, struct err *err);
/* Puts a claimed bundle back, and removes workers/W. */
void spool_worker_end(struct spool_worker *w);

/* Claims a waiting bundle. If there is one, returns true and sets w->claim and w->name. */
bool spool_claim(struct spool_worker *w);
/* Returns how many waiting bundles this worker could take, or -1 if it cannot look. */
int spool_waiting(const struct spool_worker *w);
/* Returns true if the claimed bundle's process died SPOOL_MAX_FAILED times, or if the bundle went
 * back to todo/ SPOOL_MAX_TAKEN times. Then the caller should finish the bundle with a result that
 * says so. */
bool spool_hopeless(const struct spool_worker *w);

/* Writes a beat if one is due. Call this often. Returns false if the worker has just lost its
 * bundle. */
bool spool_beat(struct spool_worker *w, const char *note);
/* Call this often while the worker has no bundle. Writes a beat if one is due, and puts back
 * bundles of silent workers. Returns whether any bundle was put back. */
bool spool_idle(struct spool_worker *w, const char *note);

enum spool_end { SPOOL_FINISHED, SPOOL_FAILED, SPOOL_PUT_BACK };
/* Ends the claim. SPOOL_FINISHED moves the bundle to done/. The other values move it back to todo/.
 * If the same ID was queued twice, done/ID may exist already. Then we delete the bundle. Returns
 * whether the move succeeded. */
bool spool_end(struct spool_worker *w, enum spool_end how);

#endif
