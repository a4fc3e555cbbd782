/*
 * beat.h - the file workers/W of a spool (lease.h), in which worker W shows that it lives. Only W
 * writes it. Each write is a beat.
 */
#ifndef SPOOL_BEAT_H
#define SPOOL_BEAT_H

#include "spool/fs.h"
#include "spool/name.h"

enum { SPOOL_NOTE_MAX = 160 };
/* The note of a worker that waits for its GPU contains one of these. */
#define SPOOL_GPU_BUSY "another process of Hone uses its GPU"
#define SPOOL_GPU_IN_USE "in use by"

/* The text of workers/W: "COUNT\nCLAIM\nDONE\nNOTE\n". */
struct spool_beat {
    uint64_t count;             /* grows with every beat; 0 = unreadable */
    uint64_t done;              /* bundles that the worker finished */
    char claim[SPOOL_NAME_MAX]; /* its bundle's name in claimed/; "" = it has none */
    char note[SPOOL_NOTE_MAX];  /* for people: "GPU 1: runs" */
};
/* Returns -1 if the file cannot be read. */
int spool_beat_read(struct spool_fs *fs, const char *worker, struct spool_beat *out);
/* Creates the file if `first` is true. Returns 0 or -errno. */
int spool_beat_write(struct spool_fs *fs, const char *worker, const struct spool_beat *b,
                     bool first);

#endif
