/* parallel.c - a pool of threads that share the blocks of a loop. See parallel.h. */
#include "gnn/ops/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/util.h"

struct parallel {
    int threads; /* including the caller's thread */
    pthread_t *helper;
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    uint64_t round; /* counts the loops; helpers wait until it changes */
    bool open;      /* helpers may join this round */
    int busy;       /* helpers that have joined and are not done */
    bool quit;

    /* the loop of this round; set before `round` changes */
    parallel_fn fn;
    void *ctx;
    int64_t rows, block, blocks;
    _Atomic int64_t next;
};

static void work(struct parallel *p)
{
    for (;;) {
        int64_t b = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
        if (b >= p->blocks)
            return;
        p->fn(p->ctx, b, b * p->block, MIN(p->rows, (b + 1) * p->block));
    }
}

static void *helper_main(void *arg)
{
    struct parallel *p = arg;
    uint64_t seen = 0;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!(p->open && p->round != seen) && !p->quit)
            pthread_cond_wait(&p->start, &p->lock);
        if (p->quit)
            break;
        seen = p->round;
        p->busy++;
        pthread_mutex_unlock(&p->lock);
        work(p);
        pthread_mutex_lock(&p->lock);
        if (--p->busy == 0)
            pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct parallel *parallel_new(int threads)
{
    struct parallel *p = xcalloc(1, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->start, NULL);
    pthread_cond_init(&p->done, NULL);
    p->threads = 1;
    p->helper = xcalloc((size_t)MAX(threads, 1), sizeof *p->helper);
    while (p->threads < threads &&
           pthread_create(&p->helper[p->threads - 1], NULL, helper_main, p) == 0)
        p->threads++;
    return p;
}

void parallel_free(struct parallel *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->quit = true;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->threads - 1; i++)
        pthread_join(p->helper[i], NULL);
    pthread_cond_destroy(&p->start);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    free(p->helper);
    free(p);
}

void parallel_rows(struct parallel *p, int64_t rows, int64_t block, parallel_fn fn, void *ctx)
{
    int64_t blocks = parallel_blocks(rows, block);
    if (blocks <= 1 || p->threads == 1) {
        for (int64_t b = 0; b < blocks; b++)
            fn(ctx, b, b * block, MIN(rows, (b + 1) * block));
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->fn = fn;
    p->ctx = ctx;
    p->rows = rows;
    p->block = block;
    p->blocks = blocks;
    atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    p->open = true;
    p->round++;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    work(p);
    /* All blocks are taken. We wait for helpers that work, but not for a helper that has not woken
     * up yet: on a busy machine it may wake up late. */
    pthread_mutex_lock(&p->lock);
    p->open = false;
    while (p->busy > 0)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}
