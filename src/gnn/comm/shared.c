/*
 * shared.c - connects ranks on one machine through memory that they share. The launcher maps the
 * memory before it forks the ranks:
 *
 *     struct board | sums of each rank | array of each rank | result
 *
 * Only rank r writes its sums, its array and its chunk of the result. Each rank writes its memory,
 * waits at a barrier until all have written, and then reads the memory of the others. The next
 * comm_reduce begins with the barriers of gather(). So no rank overwrites memory before all ranks
 * have read it.
 *
 * A rank that dies never arrives at the barrier. The launcher (launch.h) then ends the others.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "gnn/comm/transport.h"

/* `arrived` ranks wait at the barrier now. All ranks have passed it `turn` times. */
struct board {
    _Atomic uint32_t arrived, turn;
};

struct shared {
    struct comm base;
    struct board *board;
    double *sums;
    float *array, *result;
    int64_t reals; /* floats that each array, and the result, have room for */
    size_t bytes;  /* size of the shared memory */
};

static struct shared *shared_of(struct comm *c)
{
    return (struct shared *)c;
}

/* The last rank to arrive wakes the others. */
static void barrier(struct shared *s)
{
    uint32_t turn = atomic_load(&s->board->turn);
    if (atomic_fetch_add(&s->board->arrived, 1) + 1 == (uint32_t)s->base.ranks) {
        atomic_store(&s->board->arrived, 0);
        atomic_fetch_add(&s->board->turn, 1);
        syscall(SYS_futex, &s->board->turn, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
        return;
    }
    while (atomic_load(&s->board->turn) == turn)
        syscall(SYS_futex, &s->board->turn, FUTEX_WAIT, turn, NULL, NULL, 0);
}

static int gather(struct comm *c, const double *mine, double *all, struct err *err)
{
    struct shared *s = shared_of(c);
    (void)err;
    memcpy(s->sums + c->rank * COMM_MAX_SUMS, mine, COMM_MAX_SUMS * sizeof *mine);
    barrier(s);
    memcpy(all, s->sums, (size_t)c->ranks * COMM_MAX_SUMS * sizeof *all);
    barrier(s); /* no rank writes its next sums before all ranks have read these */
    return 0;
}

static int scatter(struct comm *c, const float *x, int64_t n, const float **part, struct err *err)
{
    struct shared *s = shared_of(c);
    if (n > s->reals)
        return err_set(err, ERR_INTERNAL,
                       "%" PRId64 " numbers, but the ranks share memory for %" PRId64, n, s->reals);
    memcpy(s->array + c->rank * s->reals, x, (size_t)n * sizeof *x);
    barrier(s);
    for (int r = 0; r < c->ranks; r++)
        part[r] = s->array + r * s->reals + chunk_at(c, n, c->rank);
    return 0;
}

static int share(struct comm *c, const float *chunk, float *x, int64_t n, struct err *err)
{
    struct shared *s = shared_of(c);
    int64_t first = chunk_at(c, n, c->rank), last = chunk_at(c, n, c->rank + 1);
    (void)err;
    memcpy(s->result + first, chunk, (size_t)(last - first) * sizeof *chunk);
    barrier(s);
    memcpy(x, s->result, (size_t)n * sizeof *x);
    return 0;
}

static void close_shared(struct comm *c)
{
    munmap(shared_of(c)->board, shared_of(c)->bytes);
    free(c);
}

static const struct transport shared_transport = {gather, scatter, share, close_shared};

int comm_open_shared(struct comm **out, int ranks, int64_t reals, struct err *err)
{
    size_t head = 64, sums = (size_t)ranks * COMM_MAX_SUMS * sizeof(double);
    if (ranks < 1 || ranks > COMM_MAX_RANKS)
        return err_set(err, ERR_USAGE, "the number of ranks is from 1 to %d, not %d",
                       COMM_MAX_RANKS, ranks);
    size_t bytes = head + sums + (size_t)(ranks + 1) * (size_t)reals * sizeof(float);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return err_set(err, ERR_ENV, "no memory for %d ranks to share (%zu MiB): %s", ranks,
                       bytes >> 20, strerror(errno));
    struct shared *s = xcalloc(1, sizeof *s);
    *s = (struct shared){.base = {.t = &shared_transport, .ranks = ranks},
                         .board = p,
                         .sums = (double *)((char *)p + head),
                         .array = (float *)((char *)p + head + sums),
                         .reals = reals,
                         .bytes = bytes};
    s->result = s->array + ranks * reals;
    *out = &s->base;
    return 0;
}

void comm_set_rank(struct comm *c, int rank)
{
    c->rank = rank;
}
