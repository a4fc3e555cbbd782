/*
 * pool.h - a budget that concurrent calls, of one process or of many, never overdraw.
 *
 *     struct budget_pool *p;
 *     budget_pool_open(&p, path, &(struct pool_sum){.tokens = 500000}, &spent, err);
 *     int t;
 *     switch (budget_pool_reserve(p, &wish, &t, &why)) {
 *     case POOL_YES:  send; then budget_pool_settle(p, t, &used);      wish.out may be less now
 *     case POOL_WAIT: other calls hold what is left and may give some back: ask again later
 *     case POOL_OVER: the budget is used up, `why` says so
 *     }
 *
 * Before a call is sent, it reserves the cost of its prompt and its longest reply. When it ends, it
 * pays for what it used. So spent and reserved amounts together never exceed the limit. If too
 * little is left for the longest reply, and no call can give anything back, the reply is limited to
 * what is left. A dead process loses its reservations.
 *
 * The processes of a campaign share a pool in a file (sys/shared_state.h).
 */
#ifndef AUTHOR_LIMITS_POOL_H
#define AUTHOR_LIMITS_POOL_H

#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

/* The pool never limits a reply to fewer tokens than this, because a kernel would not fit. */
#define POOL_LEAST_REPLY 2048

struct budget_pool;

struct pool_sum {
    uint64_t tokens;
    double usd;
};

struct pool_wish {
    uint64_t prompt; /* most tokens of the prompt */
    uint64_t out;    /* tokens of the longest reply; budget_pool_reserve() may lower it */
    double prompt_usd, out_usd; /* price of one token */
};

enum pool_answer { POOL_YES, POOL_WAIT, POOL_OVER };

/* Makes a pool, or sets the limit and the spent amount of an existing one. A limit of 0 means no
 * limit. If `path` is NULL, the pool is for this process alone. budget_pool_join() opens a pool
 * that another process has made, with its limit. */
int budget_pool_open(struct budget_pool **out, const char *path, const struct pool_sum *limit,
                     const struct pool_sum *spent, struct err *err);
int budget_pool_join(struct budget_pool **out, const char *path, struct err *err);
void budget_pool_close(struct budget_pool *p);

enum pool_answer budget_pool_reserve(struct budget_pool *p, struct pool_wish *wish, int *ticket,
                                     struct strbuf *why);
void budget_pool_settle(struct budget_pool *p, int ticket, const struct pool_sum *used);
/* Counts what was spent without a reservation. */
void budget_pool_charge(struct budget_pool *p, const struct pool_sum *used);

void budget_pool_read(struct budget_pool *p, struct pool_sum *spent, struct pool_sum *reserved);

#endif
