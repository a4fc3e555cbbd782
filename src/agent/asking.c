/* asking.c - asks authors, and records their calls in the store. */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/run.h"
#include "base/util.h"
#include "sys/interrupt.h"

void ask_release(struct ask *q)
{
    prompt_release(&q->prompt);
    json_decref(q->facts);
    free(q->reply);
    free(q->by);
    q->facts = NULL;
    q->reply = q->by = NULL;
}

static uint64_t next_index(struct agent *a, const char *role)
{
    for (size_t i = 0; i < a->roles.n; i++)
        if (str_eq(a->roles.items[i].role, role))
            return a->roles.items[i].next++;
    size_t i = a->roles.n;
    vec_push(&a->roles);
    snprintf(a->roles.items[i].role, sizeof a->roles.items[i].role, "%s", role);
    a->roles.items[i].next = 1;
    return 0;
}

static void count_spent(struct agent *a, uint64_t in, uint64_t cached, uint64_t out, bool estimated,
                        double usd)
{
    a->spent.calls++;
    a->spent.in_tokens += in;
    a->spent.cached_tokens += cached;
    a->spent.out_tokens += out;
    a->spent.estimated |= estimated;
    if (usd < 0)
        a->spent.usd_unknown = true;
    else
        a->spent.usd += usd;
}

/* The cost of earlier attempts at a call. Such an attempt failed and ended the run; then the user
 * resumed the run. */
struct prior {
    uint64_t in_tokens, cached_tokens, cache_write_tokens, out_tokens;
    uint32_t requests;
    double usd; /* <0 = unknown */
    bool estimated;
};

/* Looks for the reply in the store. Returns 1 if it is there, 0 if the author must be asked, -1 on
 * an error. Sets *begun to whether the store has a record of the call, even one without a reply,
 * and *prior to the cost in this record. */
static int ask_recorded(struct agent *a, struct ask *q, bool *begun, struct prior *prior,
                        struct err *err)
{
    struct arena mem = ARENA_INIT;
    struct call_rec c;
    int rc = store_call_get(a->in.store, a->in.run, q->role, q->index, &c, &mem, err);
    *begun = rc == 1;
    *prior = (struct prior){0};
    if (rc == 1 && c.ended) {
        struct strbuf sb = STRBUF_INIT(AUTHOR_MAX_REPLY);
        if (*c.reply_sha && store_blob_get(a->in.store, c.reply_sha, &sb, err) < 0)
            rc = -1;
        q->ok = c.ok;
        q->reply = strbuf_detach(&sb, NULL);
        q->by = xstrdup(c.author);
        snprintf(q->error, sizeof q->error, "%s", c.error);
        count_spent(a, c.in_tokens, c.cached_tokens, c.out_tokens, c.estimated, c.usd);
        a->recorded++;
    } else if (rc == 1) {
        *prior =
            (struct prior){.in_tokens = c.in_tokens,
                           .cached_tokens = c.cached_tokens,
                           .cache_write_tokens = c.cache_write_tokens,
                           .out_tokens = c.out_tokens,
                           .requests = c.requests,
                           .usd = *c.finish ? c.usd : 0, /* without an answer there was no cost */
                           .estimated = c.estimated};
        rc = 0;
    }
    arena_release(&mem);
    return rc;
}

struct author *agent_author(const struct agent *a, enum author_role r)
{
    return a->in.authors[r] ? a->in.authors[r] : a->in.authors[AUTHOR_CODE];
}

/* Returns the author's name for the run's records. The name comes from the configuration, where
 * paths are absolute, so it stays the same after `hone resume`. */
static const char *author_name(struct agent *a, enum author_role r)
{
    const char *own = a->cfg->authors[r], *code = a->cfg->authors[AUTHOR_CODE];
    return own ? own : code ? code : author_spec(agent_author(a, r));
}

static int begin_call(struct agent *a, struct ask *q, bool begun, struct author_call **out,
                      struct err *err)
{
    struct author *au = agent_author(a, q->author);
    char sha[65], stable[STORE_SHA], turn[STORE_SHA];
    struct strbuf *s = &q->prompt.stable, *t = &q->prompt.turn;
    replay_prompt_sha(s->buf, t->buf, sha);
    if (!begun) {
        struct call_rec c = {.role = q->role,
                             .index = q->index,
                             .author = author_name(a, q->author),
                             .prompt_sha = sha,
                             .stable_sha = stable,
                             .turn_sha = turn};
        if (store_blob_put(a->in.store, s->buf, s->len, stable, err) < 0 ||
            store_blob_put(a->in.store, t->buf, t->len, turn, err) < 0 ||
            store_call_begin(a->in.store, a->in.run, &c, err) < 0)
            return -1;
    }
    struct author_request rq = {.run = a->in.run_name,
                                .role = q->role,
                                .index = q->index,
                                .stable = s->buf,
                                .turn = t->buf,
                                .temperature = q->temperature,
                                .facts = q->facts,
                                .handle = begun ? "?" : NULL};
    if (a->in.watch.asking)
        a->in.watch.asking(a->in.watch.ctx, a, q->role);
    if (author_start(au, &rq, out, err) < 0)
        return -1;
    /* A built-in author replies at once, so the judge would have no time to prepare. */
    if (q->parent && !author_is_built_in(au) && a->in.judge->ops->prepare)
        a->in.judge->ops->prepare(a->in.judge, a->task, q->parent);
    const char *handle = author_call_handle(*out);
    if (*handle)
        return store_call_handle(a->in.store, a->in.run, q->role, q->index, handle, err);
    return 0;
}

/* Returns true if the call failed only because its reply is unusable. The store keeps such a reply
 * like a good one, and the run goes on. Any other failure (no connection, a bad key) ends the run,
 * so that the user can mend the cause and resume the run. */
static bool is_unusable(const struct author_reply *r)
{
    return !r->ok && r->err.kind == ERR_LIMIT && !r->over_budget;
}

static int end_call(struct agent *a, struct ask *q, const struct author_reply *r,
                    const struct prior *prior, struct err *err)
{
    if (!r->ok && str_eq(r->err.msg, REPLAY_END))
        return agent_stop(a, REPLAY_END);
    struct author *au = agent_author(a, q->author);
    struct price price;
    char sha[STORE_SHA] = "";
    double usd = -1;
    if (prior->usd >= 0 && a->in.prices &&
        prices_find(a->in.prices, author_scheme(au), author_model(au), &price))
        usd = prior->usd + price_of(&price, r->in_tokens, r->cached_tokens, r->cache_write_tokens,
                                    r->out_tokens);
    if (r->text.len && store_blob_put(a->in.store, r->text.buf, r->text.len, sha, err) < 0)
        return -1;
    struct call_rec c = {.role = q->role,
                         .index = q->index,
                         .ended = r->ok || is_unusable(r),
                         .ok = r->ok,
                         .author = author_name(a, q->author),
                         .model = r->model,
                         .reply_sha = sha,
                         .in_tokens = r->in_tokens + prior->in_tokens,
                         .cached_tokens = r->cached_tokens + prior->cached_tokens,
                         .cache_write_tokens = r->cache_write_tokens + prior->cache_write_tokens,
                         .out_tokens = r->out_tokens + prior->out_tokens,
                         .estimated = r->estimated || prior->estimated,
                         .drift = r->drift,
                         .usd = usd,
                         .latency_ns = r->latency_ns,
                         .requests = r->requests + prior->requests,
                         .continued = r->continued,
                         .finish = is_unusable(r) ? "unusable" : r->finish,
                         .error = r->ok ? "" : r->err.msg,
                         .notes = r->notes.buf};
    if (store_call_end(a->in.store, a->in.run, &c, err) < 0)
        return -1;
    count_spent(a, c.in_tokens, c.cached_tokens, c.out_tokens, c.estimated, usd);
    q->ok = r->ok;
    q->reply = xstrndup(r->ok ? r->text.buf : "", r->ok ? r->text.len : 0);
    q->by = xstrdup(c.author);
    snprintf(q->error, sizeof q->error, "%.399s", r->ok ? "" : r->err.msg);
    if (r->over_budget)
        return agent_stop(a, "%s", r->err.msg);
    if (!r->ok && !is_unusable(r)) {
        a->failed = true;
        return agent_stop(a, "author '%s': %s", author_spec(au), r->err.msg);
    }
    return 0;
}

static int wait_for_calls(struct agent *a, struct ask *asks, struct author_call **calls,
                          const struct prior *prior, size_t n, struct err *err)
{
    int rc = 0;
    uint64_t began = now_ns();
    for (;;) {
        struct author *waiting = NULL;
        size_t pending = 0;
        for (size_t i = 0; i < n; i++) {
            if (!calls[i])
                continue;
            if (!author_poll(calls[i])) {
                waiting = agent_author(a, asks[i].author);
                if (!pending++ && a->in.watch.waiting)
                    a->in.watch.waiting(a->in.watch.ctx, a, asks[i].role,
                                        author_call_waits_for(calls[i]), now_ns() - began);
                continue;
            }
            int e = end_call(a, &asks[i], author_reply(calls[i]), &prior[i], err);
            author_call_free(calls[i]);
            calls[i] = NULL;
            if (e < 0)
                return -1;
            rc = e ? e : rc;
        }
        if (!pending)
            return rc;
        if (interrupted())
            return agent_stop(a, "interrupted");
        if (agent_save_time(a, err) < 0)
            return -1;
        if (a->cfg->budget.wall_ns && agent_wall_ns(a) >= a->cfg->budget.wall_ns)
            return agent_may_go_on(a);
        author_wait(waiting, 100000000);
    }
}

int agent_ask(struct agent *a, struct ask *asks, size_t n, struct err *err)
{
    struct author_call **calls = xcalloc(n, sizeof(struct author_call *));
    struct prior *prior = xcalloc(n, sizeof *prior);
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        bool begun;
        asks[i].index = next_index(a, asks[i].role);
        int found = ask_recorded(a, &asks[i], &begun, &prior[i], err);
        if (found < 0)
            rc = -1;
        else if (!found && (rc = agent_may_go_on(a)) == 0)
            rc = begin_call(a, &asks[i], begun, &calls[i], err);
    }
    if (rc == 0)
        rc = wait_for_calls(a, asks, calls, prior, n, err);
    for (size_t i = 0; i < n; i++)
        author_call_free(calls[i]);
    free(calls);
    free(prior);
    return rc;
}
