/*
 * starter.h - starts the workers of a spool. A place is a spool and a starter:
 *
 *     spool:DIR     no starter: somebody else starts workers
 *     local:...     starter_local(): one worker process for each GPU of this machine
 *     slurm:...     starter_slurm(): jobs of Slurm
 */
#ifndef SCHED_STARTER_H
#define SCHED_STARTER_H

#include "base/err.h"
#include "base/strbuf.h"
#include "spool/fs.h"

struct starter;

struct starter_ops {
    /* Starts workers if more are needed. The caller calls this repeatedly while there are bundles.
     * Each call may wait up to wait_ns. `bundles` counts the unfinished bundles, `finished` all
     * that ever finished. Returns -1 if no worker can be started. */
    int (*step)(struct starter *st, unsigned bundles, uint64_t finished, uint64_t wait_ns,
                struct err *err);
    void (*close)(struct starter *st); /* ends the workers and frees `st` */
};

struct starter {
    const struct starter_ops *ops;
};

/* `list` is "all", or numbers of GPUs: "0,2,3". With `pretend`, emulators replace the GPUs, and
 * "all" means one for each core. */
int starter_local(struct starter **out, struct spool_fs *fs, const char *dir, const char *list,
                  bool pretend, struct err *err);

/* `text` is what follows "slurm:" (slurm_spec.h). Appends the spool's path to `spool`; the caller
 * makes the directory. Starts nothing before the first bundle. */
int starter_slurm(struct starter **out, const char *text, bool emu, const char *run_name,
                  struct strbuf *spool, struct err *err);

#endif
