/*
 * beat.h - the file workers/W, in which worker W shows that it lives. Only W writes it.
 */
#ifndef SPOOL_BEAT_H
#define SPOOL_BEAT_H

#include "spool/fs.h"
#include "spool/name.h"

enum { SPOOL_NOTE_MAX = 160 };
/* Words of a worker that waits for its GPU. */
#define SPOOL_GPU_BUSY "another process of Hone uses its GPU"
#define SPOOL_GPU_IN_USE "in use by"

/* The text of workers/W: "COUNT\nCLAIM\nDONE\nNOTE\n". */
struct spool_beat {
    uint64_t count;             /* grows with every beat; 0 = unreadable */
    uint64_t done;              /* bundles that the worker finished */
    char claim[SPOOL_NAME_MAX]; /* the name in claimed/, or "" */
    char note[SPOOL_NOTE_MAX];  /* what the worker does, for people: "GPU 1: runs" */
};
/* Returns 0, or -1 if the file cannot be read. */
int spool_beat_read(struct spool_fs *fs, const char *worker, struct spool_beat *out);
/* Makes the file if `first`, else overwrites it. Returns 0, or -1 times the errno. */
int spool_beat_write(struct spool_fs *fs, const char *worker, const struct spool_beat *b,
                     bool first);

#endif
