/* cuts.c - writes kernels from a task's graph, at the cuts of a point (cuts.h). */
#include "playbook/cuts.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/json.h"
#include "graph/normal/collapse.h"
#include "graph/reference/stores.h"
#include "playbook/book/texts.h"
#include "playbook/generate/generate.h"
#include "playbook/match/meaning.h"
#include "playbook/playbook.h"

/* ---- templates for the parts ----------------------------------------------------------------- */

struct templates {
    const struct playbook_shelf *shelf;
    uint32_t arch;
};

/* Writes the kernel file of the first playbook that fits the task and has `part`. Returns false if
 * there is none. */
static bool write_part(void *ctx, const json_t *task, struct strbuf *source)
{
    const struct templates *t = ctx;
    vec_each (struct playbook, pb, &t->shelf->books) {
        struct pb_binding b;
        struct strbuf no = STRBUF_INIT(200);
        struct err err = ERR_INIT;
        bool fits = pb->part && playbook_bind(pb, task, t->arch, &b, &no);
        strbuf_release(&no);
        if (!fits)
            continue;
        struct pb_point p = playbook_start(pb, &b);
        strbuf_clear(source);
        bool ok = playbook_expand(pb, &b, &p, source, &err) == 0;
        pb_binding_release(&b);
        if (ok)
            return true;
    }
    return false;
}

/* Returns the size d at the last timed shape, or -1 if the size is not known. */
static int64_t at_timed_shape(const struct graph *g, const json_t *task, const struct dim *d)
{
    const json_t *all = json_object_get(task, "workloads"), *axes = NULL;
    int64_t *sizes = xcalloc(g->dims.nnames + 1, sizeof *sizes), n = -1;
    for (size_t i = 0; i < json_array_size(all); i++)
        if (str_eq(facts_text(json_array_get(all, i), "role"), "time"))
            axes = json_object_get(json_array_get(all, i), "axes");
    for (size_t i = 0; i < g->dims.nnames; i++)
        sizes[i] = json_integer_value(json_object_get(axes, g->dims.names[i]));
    if (!axes || !dim_eval(d, sizes, &n))
        n = -1;
    free(sizes);
    return n;
}

/* Hone rejects kernels that do much less arithmetic than the task's `flops`. So graph_collapse()
 * may move sums into products and convolutions only if the task declares no flops, or at most what
 * the graph has after the move. */
static bool may_collapse(struct graph *g, const json_t *task)
{
    const char *flops = facts_text(task, "flops");
    if (!*flops)
        return true;
    const struct dim *declared = dim_parse(&g->dims, flops, NULL);
    int64_t n = declared ? at_timed_shape(g, task, declared) : -1;
    return n >= 0 && n <= at_timed_shape(g, task, graph_least_flops(g));
}

/* ---- the cuts of a point --------------------------------------------------------------------- */

static const struct pb_setting *cut_setting(const struct playbook *pb, const char *name,
                                            uint32_t *at)
{
    for (*at = 0; *at < pb->nsettings; (*at)++)
        if (str_eq(pb->settings[*at].name, name))
            return &pb->settings[*at];
    return NULL;
}

/* Returns the value of a setting at the point p, or the value with which it starts if `p` is NULL.
 * Returns `without` if the playbook has no such setting. */
static int64_t cut_value(const struct playbook *pb, const struct pb_point *p, const char *name,
                         int64_t without)
{
    uint32_t i;
    const struct pb_setting *s = cut_setting(pb, name, &i);
    return s ? s->values[p ? p->at[i] : s->start] : without;
}

static struct generate_cuts cuts_at(const struct playbook *pb, const struct pb_point *p)
{
    return (struct generate_cuts){.join = cut_value(pb, p, "join", 1),
                                  .whole = cut_value(pb, p, "whole", 1),
                                  .repeat = cut_value(pb, p, "repeat", STORES_REPEAT)};
}

/* Binds numbers that say which settings change the launches. The condition `fits` uses them: other
 * values of a setting that changes nothing would only repeat a kernel. */
static void bind_useful(const struct playbook *pb, const struct graph *g, const struct generated *x,
                        struct pb_binding *out)
{
    uint32_t i;
    bind_number(out, "uses:lanes", strstr(x->plan.buf, "@{lanes}") != NULL);
    bind_number(out, "uses:items", strstr(x->plan.buf, "@{items}") != NULL);
    bind_number(out, "uses:threads", strstr(x->plan.buf, "@{threads}") != NULL);
    const struct pb_setting *s = cut_setting(pb, "repeat", &i);
    size_t stored = s ? generate_stored(g, x->keep, s->values[s->start]) : 0;
    bind_number(out, "cuts:join", x->joins);
    bind_number(out, "cuts:whole", x->has_whole);
    bind_number(out, "cuts:less", s && generate_stored(g, x->keep, s->values[0]) != stored);
    bind_number(out, "cuts:more", s && generate_stored(g, x->keep, s->values[s->n - 1]) != stored);
}

/* ---- the launches ---------------------------------------------------------------------------- */

static bool bind_launches(const struct playbook *pb, struct graph *g,
                          const struct generate_templates *t, const struct pb_point *p,
                          struct pb_binding *out, struct strbuf *why)
{
    struct generated x = GENERATED_INIT;
    struct err err = ERR_INIT;
    const struct generate_cuts cuts = cuts_at(pb, p);
    if (may_collapse(g, t->task))
        graph_collapse(g);
    bool ok = generate(g, t, &cuts, &x, &err) == 0;
    if (ok) {
        bind_text(out, "plan", x.plan.buf);
        bind_text(out, "includes", x.includes.buf);
        bind_text(out, "templates", x.templates.buf);
        bind_text(out, "overloads", x.overloads.buf);
        bind_text(out, "kernels", x.kernels.buf);
        out->elem = 4;
        if (!p)
            bind_useful(pb, g, &x, out);
    } else {
        strbuf_addf(why, "no kernel can be written from the task's graph: %s", err.msg);
    }
    generated_release(&x);
    return ok;
}

/* Binds the texts for the task's own graph, or for the graph of its PyTorch expression. */
static bool bind_at(const struct playbook *pb, const json_t *task, uint32_t arch,
                    const struct pb_point *p, struct pb_binding *out, struct strbuf *why)
{
    struct templates own = {pb->shelf, arch};
    const struct generate_templates t = {task, pb->shelf ? write_part : NULL, &own};
    const json_t *j = json_object_get(task, "graph");
    struct err err = ERR_INIT;
    struct graph g;
    struct meaning m;
    bool ok = false;
    if (j) {
        if (graph_from_json(&g, j, &err) < 0) {
            strbuf_addf(why, "the task's graph cannot be read: %s", err.msg);
            return false;
        }
        ok = bind_launches(pb, &g, &t, p, out, why);
        graph_release(&g);
        return ok;
    }
    if (!meaning_read(&m, task))
        strbuf_adds(why, m.why.buf);
    else if (!m.readable)
        strbuf_adds(why, "the task has neither a graph nor a PyTorch expression");
    else
        ok = bind_launches(pb, &m.g, &t, p, out, why);
    meaning_release(&m);
    return ok;
}

bool bind_graph(const struct playbook *pb, const json_t *task, uint32_t arch,
                struct pb_binding *out, struct strbuf *why)
{
    bool fits = bind_at(pb, task, arch, NULL, out, why);
    if (fits) {
        out->graph_task = json_incref((json_t *)task);
        out->arch = arch;
    }
    return fits;
}

bool binding_has_cuts_of(const struct playbook *pb, const struct pb_binding *b,
                         const struct pb_point *p)
{
    struct generate_cuts bound = cuts_at(pb, NULL), at = cuts_at(pb, p);
    return !b->graph_task ||
           (bound.join == at.join && bound.whole == at.whole && bound.repeat == at.repeat);
}

int bind_cuts_of(const struct playbook *pb, const struct pb_binding *b, const struct pb_point *p,
                 struct pb_binding *out, struct err *err)
{
    struct strbuf why = STRBUF_INIT(400);
    int rc = 0;
    *out = (struct pb_binding)PB_BINDING_INIT;
    if (!bind_at(pb, b->graph_task, b->arch, p, out, &why)) {
        rc = err_set(err, ERR_INPUT, "playbook %s: %s", pb->name, why.buf);
        pb_binding_release(out);
    }
    strbuf_release(&why);
    return rc;
}
