/*
 * crew.c - runs pieces of work on several threads (crew.h).
 *
 * Blocks are numbered through all steps. A thread takes the next number. Before it runs the block,
 * it waits until all blocks of earlier steps are done. Other threads have taken these blocks
 * already, so the wait ends.
 */
#include "job/crew.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/util.h"

enum { MAX_THREADS = 256, BLOCKS_PER_THREAD = 16 };

struct crew {
    const struct crew_work *work;
    uint64_t grain, blocks;          /* units in a block, blocks in a step */
    atomic_uint_fast64_t next, done; /* counts of blocks over all steps */
    pthread_mutex_t lock;
    pthread_cond_t step_done;
};

static void wait_for(struct crew *c, uint64_t blocks)
{
    if (atomic_load(&c->done) >= blocks)
        return;
    pthread_mutex_lock(&c->lock);
    while (atomic_load(&c->done) < blocks)
        pthread_cond_wait(&c->step_done, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static void note_done(struct crew *c)
{
    if ((atomic_fetch_add(&c->done, 1) + 1) % c->blocks)
        return;
    pthread_mutex_lock(&c->lock);
    pthread_cond_broadcast(&c->step_done);
    pthread_mutex_unlock(&c->lock);
}

static void *crew_member(void *arg)
{
    struct crew *c = arg;
    const struct crew_work *w = c->work;
    uint64_t total = c->blocks * w->repeat, k;
    while ((k = atomic_fetch_add(&c->next, 1)) < total) {
        uint64_t step = k / c->blocks, first = k % c->blocks * c->grain;
        wait_for(c, step * c->blocks);
        w->run(w->ctx, step, first, MIN(c->grain, w->units - first));
        note_done(c);
    }
    return NULL;
}

void crew_run(const struct crew_work *work, unsigned nthreads)
{
    struct crew c = {
        .work = work, .lock = PTHREAD_MUTEX_INITIALIZER, .step_done = PTHREAD_COND_INITIALIZER};
    pthread_t threads[MAX_THREADS];
    unsigned n = MAX(1u, MIN(nthreads, (unsigned)MAX_THREADS)), started = 0;
    c.grain = MAX(work->units / (n * BLOCKS_PER_THREAD), MAX(work->grain, UINT64_C(1)));
    c.blocks = (work->units + c.grain - 1) / c.grain;
    atomic_init(&c.next, 0);
    atomic_init(&c.done, 0);
    while (started + 1 < n && started + 1 < c.blocks && work->repeat &&
           pthread_create(&threads[started], NULL, crew_member, &c) == 0)
        started++;
    crew_member(&c);
    while (started > 0)
        pthread_join(threads[--started], NULL);
    pthread_cond_destroy(&c.step_done);
    pthread_mutex_destroy(&c.lock);
}
