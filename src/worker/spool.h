/*
 * spool.h - a directory in which bundles wait for a worker, shared by any number of machines.
 *
 *     DIR/tmp/          files that are being made or thrown away
 *     DIR/todo/ID/      complete bundles; a directory appears here by rename
 *     DIR/claimed/ID.W/ worker W (host-pid-random) runs it and touches `alive` every 2 s
 *     DIR/done/ID/      with result.bin
 *
 * Every step is one rename(2). If several workers try the same step, exactly one succeeds.
 *   claim      todo/ID -> claimed/ID.W
 *   finish     claimed/ID.W -> done/ID; if done/ID exists already, the worker discards its own
 *   result
 *   take back  claimed/ID.W -> todo/ID, when `alive` is older than the lease: any worker then
 *   assumes that W is dead. If W was only slow, its paths no longer exist and its result is lost.
 *   If MAX_TRIES workers tried a bundle and none wrote a result, the bundle gets a result that says
 *   so (RESULT_MACHINE). We compute the age of `alive` by the file system's own clock, so the
 *   machines' clocks need not agree.
 */
#ifndef WORKER_SPOOL_H
#define WORKER_SPOOL_H

#include <stdbool.h>

#include "base/err.h"

/* Serves DIR until SIGTERM or SIGINT. If `once`, stops when todo/ is empty. Each bundle runs in a
 * child process of its own, which is this program again. */
int spool_serve(const char *dir, bool once, struct err *err);

/* Whether a signal ended spool_serve(). */
bool spool_interrupted(void);

/* --tar: unpacks bundles (todo/ID/FILE) from `in`, runs them, writes done/ID/result.bin to `out`.
 */
int spool_tar(const char *in, const char *out, struct err *err);

#endif
