/*
 * oracle_watch.c - remembers which unit last used each element, and reports accesses whose outcome
 * may depend on the order of units. oracle_watch.h says what a unit is.
 */
#include "task/oracle_watch.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "base/util.h"

enum { READ, WRITE, CHANGE }; /* as in hone_ref.h */

void oracle_watch_init(struct oracle_watch *w, const struct ref_ctx *ctx, const char *const *names,
                       void (*on_error)(void *data, const char *text), void *data)
{
    *w = (struct oracle_watch){.names = names, .on_error = on_error, .data = data};
    for (size_t i = 0; i < REF_MAX_TENSORS; i++)
        if (ctx->out_elems[i])
            w->writer[i] = xcalloc((size_t)ctx->out_elems[i], sizeof *w->writer[i]);
    w->slot_writer = xcalloc((size_t)ctx->scratch_elems + 1, sizeof *w->slot_writer);
    w->slot_reader = xcalloc((size_t)ctx->scratch_elems + 1, sizeof *w->slot_reader);
}

void oracle_watch_release(struct oracle_watch *w)
{
    for (size_t i = 0; i < REF_MAX_TENSORS; i++)
        free(w->writer[i]);
    free(w->slot_writer);
    free(w->slot_reader);
}

void oracle_watch_unit(struct oracle_watch *w, size_t phase, const char *fn, int64_t step,
                       int64_t unit)
{
    if (phase + 1 >= ARRAY_LEN(w->fns))
        BUG("phase %zu", phase);
    w->phase = (uint16_t)(phase + 1);
    w->fns[w->phase] = fn;
    w->step = (uint32_t)step;
    w->unit = unit;
}

static void report(struct oracle_watch *w, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void report(struct oracle_watch *w, int line, const char *fmt, ...)
{
    struct strbuf sb = STRBUF_INIT(1500);
    va_list ap;
    strbuf_addf(&sb, "reference.c:%d: ", line);
    va_start(ap, fmt);
    strbuf_vaddf(&sb, fmt, ap);
    va_end(ap);
    w->on_error(w->data, sb.buf);
    strbuf_release(&sb);
}

static bool is_me(const struct oracle_watch *w, const struct oracle_user *u)
{
    return u->phase == w->phase && u->unit == w->unit;
}

/* Whether `u` says that another unit used the element in the step that runs now. */
static bool is_other(const struct oracle_watch *w, const struct oracle_user *u)
{
    return u->phase == w->phase && u->step == w->step && (u->several || u->unit != w->unit);
}

static struct oracle_user me(const struct oracle_watch *w, bool several)
{
    return (struct oracle_user){
        .phase = w->phase, .several = several, .step = w->step, .unit = w->unit};
}

static void access_output(struct oracle_watch *w, int kind, int tensor, int64_t i, int line)
{
    struct oracle_user *u = &w->writer[tensor][i];
    const char *name = w->names[tensor];
    if (kind != WRITE && !is_me(w, u))
        report(w, line,
               "unit %lld of PHASE(%s) %s element %lld of '%s' before it stores the element with "
               "OUT or OUT_MAG",
               (long long)w->unit, w->fns[w->phase], kind == READ ? "reads" : "adds to",
               (long long)i, name);
    else if (kind == WRITE && u->phase && !is_me(w, u) && u->phase == w->phase)
        report(w, line,
               "units %lld and %lld of PHASE(%s) both write element %lld of '%s': the truth "
               "depends on their order",
               (long long)u->unit, (long long)w->unit, w->fns[w->phase], (long long)i, name);
    else if (kind == WRITE && u->phase && !is_me(w, u))
        report(w, line,
               "unit %lld of PHASE(%s) writes element %lld of '%s', which unit %lld of PHASE(%s) "
               "has written; only one unit may write an element",
               (long long)w->unit, w->fns[w->phase], (long long)i, name, (long long)u->unit,
               w->fns[u->phase]);
    *u = me(w, false);
}

static void read_scratch(struct oracle_watch *w, int64_t i, int line)
{
    struct oracle_user *writer = &w->slot_writer[i], *reader = &w->slot_reader[i];
    if (!writer->phase)
        report(w, line,
               "unit %lld of PHASE(%s) reads SCRATCH(%lld), which no unit has written before",
               (long long)w->unit, w->fns[w->phase], (long long)i);
    else if (is_other(w, writer))
        report(w, line,
               "unit %lld of PHASE(%s) reads SCRATCH(%lld), which unit %lld of the same phase "
               "writes: the truth depends on their order",
               (long long)w->unit, w->fns[w->phase], (long long)i, (long long)writer->unit);
    bool several = is_other(w, reader);
    *reader = me(w, several);
}

static void write_scratch(struct oracle_watch *w, int64_t i, int line)
{
    struct oracle_user *writer = &w->slot_writer[i], *reader = &w->slot_reader[i];
    if (is_other(w, writer))
        report(w, line,
               "units %lld and %lld of PHASE(%s) both write SCRATCH(%lld): the truth depends on "
               "their order",
               (long long)writer->unit, (long long)w->unit, w->fns[w->phase], (long long)i);
    else if (writer->phase == w->phase && writer->unit != w->unit)
        report(w, line,
               "units %lld and %lld of PHASE(%s) write SCRATCH(%lld) in different steps; in a "
               "repeated phase only one unit may write a slot",
               (long long)writer->unit, (long long)w->unit, w->fns[w->phase], (long long)i);
    else if (is_other(w, reader))
        report(w, line,
               "unit %lld of PHASE(%s) writes SCRATCH(%lld), which another unit of the same phase "
               "reads: the truth depends on their order",
               (long long)w->unit, w->fns[w->phase], (long long)i);
    *writer = me(w, false);
}

void oracle_watch_access(struct oracle_watch *w, int kind, int tensor, int64_t i, int line)
{
    if (tensor >= 0) {
        access_output(w, kind, tensor, i, line);
        return;
    }
    if (kind != WRITE)
        read_scratch(w, i, line);
    if (kind != READ)
        write_scratch(w, i, line);
}
