/*
 * run.h - a submitter's side of a spool (lease.h): puts bundles into todo/ and takes each result
 * once.
 *
 *     spool_run_begin(&r, fs, "5c1e...", lease_ns);
 *     spool_run_id(&r, "cuda", id);           write the bundle's files to tmp/ID, then
 *     spool_run_put(&r, id, nonce, tag);
 *     while (spool_run_take(&r, 50 ms, &t))   t.tag's result is in t.path/result.bin
 *         spool_run_drop(&r, &t);
 *     spool_run_end(&r);
 *
 * A run here is one process that submits bundles. Several runs may share a spool: each touches only
 * bundles with its random name. A result counts only if it repeats the job's nonce, a random
 * number. Further results of the same bundle are removed unread.
 *
 * The run puts back bundles of its own whose worker has stopped (watch.h), because all workers may
 * be too busy to do that. A bundle that is in no folder for two leases is `lost`.
 */
#ifndef SPOOL_RUN_H
#define SPOOL_RUN_H

#include "spool/fs.h"
#include "spool/name.h"
#include "spool/watch.h"

struct spool_item;

struct spool_run {
    struct spool_fs *fs;
    char run[33]; /* random, in hexadecimal */
    uint64_t lease_ns, next_seq;
    VEC(struct spool_item) items; /* in the order of SEQUENCE (name.h) */
    struct spool_names done;      /* names in done/, not looked at yet */
    struct spool_watch watch;
    /* When we last counted our bundles, and when we last listed done/. */
    uint64_t census_ns, list_ns;
    size_t waiting, running; /* bundles in todo/ and in claimed/, by the last count */
    unsigned seconds;        /* how long the worker of the newest result took, rounded up */
};

struct spool_taken {
    uint64_t tag;
    bool lost;                 /* there is no result with the job's nonce */
    char path[SPOOL_NAME_MAX]; /* "" if the bundle's folder is gone */
};

void spool_run_begin(struct spool_run *r, struct spool_fs *fs, const char *run, uint64_t lease_ns);
/* Deletes unclaimed bundles and untaken results. Claimed bundles run on. */
void spool_run_end(struct spool_run *r);

/* Writes a new name to `id`. `kind` is KIND of name.h. */
void spool_run_id(struct spool_run *r, const char *kind, char id[SPOOL_ID_MAX]);
/* Moves tmp/ID to todo/. With nonce 0, any result counts. Returns 0 or -errno. */
int spool_run_put(struct spool_run *r, const char *id, uint64_t nonce, uint64_t tag);
/* Takes one bundle that has ended: describes it in *out, and forgets it. Returns false if there is
 * none. Looks into the spool at most every `every_ns`. */
bool spool_run_take(struct spool_run *r, uint64_t every_ns, struct spool_taken *out);
void spool_run_drop(struct spool_run *r, const struct spool_taken *t);
/* `claim` is the bundle's name in claimed/. Returns false if no worker has the bundle. */
bool spool_run_where(struct spool_run *r, uint64_t tag, char claim[SPOOL_NAME_MAX]);

#endif
