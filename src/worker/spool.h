/*
 * spool.h - a directory in which bundles wait for a worker, shared by any number of machines.
 *
 *     DIR/tmp/          bundles that are being made or thrown away
 *     DIR/todo/ID/      complete bundles, put there by rename
 *     DIR/claimed/ID.W/ a bundle that worker W runs
 *     DIR/done/ID/      a bundle with its result.bin
 *
 * ID is the name of a bundle, W the name of a worker: host name, process id, a random number. Every
 * step is one rename(2). If several workers try the same step, exactly one succeeds:
 *
 *     claim      todo/ID -> claimed/ID.W
 *     finish     claimed/ID.W -> done/ID
 *     take back  claimed/ID.W -> todo/ID
 *
 * If done/ID exists already, a worker that finishes discards its own result. While W runs a bundle,
 * it touches the file `alive` in it every 2 s. If W has not done so for 30 s (the lease, which
 * HONE_SPOOL_LEASE_S changes), W is probably dead, so any other worker takes the bundle back. If W
 * was only slow, its paths no longer exist and its result is lost. If MAX_TRIES workers tried a
 * bundle and none wrote a result, the bundle gets a result that says so (RESULT_MACHINE). We
 * compute the age of `alive` by the file system's own clock, so the machines' clocks need not
 * agree.
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
