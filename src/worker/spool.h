/*
 * spool.h - serves a spool, which any number of machines can share. spool/lease.h has the protocol,
 * spool/name.h explains the names.
 *
 *     DIR/tmp/                bundles that a process is writing or deleting
 *     DIR/todo/ID.gNfM/       a complete bundle, put there by rename
 *     DIR/claimed/ID.gNfM.W/  a bundle that worker W runs
 *     DIR/done/ID/            a bundle with its result.bin
 *     DIR/workers/W           worker W writes a rising count to it, to show that it lives
 */
#ifndef WORKER_SPOOL_H
#define WORKER_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "worker/place.h"

struct spool_options {
    bool once; /* stop when no bundle is left */
    /* The worker locks the GPU of `place` and runs all bundles there. If `place` has no GPU, a
     * bundle runs on the GPU that its job names. */
    struct worker_place place;
    uint64_t idle_ns; /* stop after so long without a bundle; 0 = never */
};

/* Serves DIR until SIGTERM, SIGINT, or the end that the options set. Each bundle runs in a child
 * process: this program again. */
int spool_serve(const char *dir, const struct spool_options *options, struct err *err);

/* Returns whether a signal has ended spool_serve(). */
bool spool_interrupted(void);

/* For --tar: runs the bundles todo/ID/ of the tar file `in`, and writes a tar file `out` with a
 * done/ID/result.bin for each. */
int spool_tar(const char *in, const char *out, struct err *err);

#endif
