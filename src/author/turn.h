/*
 * turn.h - a request may be sent when the budget pays for it and the provider's limits allow it.
 *
 *     struct turn t = TURN_INIT;
 *     enum turn_answer a = turn_take(&t, &rules, prompt, &most, &why);    again until TURN_GO
 *     ... send; when the headers have come: turn_answered(&t, &rules, transfer);
 *     turn_end(&t, &rules, &used);                                        in any state
 */
#ifndef AUTHOR_TURN_H
#define AUTHOR_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "author/budget.h"
#include "author/limits/limiter.h"
#include "author/limits/pool.h"
#include "base/strbuf.h"
#include "sys/http.h"

struct turn_rules {
    struct limiter *limiter;
    struct budget_pool *pool; /* NULL = no budget */
    struct price price;
    uint64_t longest_wait_ns; /* a longer wait for the provider is a failure */
};

struct turn {
    int pool_ticket, limit_ticket; /* -1 = none */
    bool answered;                 /* turn_answered() was called for this request */
};
#define TURN_INIT     \
    {                 \
        -1, -1, false \
    }

struct turn_used {
    uint64_t in, cached, cache_write, out;
};

enum turn_answer {
    TURN_GO,
    TURN_WAIT,     /* ask again later; `why` says what the request waits for */
    TURN_OVER,     /* the budget is used up; `why` says so */
    TURN_TOO_LONG, /* the provider allows no request for more than longest_wait_ns */
};

/* Asks whether a request may be sent now. `prompt` is an upper bound on the tokens of the prompt,
 * and *most is the cap on the tokens of the reply. Lowers *most if the budget pays only for a
 * shorter reply. */
enum turn_answer turn_take(struct turn *t, const struct turn_rules *r, uint64_t prompt,
                           uint32_t *most, struct strbuf *why);
/* Call it when the headers have come. Only the first call for a request counts. */
void turn_answered(struct turn *t, const struct turn_rules *r, const struct http_transfer *http);
/* Ends the turn. `used` is NULL if no answer came: then the budget is charged nothing. */
void turn_end(struct turn *t, const struct turn_rules *r, const struct turn_used *used);

/* Returns the pause that an answer asks for, in seconds; -1 = none. */
double turn_retry_after(const struct http_transfer *http);
/* Returns an upper bound on the tokens of a prompt. `estimate` is from estimate_tokens()
 * (base/tokens.h); `bytes` is the length of the prompt. */
uint64_t turn_token_bound(uint64_t estimate, uint64_t bytes);

#endif
