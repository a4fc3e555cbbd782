/*
 * place.h - the GPU and the threads that a worker was given with --gpu, --pretend-gpu, --threads.
 *
 *     worker_place_set(&p);              in the process that serves a spool
 *     worker_place_apply(&job);          in the process of each bundle: sets GPU and threads in the
 *                                        job
 *
 * The environment variable HONE_WORKER_PLACE passes the values on.
 */
#ifndef WORKER_PLACE_H
#define WORKER_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "job/job.h"

struct worker_place {
    int gpu; /* -1 = none given */
    /* The emulator runs the bundles. Workers with the same `gpu` take turns. */
    bool pretend;
    unsigned threads; /* of the emulator; 0 = as the job says */
};

void worker_place_set(const struct worker_place *p);
void worker_place_apply(struct job *job);
/* Writes " (GPU 1 of HOST)", or "" if no GPU was given. */
void worker_place_text(char *out, size_t size);

#endif
