/*
 * reduce.c - computes sums and means over the ranks; see transport.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "gnn/comm/transport.h"

int comm_rank(const struct comm *c)
{
    return c ? c->rank : 0;
}

int comm_ranks(const struct comm *c)
{
    return c ? c->ranks : 1;
}

int comm_local_rank(const struct comm *c)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "SLURM_LOCALID"};
    for (size_t i = 0; comm_wanted() && i < ARRAY_LEN(names); i++)
        if (comm_env_number(names[i]) >= 0)
            return (int)comm_env_number(names[i]);
    return comm_rank(c);
}

/* Sets this rank's chunk, n numbers, to the weighted mean of the ranks' parts. part[r] is the same
 * chunk of rank r's array. `all` has COMM_MAX_SUMS numbers of each rank; the first is the rank's
 * weight. `total` is the sum of the weights. */
static void average(struct comm *c, const float *const *part, const double *all, double total,
                    int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int r = 0; r < c->ranks; r++)
            if (all[r * COMM_MAX_SUMS] != 0) /* if the weight is 0, part[r] may hold anything */
                sum += all[r * COMM_MAX_SUMS] * (double)part[r][i];
        c->chunk[i] = total != 0 ? (float)(sum / total) : 0;
    }
}

static int reduce_array(struct comm *c, const double *all, double total, float *x, int64_t n,
                        struct err *err)
{
    const float *part[COMM_MAX_RANKS];
    int64_t own = chunk_at(c, n, c->rank + 1) - chunk_at(c, n, c->rank);
    if (own > c->chunk_reals) {
        c->chunk = xrealloc(c->chunk, (size_t)own * sizeof *c->chunk);
        c->chunk_reals = own;
    }
    if (c->t->scatter(c, x, n, part, err) < 0)
        return -1;
    average(c, part, all, total, own);
    return c->t->share(c, c->chunk, x, n, err);
}

int comm_reduce(struct comm *c, double *sums, int count, float *x, int64_t n, struct err *err)
{
    double mine[COMM_MAX_SUMS] = {0};
    if (count < 1 || count > COMM_MAX_SUMS)
        BUG("%d sums; there is room for 1 to %d", count, COMM_MAX_SUMS);
    if (!c)
        return 0; /* one rank's numbers are the sums and the mean already */
    memcpy(mine, sums, (size_t)count * sizeof *mine);
    double *all = xmalloc((size_t)c->ranks * COMM_MAX_SUMS * sizeof *all);
    int rc = c->t->gather(c, mine, all, err);
    for (int i = 0; rc == 0 && i < count; i++) {
        sums[i] = 0;
        for (int r = 0; r < c->ranks; r++)
            sums[i] += all[r * COMM_MAX_SUMS + i];
    }
    if (rc == 0 && n > 0)
        rc = reduce_array(c, all, sums[0], x, n, err);
    free(all);
    return rc;
}

/* Sends the bytes as sums of comm_reduce. Each sum is a double and carries four bytes, which it
 * holds exactly. Rank 0 gives its bytes and the others give zeros, so the sums are the bytes of
 * rank 0. */
int comm_broadcast(struct comm *c, void *p, size_t bytes, struct err *err)
{
    char *at = p;
    for (size_t done = 0; done < bytes; done += COMM_MAX_SUMS * sizeof(uint32_t)) {
        uint32_t word[COMM_MAX_SUMS] = {0};
        double sums[COMM_MAX_SUMS];
        size_t n = MIN(bytes - done, sizeof word);
        if (comm_rank(c) == 0)
            memcpy(word, at + done, n);
        for (int i = 0; i < COMM_MAX_SUMS; i++)
            sums[i] = word[i];
        if (comm_reduce(c, sums, COMM_MAX_SUMS, NULL, 0, err) < 0)
            return -1;
        for (int i = 0; i < COMM_MAX_SUMS; i++)
            word[i] = (uint32_t)sums[i];
        memcpy(at + done, word, n);
    }
    return 0;
}

void comm_close(struct comm *c)
{
    if (!c)
        return;
    free(c->chunk);
    c->t->close(c);
}
