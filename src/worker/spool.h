/*
 * spool.h - a directory in which bundles wait for a worker, shared by any number of machines.
 *
 *     DIR/tmp/          whatever is being made or thrown away
 *     DIR/todo/ID/      complete bundles; a directory appears here by rename
 *     DIR/claimed/ID.W/ being worked on by W (host-pid-random), who touches `alive` every 2 s
 *     DIR/done/ID/      with result.bin
 *
 * Every step is one rename(2), which exactly one party can win:
 *   claim      todo/ID -> claimed/ID.W
 *   finish     claimed/ID.W -> done/ID; if done/ID is there already, ours is thrown away
 *   take back  claimed/ID.W -> todo/ID, when `alive` is older than the lease: W is taken for dead.
 *              If W was only slow, its paths no longer exist and its result goes nowhere.
 * A bundle that was tried MAX_TRIES times without a result gets one that says so (RESULT_MACHINE).
 * The age of `alive` is measured by the file system's own clock, so machines need not agree on
 * time.
 */
#ifndef WORKER_SPOOL_H
#define WORKER_SPOOL_H

#include <stdbool.h>

#include "base/err.h"

/* Serves DIR until SIGTERM or SIGINT; with `once` until nothing waits and nothing is claimed by
 * this worker. Each bundle runs in a process of its own (this program again). */
int spool_serve(const char *dir, bool once, struct err *err);

/* Was it a signal that ended it? */
bool spool_interrupted(void);

/* --tar: unpacks bundles (todo/ID/FILE) from `in`, runs them, writes done/ID/result.bin to `out`.
 */
int spool_tar(const char *in, const char *out, struct err *err);

#endif
