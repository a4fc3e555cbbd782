/* optimize.c - starts child processes `hone optimize` and reads what they print. */
#include "mcp/optimize.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/util.h"
#include "sys/json.h"
#include "sys/term.h"

/* How long a server that ends waits for its runs. */
#define END_NS (6 * SEC)

/* Gives back the part of a run's grant that it did not spend, as its summary says. Without a
 * summary, or with an unknown price, the whole grant counts as spent. */
static void settle_money(struct desk *d, struct optimization *o)
{
    json_t *j = json_read_text(o->child.out.buf, o->child.out.len, "summary", NULL, NULL);
    double spent = o->granted_usd;
    if (j && !json_is_true(json_object_get(j, "usd_unknown")))
        spent = json_number_value(json_object_get(j, "usd"));
    d->granted_usd -= MAX(o->granted_usd - spent, 0);
    o->granted_usd = 0;
    json_decref(j);
}

static void on_end(struct child_process *c, void *ctx)
{
    (void)c;
    struct optimization *o = ctx;
    o->ended = true;
}

struct optimization *optimization_start(struct call *c, enum host_author author, double usd,
                                        struct err *err)
{
    struct desk *d = c->desk;
    struct optimization *o = xcalloc(1, sizeof *o);
    for (size_t i = 0; i < c->argv.n; i++)
        *vec_push(&o->argv) = arena_strdup(&o->mem, c->argv.items[i]);
    *vec_push(&o->argv) = NULL;
    host_prepare(&d->host, author, &o->child);
    o->child.argv = o->argv.items;
    o->child.on_end = on_end;
    o->child.ctx = o;
    if (child_start(&o->child, d->host.loop, err) < 0) {
        child_release(&o->child);
        vec_release(&o->argv);
        arena_release(&o->mem);
        free(o);
        return NULL;
    }
    o->granted_usd = usd;
    d->granted_usd += usd;
    o->next = d->runs;
    d->runs = o;
    return o;
}

struct optimization *optimization_find(const struct desk *d, const char *name)
{
    for (struct optimization *o = d->runs; o; o = o->next)
        if (o->name && str_eq(o->name, name))
            return o;
    return NULL;
}

unsigned optimizations_running(const struct desk *d)
{
    unsigned n = 0;
    for (const struct optimization *o = d->runs; o; o = o->next)
        n += !o->ended;
    return n;
}

void optimization_stop(struct optimization *o)
{
    if (!o->ended && !o->stopping)
        child_terminate(&o->child);
    o->stopping = true;
}

/* Keeps the line in o->last. A run's first line is "NAME: STRATEGY on TASK, written by ...", and
 * gives the run its name. */
static void read_line(struct optimization *o, const char *line, size_t n)
{
    const char *colon = memchr(line, ':', n);
    if (!o->name && colon && memmem(line, n, " on ", 4) && memmem(line, n, ", written by ", 13) &&
        !str_starts(line, "hone: "))
        o->name = xstrndup(line, (size_t)(colon - line));
    snprintf(o->last, sizeof o->last, "%.*s", (int)MIN(n, sizeof o->last - 1), line);
    utf8_trim(o->last);
    term_clean(o->last, 300);
    o->lines++;
}

/* Gives back unspent money, and frees the memory that a run does not need after its end. A run
 * without a name keeps its output for optimization_error(). */
static void settle(struct desk *d, struct optimization *o)
{
    if (o->granted_usd > 0)
        settle_money(d, o);
    if (o->name)
        child_release(&o->child);
    o->settled = true;
}

void optimizations_read(struct desk *d)
{
    for (struct optimization *o = d->runs; o; o = o->next) {
        const char *end;
        if (o->settled)
            continue;
        while ((end = memchr(o->child.err.buf + o->read, '\n', o->child.err.len - o->read))) {
            const char *line = o->child.err.buf + o->read;
            read_line(o, line, (size_t)(end - line));
            o->read = (size_t)(end + 1 - o->child.err.buf);
        }
        if (o->ended)
            settle(d, o);
    }
}

int optimization_error(const struct optimization *o, struct err *err)
{
    const char *text = o->child.err.buf;
    size_t n = o->child.err.len;
    text += n > 1500 ? n - 1500 : 0;
    while (str_starts(text, "hone: "))
        text += 6;
    err_set(err, ERR_INPUT, "the run did not begin: %s",
            *text ? text : "it ended and printed nothing");
    utf8_clean(err->msg, strlen(err->msg));
    return -1;
}

static void release(struct optimization *o)
{
    child_release(&o->child);
    vec_release(&o->argv);
    arena_release(&o->mem);
    free(o->name);
    free(o);
}

void optimizations_end(struct desk *d)
{
    uint64_t until = now_ns() + END_NS, now;
    for (struct optimization *o = d->runs; o; o = o->next)
        optimization_stop(o);
    while (optimizations_running(d) && (now = now_ns()) < until)
        if (loop_step(d->host.loop, MIN(until - now, 100 * MS), NULL) < 0)
            break;
    while (d->runs) {
        struct optimization *o = d->runs;
        d->runs = o->next;
        release(o);
    }
}
