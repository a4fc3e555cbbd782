/*
 * parallel.h - runs a loop over rows in several threads, in blocks of rows.
 *
 *     struct parallel *p = parallel_new(4);
 *     parallel_rows(p, rows, 256, add_rows, &args);    add_rows(&args, block, lo, hi), hi-lo <= 256
 *     parallel_free(p);
 *
 * The blocks depend on `rows` and `block` alone. So a function that writes only what belongs to its
 * block gives the same bits with any number of threads. The calling thread works too:
 * parallel_new(1) starts no other thread.
 */
#ifndef GNN_OPS_PARALLEL_H
#define GNN_OPS_PARALLEL_H

#include <stdint.h>

struct parallel;
typedef void (*parallel_fn)(void *ctx, int64_t block, int64_t lo, int64_t hi);

/* If the system refuses a thread, the others do its work. */
struct parallel *parallel_new(int threads);
void parallel_free(struct parallel *p);

/* Calls fn once for each block and waits for all calls. Call it from one thread at a time, and not
 * from fn. */
void parallel_rows(struct parallel *p, int64_t rows, int64_t block, parallel_fn fn, void *ctx);

static inline int64_t parallel_blocks(int64_t rows, int64_t block)
{
    return (rows + block - 1) / block;
}

#endif
