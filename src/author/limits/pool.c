/* pool.c - keeps a budget in memory or in a shared file (pool.h). */
#include "author/limits/pool.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/util.h"
#include "sys/shared_state.h"

#define MAGIC 0x686f6e65706f6f31 /* "honepoo1" */

enum { TICKETS = 1024 }; /* the most reservations at one time */

/* The reservation of one call. `member` numbers the process that made it (sys/shared_state.h). */
struct ticket {
    uint32_t used, member;
    struct pool_sum held;
};

struct state {
    struct pool_sum limit, spent;
    struct ticket tickets[TICKETS];
};

struct budget_pool {
    struct shared_state *shared;
};

static struct pool_sum reserved(const struct state *s)
{
    struct pool_sum sum = {0};
    for (size_t i = 0; i < TICKETS; i++)
        if (s->tickets[i].used) {
            sum.tokens += s->tickets[i].held.tokens;
            sum.usd += s->tickets[i].held.usd;
        }
    return sum;
}

static void forget_member(struct state *s, unsigned member)
{
    for (size_t i = 0; i < TICKETS; i++)
        if (s->tickets[i].used && s->tickets[i].member == member)
            s->tickets[i].used = 0;
}

static void forget_dead(const struct budget_pool *p, struct state *s)
{
    bool seen[SHARED_STATE_MEMBERS] = {false};
    for (size_t i = 0; i < TICKETS; i++) {
        const struct ticket *t = &s->tickets[i];
        if (!t->used || seen[t->member % SHARED_STATE_MEMBERS])
            continue;
        seen[t->member % SHARED_STATE_MEMBERS] = true;
        if (!shared_state_is_alive(p->shared, t->member))
            forget_member(s, t->member);
    }
}

static int open_state(struct budget_pool **out, const char *path, struct err *err)
{
    struct budget_pool *p = xcalloc(1, sizeof *p);
    if (shared_state_open(&p->shared, path, MAGIC, sizeof(struct state), err) < 0) {
        free(p);
        return -1;
    }
    struct state *s = shared_state_begin(p->shared);
    forget_member(s, shared_state_member(p->shared));
    shared_state_end(p->shared, true);
    *out = p;
    return 0;
}

int budget_pool_open(struct budget_pool **out, const char *path, const struct pool_sum *limit,
                     const struct pool_sum *spent, struct err *err)
{
    if (open_state(out, path, err) < 0)
        return -1;
    struct state *s = shared_state_begin((*out)->shared);
    s->limit = *limit;
    s->spent = *spent;
    shared_state_end((*out)->shared, true);
    return 0;
}

int budget_pool_join(struct budget_pool **out, const char *path, struct err *err)
{
    return open_state(out, path, err);
}

void budget_pool_close(struct budget_pool *p)
{
    if (!p)
        return;
    struct state *s = shared_state_begin(p->shared);
    forget_member(s, shared_state_member(p->shared));
    shared_state_end(p->shared, true);
    shared_state_close(p->shared);
    free(p);
}

/* Returns how many tokens the reply may have if the sum `taken` and the prompt are paid: at most
 * w->out. Returns -1 if the limits do not even leave enough for the prompt. */
static double affordable(const struct state *s, const struct pool_wish *w, struct pool_sum taken)
{
    double out = (double)w->out;
    if (s->limit.tokens)
        out = MIN(out, (double)s->limit.tokens - (double)taken.tokens - (double)w->prompt);
    double left = s->limit.usd - taken.usd - (double)w->prompt * w->prompt_usd;
    if (s->limit.usd > 0 && left < 0)
        out = -1;
    else if (s->limit.usd > 0 && w->out_usd > 0)
        out = MIN(out, left / w->out_usd);
    return MAX(out, -1);
}

static void say_over(const struct state *s, const struct pool_wish *w, struct strbuf *why)
{
    if (s->limit.tokens)
        strbuf_addf(why, "the budget of %llu tokens is used up: %llu tokens are spent",
                    (unsigned long long)s->limit.tokens, (unsigned long long)s->spent.tokens);
    if (s->limit.usd > 0)
        strbuf_addf(why, "%sthe budget of $%.2f is used up: $%.2f is spent", why->len ? "; " : "",
                    s->limit.usd, s->spent.usd);
    strbuf_addf(
        why,
        ", and the rest is too small for the next call (about %llu tokens of prompt, and a reply)",
        (unsigned long long)w->prompt);
}

static int free_ticket(const struct state *s)
{
    for (int i = 0; i < TICKETS; i++)
        if (!s->tickets[i].used)
            return i;
    return -1;
}

/* Decides whether a call may begin. POOL_OVER: too little would be left even if all other calls
 * gave their reservations back. POOL_WAIT: other calls hold what this call needs. POOL_YES: it may
 * begin now, perhaps with a shorter reply. */
static enum pool_answer decide(const struct budget_pool *p, struct state *s, struct pool_wish *w,
                               int *ticket, struct strbuf *why)
{
    struct pool_sum held = reserved(s), taken = s->spent;
    double least = (double)MIN(w->out, POOL_LEAST_REPLY);
    bool others = held.tokens || held.usd > 0;
    taken.tokens += held.tokens;
    taken.usd += held.usd;
    double now = affordable(s, w, taken), later = affordable(s, w, s->spent);
    int at = free_ticket(s);
    if (later < least) {
        say_over(s, w, why);
        return POOL_OVER;
    }
    if (at < 0 || (others && now < (double)w->out) || now < least)
        return POOL_WAIT;
    w->out = (uint64_t)now;
    double usd = (double)w->prompt * w->prompt_usd + (double)w->out * w->out_usd;
    s->tickets[at] = (struct ticket){.used = 1,
                                     .member = shared_state_member(p->shared),
                                     .held = {.tokens = w->prompt + w->out, .usd = usd}};
    *ticket = at;
    return POOL_YES;
}

enum pool_answer budget_pool_reserve(struct budget_pool *p, struct pool_wish *wish, int *ticket,
                                     struct strbuf *why)
{
    struct state *s = shared_state_begin(p->shared);
    forget_dead(p, s);
    enum pool_answer a = decide(p, s, wish, ticket, why);
    shared_state_end(p->shared, true);
    return a;
}

static void add(struct pool_sum *to, const struct pool_sum *more)
{
    to->tokens += more->tokens;
    to->usd += more->usd;
}

void budget_pool_settle(struct budget_pool *p, int ticket, const struct pool_sum *used)
{
    struct state *s = shared_state_begin(p->shared);
    add(&s->spent, used);
    s->tickets[ticket].used = 0;
    shared_state_end(p->shared, true);
}

void budget_pool_charge(struct budget_pool *p, const struct pool_sum *used)
{
    struct state *s = shared_state_begin(p->shared);
    add(&s->spent, used);
    shared_state_end(p->shared, true);
}

void budget_pool_read(struct budget_pool *p, struct pool_sum *spent, struct pool_sum *held)
{
    struct state *s = shared_state_begin(p->shared);
    forget_dead(p, s);
    *spent = s->spent;
    *held = reserved(s);
    shared_state_end(p->shared, true);
}
