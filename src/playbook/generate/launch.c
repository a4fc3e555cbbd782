/* launch.c - writes the body of a launch, with and without vectors, and the kernels around it. */
#include "playbook/generate/launch.h"

#include <stdlib.h>
#include <string.h>

#include "base/expr.h"
#include "base/util.h"
#include "graph/reference/nest.h"
#include "graph/reference/pair.h"
#include "job/job.h"

/* A graph with more sinks has no launches with vectors, because they would take long to compile. */
enum { MAX_VECTOR_SINKS = 64 };

/* ---- loops ----------------------------------------------------------------------------------- */

/* Returns the first reduction or matrix product that the launch of v computes, or NULL. `own` says
 * that this launch is the one that stores v. */
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

const struct dim *launch_loop(struct writer *w, const struct sink *s, const struct value **loop)
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

/* ---- the body -------------------------------------------------------------------------------- */

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
        emit_kept(e, s->v, emit_computed(e, s->v, &p).v);
        break;
    case SINK_PART:
        emit_part(e, s->v, is_index, false);
        break;
    case SINK_LINES:
        emit_line(e, s->v, false);
        break;
    }
}

static int64_t bytes_of_sink(const struct emit *e, const struct sink *s)
{
    return s->kind == SINK_OUTPUT ? (int64_t)dtype_bytes(s->output->dtype) : kernel_bytes(e, s->v);
}

/* Writes statements that compute a vector of the sink's elements: those of the units from `unit`
 * on. */
static void write_vector(struct writer *w, const struct sink *s)
{
    struct emit *e = &w->emit;
    struct unit_text *u = &e->u;
    bool output = s->kind == SINK_OUTPUT;
    int64_t n = u->vector->n;
    int64_t bytes = bytes_of_sink(e, s), width = MIN(n, VECTOR_BYTES / bytes);
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

/* Writes the two sinks s[0] and s[1] of a launch. A unit of s[1] may read the result that the same
 * unit has just computed for s[0]. `loop` is the reduction of s[1]. */
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
    emit_kept(e, s->v, text);
    e->known[0].v = s->v;
    e->known[0].text = text;
    if (e->known[1].v && s[1].v == loop)
        emit_kept(e, loop, e->known[1].text);
    else
        write_sink(e, s + 1);
    e->known[0].v = e->known[1].v = NULL;
}

static bool stores_only_halves(const struct emit *e, const struct launch *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct sink *s = &l->sinks[i];
        bool half = s->kind == SINK_OUTPUT
                        ? dtype_is_float(s->output->dtype) && dtype_bytes(s->output->dtype) == 2
                        : e->store[s->v->id].is_narrow;
        if (!half)
            return false;
    }
    return true;
}

/* Writes the body of the launch's kernel. `x` is NULL for a body without vectors. */
static void write_body(struct writer *w, const struct launch *l, struct vector *x,
                       struct strbuf *out)
{
    struct emit *e = &w->emit;
    unit_init(&e->u, &w->arena, w->g);
    e->u.whole = "I";
    e->u.joins = true;
    e->u.vector = x;
    e->in_lanes = l->map == MAP_LANES;
    e->mode.rough = stores_only_halves(e, l);
    e->guard = e->in_lanes ? "if (writes) " : "";
    const struct value *loop;
    if (l->rides && launch_loop(w, &l->sinks[1], &loop))
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

/* Lowers *bytes to the size of the narrowest element that v reads. Types of one byte do not
 * count. */
static void find_narrowest(struct writer *w, const struct value *v, bool own, bool *seen,
                           int64_t *bytes)
{
    int64_t n = 0;
    if (seen[v->id])
        return;
    seen[v->id] = true;
    if (!own && w->stores.store[v->id].is_stored)
        n = kernel_bytes(&w->emit, v);
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
        int64_t out = bytes_of_sink(&w->emit, s);
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
    struct vector x = {.dims = &w->g->dims};
    bool lanes = l->map == MAP_LANES;
    for (size_t i = 0; i < l->n; i++)
        if (l->sinks[i].kind == SINK_LINES || (!lanes && l->sinks[i].kind == SINK_PART))
            return;
    if (w->stores.sinks.n > MAX_VECTOR_SINKS || l->map == MAP_BLOCK ||
        (lanes ? !l->contiguous : strstr(plain, "for (") != NULL || dim_is(units, 1)))
        return;
    x.n = vector_length(w, l);
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
    struct strbuf *out = w->kernels_text;
    strbuf_addf(out, "template <class I>\n__device__ __forceinline__ void %s%s(", l->name, tail);
    params_declare(&w->params, "I", out);
    strbuf_addf(out, "%s%s%s)\n{\n", w->params.n ? ", " : "", last,
                l->map == MAP_LANES ? ", int lanes" : "");
}

static const char *block_of(const struct launch *l)
{
    return l->backward ? "(gridDim.x - 1 - blockIdx.x)" : "blockIdx.x";
}

/* Writes the function NAME_of. If the last vector may be cut off, also writes NAME_unit, which
 * computes a single unit of this vector. */
static void write_function(struct writer *w, const struct launch *l, const char *body)
{
    struct strbuf *out = w->kernels_text;
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
    struct strbuf *out = w->kernels_text;
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
    struct strbuf *out = w->kernels_text;
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
    struct strbuf *out = w->plan;
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

int launch_write(struct writer *w, struct launch *l)
{
    struct strbuf body = STRBUF_INIT(LAUNCH_MAX_TEXT), vectors = STRBUF_INIT(LAUNCH_MAX_TEXT);
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
    l->vector = 0; /* no vectors in the kernel for long indices: such large tensors are rare */
    if (fit == FITS_SOMETIMES)
        write_entries(w, l, "long long", "_wide", arena_printf(&w->arena, "!(%s)", narrow));
    params_done(&w->params, l->last);
    strbuf_release(&vectors);
    strbuf_release(&body);
    return rc;
}
