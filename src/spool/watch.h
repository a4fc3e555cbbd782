/*
 * watch.h - finds claims whose worker has stopped, and puts their bundles back into todo/. A claim
 * is a bundle (lease.h) in the folder claimed/ of a spool. Its name contains the name of the worker
 * that took it (name.h).
 *
 *     struct spool_watch w = {.fs = fs, .lease_ns = 30 s, .most = 8, .first = 5};
 *     spool_watch_step(&w, "");          now and then, at least four times in lease_ns
 *     spool_watch_release(&w);
 *
 * A worker writes a counter and the name of its claim into workers/W (lease.h). A watcher uses its
 * own clock alone: it puts a bundle back if the counter of the claim's worker did not change for
 * lease_ns. The watcher counts only time in which it looked. So a watcher that was suspended does
 * not take everybody's claims when it wakes. If the worker lives but says that it holds another
 * bundle, the claim is orphaned, and the watcher puts its bundle back after the same time.
 */
#ifndef SPOOL_WATCH_H
#define SPOOL_WATCH_H

#include "spool/fs.h"
#include "spool/name.h"

struct spool_watched;

struct spool_watch {
    struct spool_fs *fs;
    uint64_t lease_ns;
    size_t most;  /* how many claims to watch at the same time, at most; 0 = all */
    size_t first; /* if `most` is not 0: where to start, so that watchers choose different claims */
    VEC(struct spool_watched) seen;
    uint64_t last_ns;    /* when it last looked */
    uint64_t watched_ns; /* how long it has watched; a pause counts as at most lease_ns / 4 */
};

/* Looks once at the claims whose name contains `part`. Returns how many bundles it put back. */
unsigned spool_watch_step(struct spool_watch *w, const char *part);
void spool_watch_release(struct spool_watch *w);

#endif
