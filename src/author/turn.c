/* turn.c - asks the budget and the provider's limits whether a request may be sent (turn.h). */
#include "author/turn.h"

#include "base/util.h"

/* Tokens that a provider adds to every prompt: roles, separators, its own instructions. */
#define EXTRA_TOKENS 200

uint64_t turn_token_bound(uint64_t estimate, uint64_t bytes)
{
    /* The estimate is within about 15% of common tokenizers, so adding half of it is enough. No
     * text has more tokens than bytes. */
    return MIN(estimate + estimate / 2, bytes) + EXTRA_TOKENS;
}

static bool get_header(const void *ctx, const char *name, char *out, size_t size)
{
    return http_header(ctx, name, out, size);
}

double turn_retry_after(const struct http_transfer *http)
{
    return limit_retry_after(get_header, http);
}

static enum turn_answer reserve(struct turn *t, const struct turn_rules *r, uint64_t prompt,
                                uint32_t *most, struct strbuf *why)
{
    const struct price *p = &r->price;
    struct pool_wish wish = {.prompt = prompt,
                             .out = *most,
                             .prompt_usd = MAX(p->in, p->cache_write) / 1e6,
                             .out_usd = p->out / 1e6};
    switch (budget_pool_reserve(r->pool, &wish, &t->pool_ticket, why)) {
    case POOL_YES:
        *most = (uint32_t)wish.out;
        return TURN_GO;
    case POOL_WAIT:
        strbuf_adds(why, "the budget: other calls under way have reserved what is left");
        return TURN_WAIT;
    default:
        return TURN_OVER;
    }
}

static void queue(struct turn *t, const struct turn_rules *r, uint64_t prompt, uint32_t most)
{
    double need[LIMIT_KINDS] = {[LIMIT_REQUESTS] = 1,
                                [LIMIT_TOKENS] = (double)prompt + most,
                                [LIMIT_INPUT] = (double)prompt,
                                [LIMIT_OUTPUT] = limiter_expected_output(r->limiter, most)};
    t->limit_ticket = limiter_queue(r->limiter, need);
}

enum turn_answer turn_take(struct turn *t, const struct turn_rules *r, uint64_t prompt,
                           uint32_t *most, struct strbuf *why)
{
    /* completes the sentence "the call waits for ..." */
    struct limiter_wait wait = {0, "its turn: too many other calls wait"};
    enum turn_answer a;
    if (r->pool && t->pool_ticket < 0 && (a = reserve(t, r, prompt, most, why)) != TURN_GO)
        return a;
    if (t->limit_ticket < 0)
        queue(t, r, prompt, *most);
    if (t->limit_ticket >= 0 && limiter_is_granted(r->limiter, t->limit_ticket, &wait))
        return TURN_GO;
    strbuf_adds(why, wait.text);
    return wait.until_ns > now_ns() + r->longest_wait_ns ? TURN_TOO_LONG : TURN_WAIT;
}

void turn_answered(struct turn *t, const struct turn_rules *r, const struct http_transfer *http)
{
    struct limit_told told[LIMIT_KINDS];
    if (t->answered || t->limit_ticket < 0)
        return;
    limit_headers_read(told, get_header, http);
    limiter_answered(r->limiter, t->limit_ticket, http_status(http) == 200, told);
    t->answered = true;
}

void turn_end(struct turn *t, const struct turn_rules *r, const struct turn_used *used)
{
    const struct turn_used none = {0}, *u = used ? used : &none;
    /* A limit on input does not count the tokens that the provider reads from its cache. */
    double amounts[LIMIT_KINDS] = {[LIMIT_REQUESTS] = 1,
                                   [LIMIT_TOKENS] = (double)(u->in + u->out),
                                   [LIMIT_INPUT] = (double)(u->in - MIN(u->cached, u->in)),
                                   [LIMIT_OUTPUT] = (double)u->out};
    struct pool_sum sum = {.tokens = u->in + u->out,
                           .usd = price_of(&r->price, u->in, u->cached, u->cache_write, u->out)};
    if (t->pool_ticket >= 0)
        budget_pool_settle(r->pool, t->pool_ticket, &sum);
    if (t->limit_ticket >= 0)
        limiter_end(r->limiter, t->limit_ticket, used ? amounts : NULL);
    *t = (struct turn)TURN_INIT;
}
