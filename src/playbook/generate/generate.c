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

#include "base/expr.h"
#include "base/util.h"
#include "graph/reference/lower.h"
#include "graph/reference/nest.h"
#include "graph/reference/pair.h"
#include "graph/reference/stores.h"
#include "job/job.h"
#include "playbook/generate/params.h"
#include "playbook/generate/part.h"

/* With more than MAX_TOGETHER sinks, a launch would have too many arguments. A graph with more than
 * MAX_ELEMENTWISE_PARTS sinks uses no templates for elementwise work. */
enum { MAX_TOGETHER = 4, MAX_ELEMENTWISE_PARTS = 16 };
/* Threads that fill a GPU. With this many units, each unit has one lane, unless its loop reads
 * contiguous memory. */
enum { ENOUGH_THREADS = 1 << 18 };

/* A graph with more sinks has no launches with vectors, because they would take long to compile. */
enum { MAX_VECTOR_SINKS = 64 };

enum mapping { MAP_THREADS, MAP_LANES, MAP_BLOCK };

struct writer {
    struct generated *out;
    struct graph *g;
    struct emit emit;
    struct stores stores;
    struct params params;
    struct arena arena;
    unsigned kernels;
    bool *done;                   /* by sink: it needs no further launch */
    struct stores tail;           /* `stores` without the values of the tail */
    const struct sink *tail_sink; /* NULL if no template computes the whole tail */
    const struct generate_templates *templates;
    struct strbuf workspaces, tensormaps;
    struct part_code_vec codes;
    bool backward; /* the last launch with a thread for each unit was */
    struct err *err;
};

/* ---- which threads compute a unit ------------------------------------------------------------ */

/* Returns the first reduction or matrix product that the launch of v computes, or NULL. `own`: the
 * launch stores v. */
static const struct value *loop_of(struct writer *w, const struct value *v, bool own, bool *seen)
{
    enum op_kind kind = op_row(v->op)->kind;
    if (seen[v->id] || (!own && w->stores.store[v->id].is_stored))
        return NULL;
    seen[v->id] = true;
    if (kind == OPK_REDUCTION || kind == OPK_PRODUCT)
        return v;
    if (v->op == OP_RESHAPE)
        return loop_of(w, v->args[0], false, seen);
    for (uint32_t k = 0; kind == OPK_ELEMENTWISE && k < v->nargs; k++) {
        const struct value *loop =
            value_same_shape(v, v->args[k]) ? loop_of(w, v->args[k], false, seen) : NULL;
        if (loop)
            return loop;
    }
    return NULL;
}

/* Returns the length of a sink's loop, or NULL if lanes cannot share it. *loop becomes the
 * reduction or product. */
static const struct dim *loop_length(struct writer *w, const struct sink *s,
                                     const struct value **loop)
{
    struct dim_pool *p = &w->g->dims;
    const struct dim *n;
    *loop = NULL;
    if (s->kind == SINK_LINES)
        return NULL;
    bool *seen = xcalloc(w->g->values.n + 1, sizeof *seen);
    *loop = loop_of(w, s->v, s->kind != SINK_OUTPUT, seen);
    free(seen);
    if (!*loop)
        return NULL;
    if (s->kind == SINK_PART)
        n = dim_min(p, emit_reduced(&w->emit, s->v), dim_number(p, EMIT_CHUNK));
    else if (w->stores.store[(*loop)->id].in_parts)
        n = emit_parts(&w->emit, *loop);
    else
        n = emit_reduced(&w->emit, *loop);
    return nest_has_many(n) ? n : NULL;
}

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

/* ---- one launch ------------------------------------------------------------------------------ */

struct launch {
    const struct sink *sinks;
    /* `last` is the index of the last sink in writer.stores.sinks, not counting one that rides. */
    size_t n, last;
    bool rides; /* the second of two sinks rides (can_ride) */
    enum mapping map;
    const char *lanes;
    bool contiguous;
    const char *name;
    /* How many elements a thread reads or writes at once, or 0; the condition for that. The same
     * launch without vectors serves all other sizes and addresses. */
    int64_t vector;
    const char *vector_when;
    bool tail;     /* the last vector may be cut off */
    bool backward; /* the first blocks compute the last units */
};

static void write_sink(struct emit *e, const struct sink *s)
{
    struct place p = place_linear(s->v->rank, s->v->shape, unit_index());
    bool is_index = s->v->op == OP_ARGMAX || s->v->op == OP_ARGMIN;
    e->u.real = kernel_type(s->v);
    switch (s->kind) {
    case SINK_OUTPUT:
        unit_do(&e->u, "%sOUT(%s, unit, %s)", e->guard, s->output->name, emit_value(e, s->v, &p).v);
        break;
    case SINK_VALUE:
        unit_do(&e->u, "%sVAL%u(unit) = %s", e->guard, s->v->id, emit_computed(e, s->v, &p).v);
        break;
    case SINK_PART:
        emit_part(e, s->v, is_index, false);
        break;
    case SINK_LINES:
        emit_line(e, s->v, false);
        break;
    }
}

/* Writes a vector of elements of the sink: the units from `unit` on. */
static void write_vector(struct writer *w, const struct sink *s)
{
    struct emit *e = &w->emit;
    struct unit_text *u = &e->u;
    bool output = s->kind == SINK_OUTPUT;
    int64_t n = u->vector->n;
    int64_t bytes = output ? (int64_t)dtype_bytes(s->output->dtype) : kernel_bytes(s->v->dtype);
    int64_t width = MIN(n, VECTOR_BYTES / bytes);
    struct place p[VECTOR_MAX];
    const char *text[VECTOR_MAX];
    u->real = kernel_type(s->v);
    for (int64_t k = 0; k < n; k++)
        p[k] = place_linear(s->v->rank, s->v->shape, vector_element(u, unit_index(), k));
    emit_vector(e, s->v, p, !output);
    for (int64_t k = 0; k < n; k++)
        text[k] = output ? emit_value(e, s->v, &p[k]).v : emit_computed(e, s->v, &p[k]).v;
    if (output)
        u->vector->strided |= !vector_align(u->vector, s->output->name, width * bytes);
    for (int64_t k = 0; k < n; k++) {
        struct strbuf all = STRBUF_INIT(1 << 16);
        const char *to = output ? arena_printf(u->arena, "OUT_AT(%s, ", s->output->name)
                                : arena_printf(u->arena, "VAL%u(", s->v->id);
        strbuf_addf(&all, "hone_write<%d>(&%sunit + %d)", (int)width, to, (int)k);
        for (int64_t i = 0; i < width; i++)
            strbuf_addf(&all, ", %s", text[k + i]);
        unit_do(u, "%s)", all.buf);
        strbuf_release(&all);
        k += width - 1;
    }
}

/* A unit of the second sink may read the element of the reduction that it has just computed. `loop`
 * is the second sink's reduction. */
static void write_riding(struct emit *e, const struct sink *s, const struct value *loop)
{
    struct place p = place_linear(s->v->rank, s->v->shape, unit_index());
    struct pair pair;
    const char *text;
    e->u.real = kernel_type(s->v);
    if (pair_find(e, s->v, loop, &pair)) {
        pair_write(e, &pair, &p, index_number(&e->u, 0), index_dim(&e->u, emit_reduced(e, s->v)));
        text = pair.result[0];
        e->known[1].v = loop;
        e->known[1].text = pair.result[1];
    } else {
        text = emit_computed(e, s->v, &p).v;
    }
    unit_do(&e->u, "%sVAL%u(unit) = %s", e->guard, s->v->id, text);
    e->known[0].v = s->v;
    e->known[0].text = text;
    if (e->known[1].v && s[1].v == loop)
        unit_do(&e->u, "%sVAL%u(unit) = %s", e->guard, loop->id, e->known[1].text);
    else
        write_sink(e, s + 1);
    e->known[0].v = e->known[1].v = NULL;
}

/* `x` is NULL for a body without vectors. */
static void write_body(struct writer *w, const struct launch *l, struct vector *x,
                       struct strbuf *out)
{
    struct emit *e = &w->emit;
    unit_init(&e->u, &w->arena, w->g);
    e->u.whole = "I";
    e->u.joins = true;
    e->u.vector = x;
    e->in_lanes = l->map == MAP_LANES;
    e->guard = e->in_lanes ? "if (writes) " : "";
    const struct value *loop;
    if (l->rides && loop_length(w, &l->sinks[1], &loop))
        write_riding(e, l->sinks, loop);
    else
        for (size_t i = 0; i < l->n; i++)
            if (x && !e->in_lanes)
                write_vector(w, &l->sinks[i]);
            else
                write_sink(e, &l->sinks[i]);
    unit_write(&e->u, out);
    unit_release(&e->u);
}

/* ---- launches with vectors ------------------------------------------------------------------- */

/* Finds the bytes of the narrowest element that v reads, of types with at least two bytes. */
static void find_narrowest(struct writer *w, const struct value *v, bool own, bool *seen,
                           int64_t *bytes)
{
    int64_t n = 0;
    if (seen[v->id])
        return;
    seen[v->id] = true;
    if (!own && w->stores.store[v->id].is_stored)
        n = kernel_bytes(v->dtype);
    else if (v->op == OP_INPUT)
        n = (int64_t)dtype_bytes(v->dtype);
    else
        for (uint32_t k = 0; k < v->nargs; k++)
            if (v->args[k])
                find_narrowest(w, v->args[k], false, seen, bytes);
    *bytes = n > 1 ? MIN(*bytes, n) : *bytes;
}

static int64_t vector_length(struct writer *w, const struct launch *l)
{
    int64_t bytes = VECTOR_BYTES;
    bool *seen = xcalloc(w->g->values.n + 1, sizeof *seen);
    for (size_t i = 0; i < l->n; i++) {
        const struct sink *s = &l->sinks[i];
        int64_t out = s->kind == SINK_OUTPUT ? (int64_t)dtype_bytes(s->output->dtype)
                                             : kernel_bytes(s->v->dtype);
        if (l->map == MAP_THREADS && out > 1)
            bytes = MIN(bytes, out);
        find_narrowest(w, s->v, s->kind != SINK_OUTPUT, seen, &bytes);
    }
    free(seen);
    return MAX(MIN(VECTOR_BYTES / bytes, VECTOR_MAX), 2);
}

/* Writes the body of the same launch with vectors, and sets l->vector. Leaves it 0 if vectors would
 * not help. `plain` is the body without vectors. */
static void try_vectors(struct writer *w, struct launch *l, const char *plain, struct strbuf *out)
{
    const struct dim *units = l->sinks[0].units;
    struct strbuf when = STRBUF_INIT(EXPR_MAX_LEN / 2);
    struct vector x = {.n = vector_length(w, l), .dims = &w->g->dims};
    bool lanes = l->map == MAP_LANES;
    for (size_t i = 0; i < l->n; i++)
        if (l->sinks[i].kind == SINK_LINES || (!lanes && l->sinks[i].kind == SINK_PART))
            return;
    if (w->stores.sinks.n > MAX_VECTOR_SINKS || l->map == MAP_BLOCK ||
        (lanes ? !l->contiguous : strstr(plain, "for (") != NULL || dim_is(units, 1)))
        return;
    write_body(w, l, &x, out);
    vector_when(&x, &when);
    if (!x.strided && (x.loops || !lanes) && strstr(out->buf, lanes ? "hone_read<" : "hone_") &&
        !when.truncated && !out->truncated) {
        l->vector = x.n;
        l->vector_when = arena_strdup(&w->arena, when.buf);
        l->tail = !lanes && !vector_knows(&x, units, x.n);
    }
    strbuf_release(&when);
}

/* ---- the text of a launch -------------------------------------------------------------------- */

static const char *const before_body[] = {
    [MAP_THREADS] = "    for (int item = 0; item < kItems; item++) {\n"
                    "    const I unit = ((I)%s * kItems + item) * kThreads + threadIdx.x;\n"
                    "    if (unit >= units)\n        return;\n",
    [MAP_LANES] = "    const int groups = kThreads / lanes;\n"
                  "    const int lane = %s, apart = %s;\n"
                  "    const I number = (I)blockIdx.x * groups + %s;\n"
                  "    const I unit = number < units ? number : units - 1;\n"
                  "    const bool writes = number < units && lane == 0;\n",
    [MAP_BLOCK] = ("    const I unit = blockIdx.x;\n    const int lane = threadIdx.x;\n"
                   "    constexpr int lanes = kThreads;\n"),
};

static void write_comment(const struct launch *l, struct strbuf *out)
{
    strbuf_addf(out, "\n// Units: %s", l->sinks[0].units->text);
    for (size_t i = 0; i < l->n; i++) {
        const struct sink *s = &l->sinks[i];
        static const char *const what[] = {"value", "parts of value", "lines of value", "output"};
        strbuf_addf(out, "%s %s ", i ? "," : ";", what[s->kind]);
        if (s->kind == SINK_OUTPUT)
            strbuf_adds(out, s->output->name);
        else
            strbuf_addf(out, "%u (%s)", s->v->id, op_row(s->v->op)->name);
    }
    strbuf_adds(out, "\n");
}

static void begin_function(struct writer *w, const struct launch *l, const char *tail,
                           const char *last)
{
    struct strbuf *out = &w->out->kernels;
    strbuf_addf(out, "template <class I>\n__device__ __forceinline__ void %s%s(", l->name, tail);
    params_declare(&w->params, "I", out);
    strbuf_addf(out, "%s%s%s)\n{\n", w->params.n ? ", " : "", last,
                l->map == MAP_LANES ? ", int lanes" : "");
}

static const char *block_of(const struct launch *l)
{
    return l->backward ? "(gridDim.x - 1 - blockIdx.x)" : "blockIdx.x";
}

/* The body of the tail computes a unit of a vector that is cut off. */
static void write_function(struct writer *w, const struct launch *l, const char *body)
{
    struct strbuf *out = &w->out->kernels;
    write_comment(l, out);
    if (l->vector && l->tail) {
        begin_function(w, l, "_unit", "I unit");
        strbuf_addf(out, "%s}\n\n", body);
    }
    begin_function(w, l, "_of", "I units");
    if (l->map == MAP_LANES)
        strbuf_addf(out, before_body[MAP_LANES],
                    l->contiguous ? "threadIdx.x % lanes" : "threadIdx.x / groups",
                    l->contiguous ? "1" : "groups",
                    l->contiguous ? "threadIdx.x / lanes" : "threadIdx.x % groups");
    else
        strbuf_addf(out, before_body[l->map], block_of(l));
    strbuf_adds(out, body);
    strbuf_adds(out, l->map == MAP_THREADS ? "    }\n}\n" : "}\n");
}

static void write_vector_function(struct writer *w, const struct launch *l, const char *body)
{
    struct strbuf *out = &w->out->kernels;
    strbuf_adds(out, "\n// The same with vectors.\n");
    begin_function(w, l, "_vector_of", "I units");
    if (l->map == MAP_LANES) {
        strbuf_addf(out, before_body[MAP_LANES], "threadIdx.x % lanes", "1", "threadIdx.x / lanes");
    } else {
        strbuf_addf(out,
                    "    for (int item = 0; item < kItems; item++) {\n"
                    "    const I unit = (((I)%s * kItems + item) * kThreads + threadIdx.x) "
                    "* %lld;\n"
                    "    if (unit >= units)\n        return;\n",
                    block_of(l), (long long)l->vector);
        if (l->tail) {
            strbuf_addf(out,
                        "    if (units - unit < %lld) {\n"
                        "        for (I last = unit; last < units; last++)\n"
                        "            %s_unit<I>(",
                        (long long)l->vector, l->name);
            params_names(&w->params, out);
            strbuf_addf(out, "%slast);\n        return;\n    }\n", w->params.n ? ", " : "");
        }
    }
    strbuf_adds(out, body);
    strbuf_adds(out, l->map == MAP_THREADS ? "    }\n}\n" : "}\n");
}

static void write_entry(struct writer *w, const struct launch *l, const char *tail,
                        const char *index)
{
    struct strbuf *out = &w->out->kernels;
    bool lanes = l->map == MAP_LANES;
    strbuf_addf(out, "\nextern \"C\" __global__ void __launch_bounds__(kThreads)\n%s%s(", l->name,
                tail);
    params_declare(&w->params, index, out);
    strbuf_addf(out, "%s%s units%s)\n{\n    %s%s_of<%s>(", w->params.n ? ", " : "", index,
                lanes ? ", int lanes" : "", l->name, str_starts(tail, "_vector") ? "_vector" : "",
                index);
    params_names(&w->params, out);
    strbuf_addf(out, "%sunits%s);\n}\n", w->params.n ? ", " : "", lanes ? ", lanes" : "");
}

static void plan_entry(struct writer *w, const struct launch *l, const char *tail, const char *when)
{
    struct strbuf *out = &w->out->plan;
    const char *units = l->sinks[0].units->text;
    bool vector = str_starts(tail, "_vector");
    strbuf_addf(out, "%s\n    { \"kernel\": \"%s%s\", ", w->kernels++ ? "," : "", l->name, tail);
    if (*when)
        strbuf_addf(out, "\"when\": \"%s\", ", when);
    if (l->map == MAP_LANES)
        strbuf_addf(out, "\"grid\": [\"cdiv(%s,@{threads}/%s)\"]", units, l->lanes);
    else if (l->map == MAP_THREADS && vector)
        strbuf_addf(out, "\"grid\": [\"cdiv(%s,@{threads}*@{items}*%lld)\"]", units,
                    (long long)l->vector);
    else if (l->map == MAP_THREADS)
        strbuf_addf(out, "\"grid\": [\"cdiv(%s,@{threads}*@{items})\"]", units);
    else
        strbuf_addf(out, "\"grid\": [\"%s\"]", units);
    strbuf_adds(out, ", \"block\": [@{threads}],\n      \"args\": [");
    params_args(&w->params, out);
    strbuf_addf(out, "%s\"%s\"", w->params.n ? ", " : "", units);
    if (l->map == MAP_LANES)
        strbuf_addf(out, ", \"%s\"", l->lanes);
    strbuf_adds(out, "] }");
}

/* Writes the kernels for indices of type `index`, which run where `when` is true. Without a
 * condition, `when` is "". */
static void write_entries(struct writer *w, const struct launch *l, const char *index,
                          const char *tail, const char *when)
{
    struct arena *a = &w->arena;
    const char *by = l->vector_when;
    if (!l->vector) {
        write_entry(w, l, tail, index);
        plan_entry(w, l, tail, when);
        return;
    }
    const char *vector = arena_printf(a, "_vector%s", tail), *join = *when && *by ? " && " : "";
    write_entry(w, l, vector, index);
    plan_entry(w, l, vector, arena_printf(a, "%s%s%s", when, join, by));
    if (*by) {
        write_entry(w, l, tail, index);
        plan_entry(w, l, tail, arena_printf(a, "%s%s!(%s)", when, join, by));
    }
}

static int write_launch(struct writer *w, struct launch *l)
{
    struct strbuf body = STRBUF_INIT(GENERATED_MAX_TEXT), vectors = STRBUF_INIT(GENERATED_MAX_TEXT);
    const char *narrow, *all;
    int rc = 0;
    l->name =
        arena_printf(&w->arena, "k%u_%s", w->kernels,
                     l->sinks[0].kind == SINK_OUTPUT ? "output" : op_row(l->sinks[0].v->op)->name);
    write_body(w, l, NULL, &body);
    try_vectors(w, l, body.buf, &vectors);
    all = arena_printf(&w->arena, "%s%s", body.buf, l->vector ? vectors.buf : "");
    params_find(&w->params, all, l->sinks, l->n);
    enum params_fit fit = params_fit_int(&w->params, l->sinks[0].units, &narrow);
    if (l->vector && (w->params.n + 2 > JOB_MAX_ARGS ||
                      strlen(narrow) + strlen(l->vector_when) > EXPR_MAX_LEN - 64)) {
        l->vector = 0;
        params_find(&w->params, body.buf, l->sinks, l->n);
        fit = params_fit_int(&w->params, l->sinks[0].units, &narrow);
    }
    if (w->params.n + 2 > JOB_MAX_ARGS)
        rc = err_set(w->err, ERR_LIMIT, "a launch would have %zu arguments; %d is the most",
                     w->params.n + 2, JOB_MAX_ARGS);
    write_function(w, l, body.buf);
    if (l->vector)
        write_vector_function(w, l, vectors.buf);
    write_entries(w, l, fit == FITS_NEVER ? "long long" : "int", "",
                  fit == FITS_SOMETIMES ? narrow : "");
    l->vector = 0; /* tensors with so many elements are rare */
    if (fit == FITS_SOMETIMES)
        write_entries(w, l, "long long", "_wide", arena_printf(&w->arena, "!(%s)", narrow));
    params_done(&w->params, l->last);
    strbuf_release(&vectors);
    strbuf_release(&body);
    return rc;
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

/* Templates take longer to compile than generated kernels. */
static bool asks_template(struct writer *w, const struct part *p)
{
    return w->templates->write &&
           (part_has_anchor(p, NULL) || part_is_recurrent(p) ||
            (w->stores.sinks.n <= MAX_ELEMENTWISE_PARTS && part_is_elementwise(p)));
}

static bool part_fits(struct writer *w, const struct part *p, struct strbuf *source)
{
    json_t *task = part_task(p);
    bool fits = w->templates->write(w->templates->ctx, task, source);
    json_decref(task);
    return fits;
}

/* Marks the anchors of launches that do more work and that no template fits. Alone, a template may
 * fit them. Returns whether it marked any. */
static bool find_kept(struct writer *w, bool *keep)
{
    bool any = false;
    vec_each (const struct sink, s, &w->stores.sinks) {
        struct strbuf source = STRBUF_INIT(GENERATED_MAX_TEXT);
        struct part p = part_of(w, s, name_by_id);
        bool alone = s->kind == SINK_VALUE && stores_is_anchor(s->v);
        if (!alone && !(asks_template(w, &p) && part_fits(w, &p, &source)))
            any |= part_has_anchor(&p, keep);
        strbuf_release(&source);
    }
    return any;
}

static struct part part_or_tail(struct writer *w, const struct sink *s)
{
    struct part p = part_of(w, s, name_by_slot);
    if (s == w->tail_sink)
        p.stores = &w->tail;
    return p;
}

static bool write_template(struct writer *w, const struct sink *s)
{
    struct strbuf source = STRBUF_INIT(GENERATED_MAX_TEXT), calls = STRBUF_INIT(1 << 16);
    struct part p = part_or_tail(w, s);
    int n = -1;
    if (s == w->tail_sink || asks_template(w, &p)) {
        part_calls(&p, &calls);
        params_find(&w->params, calls.buf, s, 1);
        if (part_fits(w, &p, &source))
            n = part_add(source.buf, arena_printf(&w->arena, "c%u", w->kernels),
                         w->params.slot_names, w->kernels == 0,
                         &(struct part_texts){&w->out->plan, &w->workspaces, &w->tensormaps,
                                              &w->out->includes, &w->out->templates, &w->codes});
    }
    if (n > 0) {
        w->kernels += (unsigned)n;
        params_done(&w->params, (size_t)(s - w->stores.sinks.items));
    }
    strbuf_release(&source);
    strbuf_release(&calls);
    return n > 0;
}

/* Is v computed only from inputs, from `but`, and from stored values of sinks before number
 * `end`? */
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

/* A unit computes v and the reduction `loop`, over the same axes as the earlier reduction `of`. If
 * only elementwise operations lead from `of` to `loop`, the unit reads only the element of its own
 * row. */
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
        bool same_place = passes && v->args[k] && v->args[k]->rank == of->rank;
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

/* Can the launch of the reduction `first` compute sink t right after it? It can if each row of t
 * reads only the reduction's result for this row, or if t reduces the same input. */
static bool can_ride(struct writer *w, size_t first, const struct sink *t)
{
    const struct value *of = w->stores.sinks.items[first].v, *loop = NULL;
    if (t->kind != SINK_VALUE || t->units != w->stores.sinks.items[first].units ||
        !loop_length(w, t, &loop) || op_row(loop->op)->kind != OPK_REDUCTION ||
        !same_axes(of, loop))
        return false;
    const struct store *s = &w->stores.store[loop->id];
    if (s->in_parts && (!s->centre || s->centre->args[0] != of))
        return false;
    uint8_t *known = xcalloc(w->g->values.n + 1, sizeof *known);
    bool *seen = xcalloc(w->g->values.n + 1, sizeof *seen);
    enum reading r = reading_of(w, t->v, of, loop, true, known);
    bool whole = !s->in_parts && !w->stores.store[of->id].in_parts;
    bool ok = (r == READS_OWN ? value_flag(of, "keepdim")
                              : r == READS_NOT && whole && share_input(w, of, loop)) &&
              reads_earlier(w, t->v, of, first, true, seen);
    free(known);
    free(seen);
    return ok;
}

/* For example, the sum of exponentials rides with a maximum. */
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
    const struct dim *n = loop_length(w, s, &loop);
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
               !loop_length(w, &s[l.n], &loop))
            l.n++;
        l.last = first + l.n - 1;
    }
    return l;
}

/* A launch begins with the elements that the launch before read or wrote last: they are still in
 * the L2. */
static void choose_direction(struct writer *w, struct launch *l)
{
    l->backward = l->map == MAP_THREADS && w->kernels && !w->backward;
    w->backward = l->backward;
}

static void mark_below(const struct value *v, bool *marked)
{
    if (marked[v->id])
        return;
    marked[v->id] = true;
    for (uint32_t k = 0; k < v->nargs; k++)
        if (v->args[k])
            mark_below(v->args[k], marked);
}

/* Marks in `below` the values that launches with anchors compute or need. In w->tail, only these
 * are stored. Returns how many launches compute anchors. */
static size_t keep_anchors(struct writer *w, bool *below)
{
    size_t values = w->g->values.n + 1, n = 0;
    w->tail = w->stores;
    w->tail.store = xcalloc(values, sizeof *w->tail.store);
    memcpy(w->tail.store, w->stores.store, values * sizeof *w->tail.store);
    vec_each (const struct sink, s, &w->stores.sinks) {
        struct part p = part_of(w, s, name_by_id);
        if (s->kind != SINK_VALUE || !part_has_anchor(&p, NULL))
            continue;
        mark_below(s->v, below);
        n++;
    }
    for (size_t i = 0; i < w->g->values.n; i++)
        w->tail.store[i].is_stored &= below[i];
    return n;
}

/* Does an anchor need the sink? One launch computes the sum for a mean and the squares around it,
 * so both are needed if the sum is. */
static bool is_before(struct writer *w, const struct sink *s, const bool *below)
{
    const struct value *centre = w->stores.store[s->v->id].centre;
    return below[s->v->id] || (centre && below[centre->args[0]->id]);
}

static void note_tail(struct writer *w, const struct value *v, size_t reader, bool *seen)
{
    if (seen[v->id])
        return;
    seen[v->id] = true;
    if (w->tail.store[v->id].is_stored)
        params_read(&w->params, v, reader);
    for (uint32_t k = 0; !w->tail.store[v->id].is_stored && k < v->nargs; k++)
        if (v->args[k])
            note_tail(w, v->args[k], reader, seen);
}

/* The tail of a graph with one output is the work after its anchors, such as a norm. A template for
 * the whole tail is better than generated kernels, which read the anchor's result again for each
 * reduction. */
static void find_tail(struct writer *w)
{
    const struct sink_vec *v = &w->stores.sinks;
    const struct sink *last = v->n ? &v->items[v->n - 1] : NULL;
    if (!w->templates->write || !last || last->kind != SINK_OUTPUT || w->g->outputs.n != 1)
        return;
    struct strbuf source = STRBUF_INIT(GENERATED_MAX_TEXT);
    bool *below = xcalloc(w->g->values.n + 1, sizeof *below);
    bool *seen = xcalloc(w->g->values.n + 1, sizeof *seen);
    size_t anchors = keep_anchors(w, below);
    struct part p = part_of(w, last, name_by_id);
    p.stores = &w->tail;
    if (anchors && part_is_tail(&p) && part_fits(w, &p, &source)) {
        w->tail_sink = last;
        note_tail(w, last->v, v->n - 1, seen);
        for (size_t i = 0; i + 1 < v->n; i++)
            w->done[i] = !is_before(w, &v->items[i], below);
    }
    free(below);
    free(seen);
    strbuf_release(&source);
}

static int write_launches(struct writer *w)
{
    const struct sink_vec *v = &w->stores.sinks;
    for (size_t i = 0; i < v->n; i++) {
        if (w->done[i] || write_template(w, &v->items[i]))
            continue;
        struct launch l = launch_of(w, i);
        choose_direction(w, &l);
        if (write_launch(w, &l) < 0)
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
    find_tail(w);
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
    stores_release(&w->stores);
    free(w->tail.store);
    free(w->done);
    free(keep);
    return rc;
}

int generate(const struct graph *g, const struct generate_templates *t, struct generated *out,
             struct err *err)
{
    struct graph low;
    struct writer w = {.out = out,
                       .g = &low,
                       .arena = ARENA_INIT,
                       .templates = t,
                       .workspaces = STRBUF_INIT(1 << 18),
                       .tensormaps = STRBUF_INIT(1 << 18),
                       .err = err};
    w.emit.mode = (struct reference_mode){.kind = REFERENCE_MAGNITUDE, .kernel = true};
    w.emit.g = &low;
    int rc = graph_lower_for_kernel(g, &low, &w.emit.notes, err);
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
    return rc;
}

void generated_release(struct generated *x)
{
    strbuf_release(&x->plan);
    strbuf_release(&x->includes);
    strbuf_release(&x->overloads);
    strbuf_release(&x->templates);
    strbuf_release(&x->kernels);
}
