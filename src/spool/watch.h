/*
 * watch.h - finds claims whose worker has stopped, and puts their bundles back into todo/. A claim
 * is a bundle in the folder claimed/ of a spool; its name contains the worker's name (name.h).
 *
 *     struct spool_watch w = {.fs = fs, .lease_ns = 30 s, .most = 8, .first = 5};
 *     spool_watch_step(&w, "");          now and then, at least four times in lease_ns
 *     spool_watch_release(&w);
 *
 * A worker writes a counter and the name of its claim into workers/W (beat.h). A watcher puts a
 * bundle back if that counter did not change for lease_ns by the watcher's own clock. A long pause
 * between two looks counts little, so a watcher that was suspended does not take everybody's claims
 * when it wakes. If a worker lives but names another claim, its old claim is put back too, after
 * the same time.
 */
#ifndef SPOOL_WATCH_H
#define SPOOL_WATCH_H

#include "spool/fs.h"
#include "spool/name.h"

struct spool_watched;

struct spool_watch {
    struct spool_fs *fs;
    uint64_t lease_ns;
    size_t most;  /* the most claims to watch at once; 0 = all */
    size_t first; /* where to start, so that watchers choose different claims */
    VEC(struct spool_watched) seen;
    uint64_t last_ns;    /* when it last looked */
    uint64_t watched_ns; /* how long it has watched; a pause counts at most lease_ns / 4 */
};

/* Looks once at the claims whose name contains `part`. Returns how many bundles it put back. */
unsigned spool_watch_step(struct spool_watch *w, const char *part);
void spool_watch_release(struct spool_watch *w);

#endif
