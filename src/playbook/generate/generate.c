/*
 * generate.c - writes the launches and kernels of a graph; generate.h describes the steps.
 *
 * A sink is one thing that a launch computes, such as a stored value (graph/reference/stores.h). A
 * unit is one run of a kernel's body: one element, or all elements along one axis. An anchor is a
 * convolution or a product of matrices. A template is the hand-written kernel of a playbook. There
 * are three ways to map units to threads:
 *
 *   MAP_THREADS   a thread computes several units: @{items}, a setting of the playbook `generate`
 *   MAP_LANES     a group of threads ("lanes") shares the loop of one unit
 *   MAP_BLOCK     a block computes one unit: all steps of a recurrent operation for one batch row
 */
#include "playbook/generate/generate.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/reference/lower.h"
#include "job/job.h"
#include "playbook/generate/launch.h"

/* With more than MAX_TOGETHER sinks, a launch would have too many arguments. A graph with more than
 * MAX_ELEMENTWISE_PARTS sinks uses no templates for elementwise work, and one with more than
 * MAX_WHOLES sinks has a template for several launches only at its end. */
enum { MAX_TOGETHER = 4, MAX_ELEMENTWISE_PARTS = 16, MAX_WHOLES = 64 };
/* This many threads fill a GPU. So with this many units, each unit has one lane, unless its loop
 * reads contiguous memory. */
enum { ENOUGH_THREADS = 1 << 18 };

/* ---- which threads compute a unit ------------------------------------------------------------ */

static bool is_contiguous(const struct value *v)
{
    if (v->op == OP_MATMUL) {
        const struct value *b = v->args[1];
        bool turned = b->op == OP_PERMUTE && b->rank > 1 &&
                      value_attr(b, "dims")->ints[b->rank - 2] == (int64_t)b->rank - 1;
        return b->rank == 1 || turned || dim_is(b->shape[b->rank - 1], 1);
    }
    const struct attr *dim = value_attr(v, "dim");
    return dim->n && dim->ints[dim->n - 1] == (int64_t)v->args[0]->rank - 1;
}

/* Returns how many lanes a unit has, as an expression for the launch plan: a power of two. If a
 * unit reads elements twice, more lanes help: fewer units run at once, and the elements stay in the
 * L1. */
static const char *lanes_text(struct writer *w, const struct dim *units, const struct dim *n,
                              bool contiguous, bool twice)
{
    const char *most =
        arena_printf(&w->arena, "pow2ceil(cdiv(%d,%s))", (int)ENOUGH_THREADS, units->text);
    if (contiguous)
        most = arena_printf(&w->arena, "max(%d,%s)", twice ? 128 : 32, most);
    const char *cap = "@{lanes}";
    if (contiguous)
        cap = arena_printf(&w->arena, "(%s<256?@{threads}:%s)", units->text,
                           twice ? "min(4*@{lanes},@{threads})" : cap);
    return arena_printf(&w->arena, "min(%s,pow2ceil(cdiv(%s,4)),%s)", cap, n->text, most);
}

/* ---- launches of templates ------------------------------------------------------------------- */

static const char *name_by_id(void *ctx, const struct value *v)
{
    struct writer *w = ctx;
    return arena_printf(&w->arena, "VAL%u", v->id);
}

static const char *name_by_slot(void *ctx, const struct value *v)
{
    struct writer *w = ctx;
    return params_slot(&w->params, v);
}

static struct part part_of(struct writer *w, const struct sink *s,
                           const char *(*name)(void *ctx, const struct value *v))
{
    return (struct part){.g = w->g,
                         .stores = &w->stores,
                         .sink = s,
                         .whole = w->templates->task,
                         .name = name,
                         .ctx = w};
}

/* May a template replace the launch of this part? Templates take longer to compile than generated
 * kernels, so a large graph uses them only for some parts. */
static bool asks_template(struct writer *w, const struct part *p)
{
    return w->templates->write &&
           (part_has_anchor(p, NULL) || part_is_recurrent(p) || part_is_attention(p) ||
            (w->stores.sinks.n <= MAX_ELEMENTWISE_PARTS && part_is_elementwise(p)));
}

/* Writes the kernel file of a template for the part. Returns the part's task, or NULL if no
 * template fits. */
static json_t *write_part(struct writer *w, const struct part *p, struct strbuf *source)
{
    json_t *task = part_reads_widened(p) ? NULL : part_task(p);
    if (!task || w->templates->write(w->templates->ctx, task, source))
        return task;
    json_decref(task);
    return NULL;
}

static bool part_fits(struct writer *w, const struct part *p, struct strbuf *source)
{
    json_t *task = write_part(w, p, source);
    json_decref(task);
    return task != NULL;
}

/* A launch may do more work than its anchor. If no template fits such a launch, or `join` in
 * w->cuts is false, marks the anchor: a template may fit the anchor alone. Returns whether it
 * marked any. */
static bool find_kept(struct writer *w, bool *keep)
{
    bool any = false;
    vec_each (const struct sink, s, &w->stores.sinks) {
        struct strbuf source = STRBUF_INIT(GENERATED_MAX_TEXT);
        struct part p = part_of(w, s, name_by_id);
        bool alone = s->kind == SINK_VALUE && stores_is_anchor(s->v);
        if (!alone && w->cuts->join && asks_template(w, &p) && part_fits(w, &p, &source))
            w->out->joins |= part_has_anchor(&p, NULL);
        else if (!alone)
            any |= part_has_anchor(&p, keep);
        strbuf_release(&source);
    }
    return any;
}

static struct part part_or_whole(struct writer *w, const struct sink *s)
{
    struct part p = part_of(w, s, name_by_slot);
    const struct stores *whole = &w->wholes[s - w->stores.sinks.items];
    if (whole->store)
        p.stores = whole;
    return p;
}

static bool write_template(struct writer *w, const struct sink *s)
{
    struct strbuf source = STRBUF_INIT(GENERATED_MAX_TEXT), calls = STRBUF_INIT(1 << 16);
    struct part p = part_or_whole(w, s);
    int n = -1;
    if (p.stores != &w->stores || asks_template(w, &p)) {
        part_calls(&p, &calls);
        params_find(&w->params, calls.buf, s, 1);
        json_t *task = write_part(w, &p, &source);
        if (task)
            n = part_add(source.buf, task, arena_printf(&w->arena, "c%u", w->kernels),
                         w->params.slot_names, w->kernels == 0,
                         &(struct part_texts){&w->out->plan, &w->workspaces, &w->tensormaps,
                                              &w->out->includes, &w->out->templates, &w->codes});
        json_decref(task);
    }
    if (n > 0) {
        w->kernels += (unsigned)n;
        params_done(&w->params, (size_t)(s - w->stores.sinks.items));
    }
    strbuf_release(&source);
    strbuf_release(&calls);
    return n > 0;
}

/* Is v computed only from inputs, from `but`, and from stored values of sinks before number `end`?
 * `own` says that the sink stores v itself, so v need not be one of these stored values. */
static bool reads_earlier(struct writer *w, const struct value *v, const struct value *but,
                          size_t end, bool own, bool *seen)
{
    if (seen[v->id] || v == but)
        return true;
    seen[v->id] = true;
    if (!own && w->stores.store[v->id].is_stored) {
        for (size_t i = 0; i < end; i++)
            if (w->stores.sinks.items[i].v == v && w->stores.sinks.items[i].kind != SINK_PART)
                return true;
        return false;
    }
    bool ok = true;
    for (uint32_t k = 0; ok && k < v->nargs; k++)
        ok = !v->args[k] || reads_earlier(w, v->args[k], but, end, false, seen);
    return ok;
}

/* Which elements of an earlier reduction a unit reads. */
enum reading { READS_NOT, READS_OWN, READS_OTHERS };

/* To compute v, a unit computes the reduction `loop`, which reduces the same axes as the earlier
 * reduction `of`. Returns which elements of `of` the unit reads. If only elementwise operations
 * lead from `of` to `loop`, the unit reads only the element of its own row. */
static enum reading reading_of(struct writer *w, const struct value *v, const struct value *of,
                               const struct value *loop, bool own, uint8_t *known)
{
    enum { UNKNOWN, FIRST };
    if (v == of)
        return READS_OWN;
    if ((!own && w->stores.store[v->id].is_stored) || op_row(v->op)->kind == OPK_LEAF)
        return READS_NOT;
    if (known[v->id] != UNKNOWN)
        return (enum reading)(known[v->id] - FIRST);
    bool passes = v == loop || op_row(v->op)->kind == OPK_ELEMENTWISE;
    enum reading r = READS_NOT;
    for (uint32_t k = 0; k < v->nargs && r != READS_OTHERS; k++) {
        enum reading of_arg =
            v->args[k] ? reading_of(w, v->args[k], of, loop, false, known) : READS_NOT;
        bool same_place = v->args[k] && v->args[k]->rank == of->rank &&
                          (passes || (v->op == OP_RESHAPE && value_same_shape(v->args[k], of)));
        if (of_arg != READS_NOT)
            r = of_arg == READS_OWN && same_place ? READS_OWN : READS_OTHERS;
    }
    known[v->id] = (uint8_t)(r + FIRST);
    return r;
}

static bool same_axes(const struct value *a, const struct value *b)
{
    const struct attr *x = value_attr(a, "dim"), *y = value_attr(b, "dim");
    bool same = x->n == y->n && value_same_shape(a->args[0], b->args[0]);
    for (size_t i = 0; same && i < x->n; i++)
        same = x->ints[i] == y->ints[i];
    return same;
}

static bool reads_input(struct writer *w, const struct value *v, const struct value *input,
                        bool own, bool *seen)
{
    if (v == input)
        return true;
    if (seen[v->id] || (!own && w->stores.store[v->id].is_stored))
        return false;
    seen[v->id] = true;
    for (uint32_t k = 0; k < v->nargs; k++)
        if (v->args[k] && reads_input(w, v->args[k], input, false, seen))
            return true;
    return false;
}

static bool share_input(struct writer *w, const struct value *a, const struct value *b)
{
    bool found = false;
    for (size_t i = 0; !found && i < w->g->inputs.n; i++) {
        const struct value *input = w->g->inputs.items[i];
        bool *one = xcalloc(w->g->values.n + 1, sizeof *one);
        bool *other = xcalloc(w->g->values.n + 1, sizeof *other);
        found = value_same_shape(input, a->args[0]) && reads_input(w, a, input, true, one) &&
                reads_input(w, b, input, true, other);
        free(one);
        free(other);
    }
    return found;
}

static bool replaces_input(struct writer *w, const struct sink *t)
{
    const struct value *v = graph_find(w->g, t->output->name);
    return v && v->op == OP_INPUT;
}

/* Can the launch of the reduction `first` compute sink t right after this reduction? It can if each
 * row of t reads only the reduction's result for this row, or if t reduces the same input. */
static bool can_ride(struct writer *w, size_t first, const struct sink *t)
{
    const struct value *of = w->stores.sinks.items[first].v, *loop = NULL;
    bool own = t->kind == SINK_VALUE;
    if ((!own && (t->kind != SINK_OUTPUT || replaces_input(w, t))) ||
        t->units != w->stores.sinks.items[first].units || !launch_loop(w, t, &loop) ||
        op_row(loop->op)->kind != OPK_REDUCTION || !same_axes(of, loop))
        return false;
    const struct store *s = &w->stores.store[loop->id];
    if (s->in_parts && (!s->centre || s->centre->args[0] != of))
        return false;
    uint8_t *known = xcalloc(w->g->values.n + 1, sizeof *known);
    bool *seen = xcalloc(w->g->values.n + 1, sizeof *seen);
    enum reading r = reading_of(w, t->v, of, loop, own, known);
    bool whole = !s->in_parts && !w->stores.store[of->id].in_parts;
    bool ok = (r == READS_OWN ? value_flag(of, "keepdim")
                              : r == READS_NOT && whole && share_input(w, of, loop)) &&
              reads_earlier(w, t->v, of, first, own, seen);
    free(known);
    free(seen);
    return ok;
}

/* Returns the number of a sink that can ride with sink `first` (can_ride()), or 0. For example, the
 * sum of exponentials rides with a maximum. */
static size_t find_rider(struct writer *w, size_t first)
{
    const struct sink_vec *v = &w->stores.sinks;
    const struct sink *s = &v->items[first];
    enum graph_op op = s->v->op;
    if (s->kind != SINK_VALUE || (op != OP_SUM && op != OP_AMAX && op != OP_AMIN))
        return 0;
    for (size_t i = first + 1; i < v->n && v->items[i].level <= s->level + 1; i++)
        if (!w->done[i] && can_ride(w, first, &v->items[i]))
            return i;
    return 0;
}

static struct launch launch_of(struct writer *w, size_t first)
{
    const struct sink_vec *v = &w->stores.sinks;
    const struct sink *s = &v->items[first];
    const struct value *loop;
    const struct dim *n = launch_loop(w, s, &loop);
    struct launch l = {.sinks = s, .n = 1, .last = first, .map = MAP_THREADS, .vector_when = ""};
    if (n) {
        l.map = MAP_LANES;
        l.contiguous = is_contiguous(loop);
        size_t rider = find_rider(w, first);
        l.lanes = lanes_text(w, s->units, n, l.contiguous, rider || s->kind == SINK_PART);
        if (rider) {
            struct sink *both = arena_alloc(&w->arena, 2 * sizeof *both);
            both[0] = *s;
            both[1] = v->items[rider];
            l.sinks = both;
            l.n = 2;
            l.rides = w->done[rider] = true;
        }
    } else if (s->kind == SINK_LINES) {
        l.map = op_row(s->v->op)->kind == OPK_RECURRENT ? MAP_BLOCK : MAP_THREADS;
    } else {
        while (first + l.n < v->n && l.n < MAX_TOGETHER && s[l.n].kind == s->kind &&
               s[l.n].level == s->level && s[l.n].units == s->units &&
               !launch_loop(w, &s[l.n], &loop))
            l.n++;
        l.last = first + l.n - 1;
    }
    return l;
}

/* Chooses whether the launch's first blocks compute the first or the last units. A launch should
 * begin with the elements that the launch before it read or wrote last, because these are still in
 * the L2. */
static void choose_direction(struct writer *w, struct launch *l)
{
    l->backward = l->map == MAP_THREADS && w->kernels && !w->backward;
    w->backward = l->backward;
}

/* ---- templates for several launches -----------------------------------------------------------
 */

/* Marks the stored values that the launch of a sink reads, by id. */
static void mark_reads(struct writer *w, const struct value *v, bool own, bool *seen, bool *reads)
{
    if (seen[v->id])
        return;
    seen[v->id] = true;
    if (!own && w->stores.store[v->id].is_stored) {
        reads[v->id] = true;
        return;
    }
    for (uint32_t k = 0; k < v->nargs; k++)
        if (v->args[k])
            mark_reads(w, v->args[k], false, seen, reads);
}

/* Returns reads[i * values + id]: does sink i read the stored value with this id? The caller frees
 * it. */
static bool *find_reads(struct writer *w)
{
    size_t values = w->g->values.n + 1;
    bool *reads = xcalloc(values * (w->stores.sinks.n + 1), sizeof *reads);
    bool *seen = xcalloc(values, sizeof *seen);
    for (size_t i = 0; i < w->stores.sinks.n; i++) {
        const struct sink *s = &w->stores.sinks.items[i];
        memset(seen, 0, values);
        mark_reads(w, s->v, s->kind != SINK_OUTPUT, seen, reads + i * values);
    }
    free(seen);
    return reads;
}

/* Is stored value v read, and only by sink `last` and by launches that compute values in `inside`?
 */
static bool serves_only(struct writer *w, const struct value *v, size_t last, const bool *inside,
                        const bool *reads)
{
    size_t values = w->g->values.n + 1;
    bool read = false;
    for (size_t i = 0; i < w->stores.sinks.n; i++) {
        const struct sink *s = &w->stores.sinks.items[i];
        if (s->v == v || !reads[i * values + v->id])
            continue;
        read = true;
        if (i != last && (s->kind == SINK_OUTPUT || !inside[s->v->id]))
            return false;
    }
    return read;
}

/* Marks in `inside` the stored values that serve only sink `last`, and that no template for an
 * anchor computes. Returns false if one of their launches also computes another value. */
static bool find_inside(struct writer *w, size_t last, const bool *reads, bool *inside)
{
    const struct sink_vec *v = &w->stores.sinks;
    for (size_t i = last; i-- > 0;) {
        const struct sink *s = &v->items[i];
        struct part p = part_of(w, s, name_by_id);
        if (s->kind == SINK_VALUE && !w->done[i] && !part_computes_anchor(&p, false))
            inside[s->v->id] = serves_only(w, s->v, last, inside, reads);
    }
    for (size_t i = 0; i < last; i++) {
        const struct value *centre = w->stores.store[v->items[i].v->id].centre;
        if (centre && inside[v->items[i].v->id] && !inside[centre->args[0]->id])
            return false;
    }
    return true;
}

static void note_whole(struct writer *w, const struct value *v, size_t reader, bool own, bool *seen)
{
    bool stored = !own && w->wholes[reader].store[v->id].is_stored;
    if (seen[v->id])
        return;
    seen[v->id] = true;
    if (stored)
        params_read(&w->params, v, reader);
    for (uint32_t k = 0; !stored && k < v->nargs; k++)
        if (v->args[k])
            note_whole(w, v->args[k], reader, false, seen);
}

/* If one template computes sink `last` and all stored values that serve only this sink, the
 * template replaces all their launches. For example, a norm needs a sum that nothing else reads.
 * Generated kernels would read the rows again for each sum. */
static void try_whole(struct writer *w, size_t last, const bool *reads)
{
    const struct sink_vec *v = &w->stores.sinks;
    const struct sink *s = &v->items[last];
    struct strbuf source = STRBUF_INIT(GENERATED_MAX_TEXT);
    size_t values = w->g->values.n + 1;
    bool *inside = xcalloc(values, sizeof *inside);
    bool *seen = xcalloc(values, sizeof *seen);
    struct stores whole = w->stores;
    whole.store = xcalloc(values, sizeof *whole.store);
    memcpy(whole.store, w->stores.store, values * sizeof *whole.store);
    bool fits = find_inside(w, last, reads, inside);
    for (size_t i = 0; i < w->g->values.n; i++)
        whole.store[i].is_stored &= !inside[i];
    struct part p = part_of(w, s, name_by_id);
    p.stores = &whole;
    if (fits && part_is_whole(&p) && part_fits(w, &p, &source)) {
        w->out->has_whole = true;
        w->wholes[last] = whole;
        whole.store = NULL;
        note_whole(w, s->v, last, s->kind != SINK_OUTPUT, seen);
        for (size_t i = 0; i < last; i++)
            w->done[i] |= inside[v->items[i].v->id];
    }
    free(whole.store);
    free(inside);
    free(seen);
    strbuf_release(&source);
}

/* Is the whole graph one sink and the values that serve only this sink? Then a template that fits
 * is a playbook for the whole task, and the author tries that playbook anyway. */
static bool is_one_whole(struct writer *w, const bool *reads)
{
    size_t n = w->stores.sinks.n;
    bool *inside = xcalloc(w->g->values.n + 1, sizeof *inside);
    bool all = find_inside(w, n - 1, reads, inside);
    for (size_t i = 0; all && i + 1 < n; i++) {
        const struct sink *s = &w->stores.sinks.items[i];
        all = s->kind != SINK_OUTPUT && inside[s->v->id];
    }
    struct part p = part_of(w, &w->stores.sinks.items[n - 1], name_by_id);
    all = all && !part_computes_anchor(&p, false);
    free(inside);
    return all;
}

static void find_wholes(struct writer *w)
{
    size_t n = w->stores.sinks.n;
    if (!w->templates->write || !w->cuts->whole || !n)
        return;
    bool *reads = find_reads(w);
    bool one = is_one_whole(w, reads);
    for (size_t i = n; i-- > 0 && !one;) {
        const struct sink *s = &w->stores.sinks.items[i];
        bool ends = s->kind == SINK_VALUE || s->kind == SINK_OUTPUT;
        if (ends && !w->done[i] && (n <= MAX_WHOLES || i + 1 == n))
            try_whole(w, i, reads);
    }
    free(reads);
}

/* ---- all launches -----------------------------------------------------------------------------
 */

/* Returns what must not be kept (enum lower_keep), because no template computes sink `s`. */
static unsigned unserved(struct writer *w, const struct sink *s)
{
    struct part p = part_of(w, s, name_by_id);
    if (part_is_attention(&p))
        return w->keep & KEEP_ATTENTION;
    return part_computes_anchor(&p, true) ? w->keep & KEEP_HALVES : 0;
}

static int write_launches(struct writer *w)
{
    const struct sink_vec *v = &w->stores.sinks;
    for (size_t i = 0; i < v->n; i++) {
        if (w->done[i] || write_template(w, &v->items[i]))
            continue;
        w->unserved = unserved(w, &v->items[i]);
        if (w->unserved)
            return 0;
        struct launch l = launch_of(w, i);
        choose_direction(w, &l);
        if (launch_write(w, &l) < 0)
            return -1;
        i = l.last;
    }
    if (w->kernels > JOB_MAX_LAUNCHES)
        return err_set(w->err, ERR_LIMIT, "it needs %u launches; a plan has at most %d", w->kernels,
                       JOB_MAX_LAUNCHES);
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int write_all(struct writer *w)
{
    struct strbuf *plan = &w->out->plan;
    bool *keep = xcalloc(w->g->values.n + 1, sizeof *keep);
    stores_plan(&w->stores, &w->emit);
    if (w->templates->write && find_kept(w, keep)) {
        stores_release(&w->stores);
        w->emit.keep = keep;
        stores_plan(&w->stores, &w->emit);
    }
    params_init(&w->params, w->g, &w->emit, &w->stores, &w->arena);
    params_macros(&w->params, &w->out->kernels);
    w->done = xcalloc(w->stores.sinks.n + 1, sizeof *w->done);
    w->wholes = xcalloc(w->stores.sinks.n + 1, sizeof *w->wholes);
    find_wholes(w);
    strbuf_adds(plan, "{ \"launches\": [");
    int rc = write_launches(w);
    strbuf_adds(plan, " ]");
    if (rc == 0)
        rc = params_workspaces(&w->params, w->workspaces.buf, plan, w->err);
    if (w->tensormaps.len)
        strbuf_addf(plan, ",\n  \"tensormaps\": {\n    %s }", w->tensormaps.buf);
    strbuf_adds(plan, " }");
    params_includes(&w->params, &w->out->includes, &w->out->overloads);
    params_release(&w->params);
    for (size_t i = 0; i < w->stores.sinks.n; i++)
        free(w->wholes[i].store);
    free(w->wholes);
    stores_release(&w->stores);
    free(w->done);
    free(keep);
    return rc;
}

/* Does the work of generate(), and keeps the operations in the set `keep`. Sets *without to those
 * for which there is no template; then the result is not complete. */
static int generate_with(const struct graph *g, const struct generate_templates *t,
                         const struct generate_cuts *cuts, unsigned keep, unsigned *without,
                         struct generated *out, struct err *err)
{
    struct graph low;
    struct writer w = {.out = out,
                       .plan = &out->plan,
                       .kernels_text = &out->kernels,
                       .g = &low,
                       .arena = ARENA_INIT,
                       .templates = t,
                       .cuts = cuts,
                       .keep = keep,
                       .workspaces = STRBUF_INIT(1 << 18),
                       .tensormaps = STRBUF_INIT(1 << 18),
                       .err = err};
    w.emit.mode = (struct reference_mode){.kind = REFERENCE_MAGNITUDE, .kernel = true};
    w.emit.g = &low;
    w.emit.repeat = cuts->repeat;
    int rc = graph_lower_for_kernel(g, keep, &low, &w.emit.notes, err);
    if (rc == 0)
        rc = write_all(&w);
    if (rc == 0 && (out->plan.truncated || out->templates.truncated || out->kernels.truncated))
        rc = err_set(err, ERR_LIMIT, "the kernels are longer than %u bytes", GENERATED_MAX_TEXT);
    if (rc == 0 && low.dims.too_long)
        rc = err_set(err, ERR_LIMIT, "a size is too long to write");
    graph_release(&low);
    strbuf_release(&w.workspaces);
    strbuf_release(&w.tensormaps);
    part_codes_release(&w.codes);
    arena_release(&w.arena);
    *without = w.unserved;
    return rc;
}

int generate(const struct graph *g, const struct generate_templates *t,
             const struct generate_cuts *cuts, struct generated *out, struct err *err)
{
    unsigned without = 0;
    int rc;
    out->keep = t->write ? KEEP_HALVES | KEEP_ATTENTION : 0;
    while ((rc = generate_with(g, t, cuts, out->keep, &without, out, err)) == 0 && without) {
        unsigned keep = out->keep & ~without;
        generated_release(out);
        *out = (struct generated)GENERATED_INIT;
        out->keep = keep;
    }
    return rc;
}

size_t generate_stored(const struct graph *g, unsigned keep, int64_t repeat)
{
    struct graph low;
    struct stores stores = {0};
    struct emit e = {.mode = {.kind = REFERENCE_MAGNITUDE, .kernel = true}, .repeat = repeat};
    size_t n = 0;
    e.g = &low;
    if (graph_lower_for_kernel(g, keep, &low, &e.notes, NULL) == 0) {
        stores_plan(&stores, &e);
        n = stores.sinks.n;
        stores_release(&stores);
    }
    graph_release(&low);
    return n;
}

void generated_release(struct generated *x)
{
    strbuf_release(&x->plan);
    strbuf_release(&x->includes);
    strbuf_release(&x->overloads);
    strbuf_release(&x->templates);
    strbuf_release(&x->kernels);
}
