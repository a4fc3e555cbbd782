/* author.c - the table of authors, and what all author calls have in common (author.h). */
#include "author/author.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "author/limits/pool.h"
#include "base/log.h"
#include "base/options.h"
#include "base/utf8.h"
#include "base/util.h"

/* Ends with NULL. */
static const struct author_ops *const author_table[] = {
    &author_openai, &author_anthropic, &author_exec,  &author_mailbox,
    &author_replay, &author_playbook,  &author_noisy, NULL,
};

const struct author_ops *author_nth(size_t i)
{
    return i < ARRAY_LEN(author_table) ? author_table[i] : NULL;
}

bool author_is_known(const char *spec)
{
    size_t n = strcspn(spec, ":");
    for (size_t i = 0; author_table[i]; i++)
        if (strlen(author_table[i]->scheme) == n && memcmp(author_table[i]->scheme, spec, n) == 0)
            return true;
    return false;
}

static void set_defaults(struct author_config *c)
{
#define DEFAULT(field, value) c->field = c->field ? c->field : (value)
    DEFAULT(total_ns, 900000000000ull);
    DEFAULT(stall_ns, 120000000000ull);
    DEFAULT(wait_ns, 7ull * 24 * 3600 * 1000000000);
    DEFAULT(backoff_ns, 1000000000ull);
    DEFAULT(backoff_max_ns, 60000000000ull);
    DEFAULT(retry_after_max_ns, 600000000000ull);
    DEFAULT(retries, 6);
    DEFAULT(continues, 6);
    DEFAULT(max_tokens, 32000);
    DEFAULT(jitter_seed, now_ns() | 1);
    DEFAULT(minute_ns, 60000000000ull);
#undef DEFAULT
}

static int unknown_author(const char *spec, struct err *err)
{
    struct strbuf list = STRBUF_INIT(1024);
    const char *names[ARRAY_LEN(author_table)];
    size_t n = 0;
    for (; author_table[n]; n++) {
        names[n] = author_table[n]->scheme;
        strbuf_addf(&list, "%s%s", n ? ", " : "", author_table[n]->usage);
    }
    char *scheme = xstrndup(spec, MIN(strcspn(spec, ":"), 100));
    const char *near = suggest_word(scheme, names, n), *rest = spec + strcspn(spec, ":");
    if (near)
        err_set(err, ERR_USAGE, "there is no author '%s'; did you mean '%s%s'? The authors are: %s",
                spec, near, rest, list.buf);
    else
        err_set(err, ERR_USAGE, "there is no author '%s'; the authors are: %s", spec, list.buf);
    free(scheme);
    strbuf_release(&list);
    return -1;
}

int author_open(struct author **out, const char *spec, const struct author_config *cfg,
                struct err *err)
{
    size_t n = strcspn(spec, ":");
    const char *arg = spec[n] ? spec + n + 1 : "";
    for (size_t i = 0; author_table[i]; i++) {
        const struct author_ops *ops = author_table[i];
        if (strlen(ops->scheme) != n || memcmp(ops->scheme, spec, n) != 0)
            continue;
        struct author *a = xcalloc(1, sizeof *a);
        a->ops = ops;
        a->spec = xstrdup(spec);
        a->model = xstrdup(arg);
        if (cfg)
            a->cfg = *cfg;
        set_defaults(&a->cfg);
        if (ops->open(a, arg, err) < 0) {
            free(a->spec);
            free(a->model);
            free(a);
            return err_prefix(err, "author '%s'", spec);
        }
        *out = a;
        return 0;
    }
    return unknown_author(spec, err);
}

void author_close(struct author *a)
{
    if (!a)
        return;
    a->ops->close(a);
    free(a->spec);
    free(a->model);
    free(a);
}

const char *author_spec(const struct author *a)
{
    return a->spec;
}

bool author_is_built_in(const struct author *a)
{
    return a->ops->built_in;
}

const char *author_scheme(const struct author *a)
{
    return a->ops->scheme;
}

const char *author_model(const struct author *a)
{
    return a->model;
}

void author_set_budget(struct author *a, struct budget_pool *pool, const struct price *price)
{
    a->pool = pool;
    a->price = *price;
}

int author_start(struct author *a, const struct author_request *rq, struct author_call **out,
                 struct err *err)
{
    struct author_call *c = xcalloc(1, sizeof *c);
    c->author = a;
    c->run = xstrdup(rq->run ? rq->run : "");
    c->role = xstrdup(rq->role);
    c->stable = xstrdup(rq->stable ? rq->stable : "");
    c->turn = xstrdup(rq->turn ? rq->turn : "");
    c->resume = rq->handle && *rq->handle ? xstrdup(rq->handle) : NULL;
    c->index = rq->index;
    c->temperature = rq->temperature;
    c->max_tokens = rq->max_tokens ? rq->max_tokens : a->cfg.max_tokens;
    c->facts = rq->facts ? json_deep_copy(rq->facts) : NULL;
    c->started_ns = now_ns();
    strbuf_init(&c->reply.text, AUTHOR_MAX_REPLY);
    strbuf_init(&c->reply.notes, 16 << 10);
    snprintf(c->reply.model, sizeof c->reply.model, "%s", a->model);
    if (a->ops->start(c, err) < 0) {
        author_call_free(c);
        return err_prefix(err, "author '%s'", a->spec);
    }
    *out = c;
    return 0;
}

const char *author_call_handle(const struct author_call *c)
{
    return c->handle;
}

const char *author_call_waits_for(const struct author_call *c)
{
    return c->waits_for;
}

bool author_poll(struct author_call *c)
{
    if (!c->done)
        c->author->ops->step(c);
    return c->done;
}

void author_wait(struct author *a, uint64_t timeout_ns)
{
    a->ops->wait(a, timeout_ns);
}

const struct author_reply *author_reply(const struct author_call *c)
{
    return &c->reply;
}

void author_call_free(struct author_call *c)
{
    if (!c)
        return;
    if (c->priv)
        c->author->ops->end(c);
    strbuf_release(&c->reply.text);
    strbuf_release(&c->reply.notes);
    json_decref(c->facts);
    free(c->run);
    free(c->role);
    free(c->stable);
    free(c->turn);
    free(c->resume);
    free(c);
}

static void finish(struct author_call *c)
{
    struct author_reply *r = &c->reply;
    const struct author *a = c->author;
    r->latency_ns = now_ns() - c->started_ns;
    c->done = true;
    if (a->pool && !a->ops->reserves)
        budget_pool_charge(
            a->pool, &(struct pool_sum){.tokens = r->in_tokens + r->out_tokens,
                                        .usd = price_of(&a->price, r->in_tokens, r->cached_tokens,
                                                        r->cache_write_tokens, r->out_tokens)});
    log_info("author", "%s %s %llu: %s, %llu in, %llu out, %.1f s", c->author->spec, c->role,
             (unsigned long long)c->index, r->ok ? r->finish : r->err.msg,
             (unsigned long long)r->in_tokens, (unsigned long long)r->out_tokens,
             (double)r->latency_ns / 1e9);
}

/* Turns a text from outside into one plain line for an error or a note. Terminals and reports show
 * such lines, and the store keeps them. */
static void plain_line(char *s)
{
    utf8_trim(s); /* a size limit may have cut a character in two */
    utf8_clean(s, strlen(s));
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = ' ';
}

void author_succeed(struct author_call *c, const char *how)
{
    size_t bad = utf8_clean(c->reply.text.buf, c->reply.text.len);
    if (bad)
        author_note(c, "%zu bytes of the reply were not UTF-8 and became '?'", bad);
    c->reply.ok = true;
    snprintf(c->reply.finish, sizeof c->reply.finish, "%s", how);
    finish(c);
}

void author_fail(struct author_call *c, enum err_kind kind, const char *fmt, ...)
{
    struct err *e = &c->reply.err;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    plain_line(e->msg);
    e->kind = kind;
    c->reply.ok = false;
    snprintf(c->reply.finish, sizeof c->reply.finish, "failed");
    finish(c);
}

void author_note(struct author_call *c, const char *fmt, ...)
{
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    plain_line(line);
    strbuf_addf(&c->reply.notes, "%s\n", line);
    log_info("author", "%s %s %llu: %s", c->author->spec, c->role, (unsigned long long)c->index,
             line);
}
