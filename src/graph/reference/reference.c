/*
 * reference.c - writes the text of a reference: phases, scratch memory and helper functions
 * (reference.h).
 *
 * A phase computes a few sinks: values or outputs that it stores (stores.h). We write the last
 * phase first. So we know which magnitudes later phases read, and store only those.
 */
#include "graph/reference/reference.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/reference/drawn.h"
#include "graph/reference/lower.h"
#include "graph/reference/sampled_body.h"
#include "graph/reference/shared_body.h"
#include "graph/reference/stores.h"

enum { MAX_SOURCE = 8 << 20 }; /* bytes; equal to TASK_MAX_REFERENCE */

/* A region is a part of the scratch memory. It holds one array of a value, such as VAL or MAG
 * (emit.h). Regions of one size form a class and lie side by side, so one expression finds them
 * all. */
struct region_class {
    const struct dim *size;
    size_t n;
};

struct region {
    const char *name;  /* such as VAL12 */
    size_t in, number; /* the index of its class, and its number in the class */
    bool sampled;      /* it holds a number for each drawn sample (drawn.h) */
    size_t next;       /* the next region of the same value, counted from 1; 0 = none */
};

enum {
    MAX_UNSHARED = 64 << 20, /* bytes of all phases, before similar phases share a function */
    PHASE_SINKS = 4
};

struct writer {
    struct graph_reference *out;
    struct graph *g;
    struct emit emit;
    struct stores stores;
    struct arena arena;
    struct body_names names;
    const bool *sampled; /* per value: do VAL and PART hold a number for each sample? */
    VEC(struct phase_body) phases;
    struct strbuf bodies; /* the text of all phases */
    VEC(struct region_class) classes;
    VEC(struct region) regions;
    size_t *first_region; /* per value: the number of its first region, from 1 on; 0 = none */
    bool *accessed;       /* per value: does a phase use the macros of its regions? */
    bool too_long;        /* a phase is longer than MAX_SOURCE */
};

/* ---- one sink -------------------------------------------------------------------------------- */

/* Returns the argmax or argmin that an integer output holds, perhaps after a reshape or a cast.
 * Returns NULL for any other output. */
static const struct value *index_of(const struct sink *s)
{
    const struct value *v = s->v;
    while (v->op == OP_RESHAPE || (v->op == OP_CAST && !dtype_is_float(v->dtype)))
        v = v->args[0];
    bool is_index = v->op == OP_ARGMAX || v->op == OP_ARGMIN;
    return is_index && !dtype_is_float(s->output->dtype) && s->output->dtype != DT_BOOL ? v : NULL;
}

/* Returns an expression for the mean square of the distances between t and the samples of `copy`.
 * Sets *finite to another expression, in which squares that are not finite count as 0. */
static const char *drawn_square(struct emit *e, const struct value *copy, struct term t,
                                const char **finite)
{
    struct place p = place_linear(copy->rank, copy->shape, unit_index());
    const char *squares = unit_var(&e->u, "0"), *all = unit_var(&e->u, "0");
    struct scope *was = unit_loop_named(&e->u, "sample", DRAWN_SAMPLES);
    e->least_depth = scope_depth(e->u.at);
    e->mode.kind = REFERENCE_MAGNITUDE;
    struct term drawn = emit_value(e, copy, &p);
    e->mode.kind = REFERENCE_SIGMA;
    e->least_depth = 0;
    const char *off = unit_let(&e->u, "%s - %s", drawn.v, t.v);
    unit_set(&e->u, squares, "+= hone_finite(%s * %s)", off, off);
    unit_set(&e->u, all, "+= %s * %s", off, off);
    unit_close(&e->u, was);
    *finite = arena_printf(e->u.arena, "%s * %.9g", squares, 1.0 / DRAWN_SAMPLES);
    return arena_printf(e->u.arena, "%s * %.9g", all, 1.0 / DRAWN_SAMPLES);
}

/* t is an element of an output. Returns t with a variance that takes drawn errors into account.
 *
 * The variance is at least 4 times the mean square of the drawn errors, or 2 times in a deep
 * network. The factor is there because all eight drawn errors can be small by chance. In a deep
 * network the variance can also be far too large, because the model does not know which errors
 * cancel. So hone_limit() limits it by the drawn errors, plus the roundings of the output's own
 * phase, which are not drawn. */
static struct term with_drawn_errors(struct emit *e, const struct sink *s, struct term t)
{
    size_t i = (size_t)(s->output - e->g->outputs.items);
    const struct value *copy = e->drawn_outputs ? e->drawn_outputs[i] : NULL;
    struct place p = place_linear(s->v->rank, s->v->shape, unit_index());
    const char *finite;
    if (!copy || e->mode.kind != REFERENCE_SIGMA)
        return t;
    const char *all = drawn_square(e, copy, t, &finite);
    bool deep = e->drawn_depth[copy->id] >= DRAWN_DEEP;
    if (deep) {
        e->only_own = true;
        struct term own = emit_value(e, s->v, &p);
        e->only_own = false;
        t.m = unit_let(&e->u, "hone_limit(%s, %s, %s)", t.m, all, own.m);
    }
    t.m = unit_let(&e->u, "fmax(%s, %d * %s)", t.m, deep ? 2 : 4, finite);
    return t;
}

static void write_output(struct emit *e, const struct sink *s)
{
    if (e->mode.kind == REFERENCE_SIGMA && s->output && index_of(s)) {
        const char *i = emit_chosen_index(e, index_of(s), s->output->name);
        unit_do(&e->u, "OUT_SIGMA(%s, unit, %s, 0)", s->output->name, i);
        return;
    }
    struct place p = place_linear(s->v->rank, s->v->shape, unit_index());
    struct term t = emit_value(e, s->v, &p);
    if (!s->output)
        BUG("a SINK_OUTPUT has no output");
    t = with_drawn_errors(e, s, t);
    t = emit_output(e, s->v, s->output->dtype, t);
    if (e->mode.kind == REFERENCE_SIGMA)
        unit_do(&e->u, "OUT_SIGMA(%s, unit, %s, hone_sigma(%s))", s->output->name, t.v, t.m);
    else if (e->mode.kind == REFERENCE_NOISY || term_is_exact(&t))
        unit_do(&e->u, "OUT(%s, unit, %s)", s->output->name, t.v);
    else
        unit_do(&e->u, "OUT_MAG(%s, unit, %s, fmax(%s, fabs(%s)))", s->output->name, t.v, t.m, t.v);
}

/* Writes the statements that store OWN and OFF of v (emit.h). */
static void write_offs(struct emit *e, const struct value *v)
{
    struct shared_error errors = *e->store[v->id].offs;
    struct place p = place_linear(v->rank, v->shape, unit_index());
    e->shared = &errors;
    unit_do(&e->u, "OWN%u(unit) = %s", v->id, emit_computed(e, v, &p).m);
    for (uint32_t k = 0; k < errors.n; k++) {
        errors.off = (int)k;
        unit_do(&e->u, "OFF%u_%u(unit) = %s", k, v->id, emit_computed(e, v, &p).v);
    }
    e->shared = NULL;
}

/* Stores the one-sided error of v. For an elementwise v, this is how much its element t changes if
 * the sums of products that it reads are off by their own one-sided errors. */
static void write_bias(struct emit *e, const struct value *v, struct term t)
{
    struct shared_error errors;
    struct place p = place_linear(v->rank, v->shape, unit_index());
    const char *squares = "0";
    if (op_row(v->op)->kind != OPK_ELEMENTWISE) {
        unit_do(&e->u, "BIAS%u(unit) = %s", v->id, t.bias);
        return;
    }
    shared_bias(e, v, &errors);
    e->shared = &errors;
    for (uint32_t k = 0; k < errors.n; k++) {
        errors.off = (int)k;
        const char *off = unit_let(&e->u, "%s - %s", emit_computed(e, v, &p).v, t.v);
        if (errors.biased[k])
            squares = arena_printf(e->u.arena, "%s + %s * %s", squares, off, off);
    }
    e->shared = NULL;
    unit_do(&e->u, "BIAS%u(unit) = hone_finite(sqrt(%s) / 4)", v->id, squares);
}

static void write_value(struct emit *e, const struct sink *s)
{
    struct place p = place_linear(s->v->rank, s->v->shape, unit_index());
    struct term t = emit_computed(e, s->v, &p);
    const char *finite;
    unit_do(&e->u, "VAL%u(unit) = %s", s->v->id, t.v);
    /* hone_limit() allows 16 times the mean square, which is meant for the single elements of an
     * output. Later sums combine many elements of v, so 4 times is enough here, and we pass a
     * quarter of the mean square. */
    if (e->store[s->v->id].is_limited)
        t.m = unit_let(&e->u, "hone_limit(%s, %s * 0.25, 0)", t.m,
                       drawn_square(e, e->drawn_copies[s->v->id], t, &finite));
    if (e->store[s->v->id].needs_mag)
        unit_do(&e->u, "MAG%u(unit) = %s", s->v->id, t.m);
    if (e->store[s->v->id].needs_bias)
        write_bias(e, s->v, t);
    if (e->store[s->v->id].offs)
        write_offs(e, s->v);
}

/* The text for a copy with drawn errors computes no variance, because no phase would read it. */
static void write_sink(struct emit *e, const struct sink *s)
{
    const struct store *store = &e->store[s->v->id];
    enum reference_kind kind = e->mode.kind;
    if (s->drawn)
        e->mode.kind = REFERENCE_MAGNITUDE;
    switch (s->kind) {
    case SINK_OUTPUT:
        write_output(e, s);
        break;
    case SINK_VALUE:
        write_value(e, s);
        break;
    case SINK_PART:
        emit_part(e, s->v, store->part_needs_mag, store->part_needs_bias);
        break;
    case SINK_LINES:
        emit_line(e, s->v, s->output || store->needs_mag);
        break;
    }
    e->mode.kind = kind;
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* Returns the number of the first sink of the phase whose last sink is end - 1. A phase has few
 * sinks, because phases with many are seldom similar enough to share a function. */
static size_t phase_start(const struct sink_vec *v, size_t end)
{
    size_t first = end - 1;
    while (first > 0 && end - first < PHASE_SINKS &&
           v->items[first - 1].level == v->items[end - 1].level &&
           v->items[first - 1].units == v->items[end - 1].units &&
           v->items[first - 1].repeat == v->items[end - 1].repeat &&
           v->items[first - 1].drawn == v->items[end - 1].drawn)
        first--;
    return first;
}

static void note_biases(struct writer *w, const char *text)
{
    for (const char *p = text; (p = strstr(p, "BIAS")); p += 4) {
        struct store *s = &w->stores.store[strtoul(p + 4, NULL, 10)];
        if (p > text && p[-1] == 'P')
            s->part_needs_bias = true;
        else
            s->needs_bias = true;
    }
}

static void note_magnitudes(struct writer *w, const char *text)
{
    for (const char *p = text; (p = strstr(p, "MAG")); p += 3) {
        if (!isdigit((unsigned char)p[3]))
            continue;
        struct store *s = &w->stores.store[strtoul(p + 3, NULL, 10)];
        if (p > text && p[-1] == 'P')
            s->part_needs_mag = true;
        else
            s->needs_mag = true;
    }
}

static void describe(const struct sink *s, struct strbuf *out)
{
    static const char *const what[] = {"element of value", "part of value", "line of value",
                                       "element of output"};
    strbuf_addf(out, "one unit per %s ",
                s->repeat ? "element of the hidden state of value" : what[s->kind]);
    if (s->kind == SINK_OUTPUT)
        strbuf_adds(out, s->output->name);
    else
        strbuf_addf(out, "%u (%s)", s->v->id, op_row(s->v->op)->name);
}

static const char *write_about(struct writer *w, size_t first, size_t end)
{
    struct strbuf sb = STRBUF_INIT(MAX_SOURCE);
    const struct sink *sinks = w->stores.sinks.items;
    strbuf_addf(&sb, "/* Units: %s", sinks[first].units->text);
    if (sinks[first].repeat)
        strbuf_addf(&sb, " in each of %s steps", sinks[first].repeat->text);
    for (size_t i = first; i < end; i++) {
        strbuf_adds(&sb, i == first ? "; " : ",\n * ");
        describe(&sinks[i], &sb);
    }
    strbuf_adds(&sb, ". */\n");
    const char *about = arena_strdup(&w->arena, sb.buf);
    strbuf_release(&sb);
    return about;
}

static const bool *find_sampled(struct writer *w)
{
    bool *sampled = arena_alloc(&w->arena, (w->g->values.n + 1) * sizeof *sampled);
    vec_each (const struct sink, s, &w->stores.sinks)
        if (s->kind != SINK_OUTPUT)
            sampled[s->v->id] |= s->drawn;
    return sampled;
}

/* Returns the text of the phase that has the sinks `first` to end - 1. The caller frees it. */
static char *write_body(struct writer *w, size_t first, size_t end)
{
    struct strbuf body = STRBUF_INIT(MAX_SOURCE), sampled = STRBUF_INIT(MAX_SOURCE);
    const struct sink *sinks = w->stores.sinks.items;
    unit_init(&w->emit.u, &w->arena, w->g);
    for (size_t i = first; i < end; i++)
        write_sink(&w->emit, &sinks[i]);
    unit_write(&w->emit.u, &body);
    unit_release(&w->emit.u);
    note_magnitudes(w, body.buf);
    note_biases(w, body.buf);
    if (sinks[first].drawn)
        sampled_body_write(&w->names, w->sampled, body.buf, &sampled);
    w->too_long |= body.truncated || sampled.truncated;
    char *text = strbuf_detach(sinks[first].drawn ? &sampled : &body, NULL);
    strbuf_release(&body);
    strbuf_release(&sampled);
    return text;
}

static int write_phases(struct writer *w, struct err *err)
{
    const struct sink_vec *sinks = &w->stores.sinks;
    size_t n = 0, total = 0, bytes = 0;
    for (size_t end = sinks->n; end > 0; end = phase_start(sinks, end))
        total++;
    if (total > REFERENCE_MAX_PHASES)
        return err_set(err, ERR_LIMIT, "the reference would have %zu phases; %d is the most", total,
                       REFERENCE_MAX_PHASES);
    for (size_t i = 0; i < total; i++) {
        vec_push(&w->phases);
        vec_push(&w->out->phases);
    }
    for (size_t end = sinks->n, first; end > 0; end = first, n++) {
        first = phase_start(sinks, end);
        const struct sink *s = &sinks->items[first];
        const char *fn = n == 0 ? "reference"
                                : arena_printf(&w->g->arena, "p%zu_%s", total - n,
                                               s->output ? "output" : op_row(s->v->op)->name);
        struct phase_body *b = &w->phases.items[total - 1 - n];
        *b = (struct phase_body){.fn = fn,
                                 .about = write_about(w, first, end),
                                 .text = write_body(w, first, end),
                                 .is_repeated = s->repeat};
        w->out->phases.items[total - 1 - n] = (struct graph_phase){fn, s->units, s->repeat};
        bytes += strlen(b->text);
        if (bytes > MAX_UNSHARED)
            return err_set(err, ERR_LIMIT, "the phases of the reference are longer than %d bytes",
                           MAX_UNSHARED);
    }
    return 0;
}

/* ---- scratch --------------------------------------------------------------------------------- */

static void add_region(struct writer *w, const char *kind, uint32_t id, const struct dim *size,
                       bool sampled)
{
    struct dim_pool *p = &w->g->dims;
    size_t c = 0;
    if (sampled)
        size = dim_mul(p, size, dim_number(p, DRAWN_SAMPLES));
    while (c < w->classes.n && w->classes.items[c].size != size)
        c++;
    if (c == w->classes.n)
        *vec_push(&w->classes) = (struct region_class){size, 0};
    *vec_push(&w->regions) = (struct region){.name = arena_printf(&w->arena, "%s%u", kind, id),
                                             .in = c,
                                             .number = w->classes.items[c].n++,
                                             .sampled = sampled,
                                             .next = w->first_region[id]};
    w->first_region[id] = w->regions.n;
}

static void place_regions(struct writer *w)
{
    struct dim_pool *p = &w->g->dims;
    w->first_region = arena_alloc(&w->arena, (w->g->values.n + 1) * sizeof *w->first_region);
    vec_each (const struct sink, s, &w->stores.sinks) {
        const struct store *store = &w->stores.store[s->v->id];
        const struct dim *n = dim_product(p, s->v->shape, s->v->rank);
        uint32_t id = s->v->id;
        if (s->kind == SINK_PART) {
            add_region(w, "PART", id, s->units, s->drawn);
            if (store->part_needs_mag)
                add_region(w, "PMAG", id, s->units, false);
            if (store->part_needs_bias)
                add_region(w, "PBIAS", id, s->units, false);
        } else if (s->kind != SINK_OUTPUT && !s->output) {
            add_region(w, "VAL", id, n, s->drawn);
            if (store->needs_mag)
                add_region(w, "MAG", id, n, false);
            if (store->needs_bias)
                add_region(w, "BIAS", id, n, false);
            if (store->offs)
                add_region(w, "OWN", id, n, false);
            for (uint32_t k = 0; store->offs && k < store->offs->n; k++)
                add_region(w, arena_printf(&w->arena, "OFF%u_", k), id, n, false);
        }
    }
}

static const char *place_text(void *ctx, uint32_t id, const char *name)
{
    struct writer *w = ctx;
    for (size_t i = w->first_region[id]; i; i = w->regions.items[i - 1].next) {
        const struct region *r = &w->regions.items[i - 1];
        if (str_eq(r->name, name))
            return arena_printf(&w->arena, "hone_place(hone, %zu, %zu)", r->in, r->number);
    }
    BUG("no phase stores %s", name);
}

/* Writes the function hone_place(), which says where a region begins in the scratch memory. Also
 * sets w->out->scratch to the size of all regions. */
static void write_places(struct writer *w, struct strbuf *out)
{
    struct dim_pool *p = &w->g->dims;
    struct unit_text u;
    if (!w->classes.n)
        return;
    unit_init(&u, &w->arena, w->g);
    strbuf_adds(out, "\n/* Where number k of the regions of one size begins in scratch. */\n"
                     "HONE_PLACE int64_t hone_place(const struct hone_ref_ctx *hone, int size, "
                     "int64_t k)\n{\n    switch (size) {\n");
    for (size_t c = 0; c < w->classes.n; c++) {
        const struct region_class *in = &w->classes.items[c];
        const struct dim *all = dim_mul(p, in->size, dim_number(p, (int64_t)in->n));
        if (c + 1 < w->classes.n)
            strbuf_addf(out, "    case %zu:\n        return ", c);
        else
            strbuf_adds(out, "    default:\n        return ");
        if (c)
            strbuf_addf(out, "%s + ", dim_in_c(&u, w->out->scratch));
        strbuf_addf(out, "k * %s;\n", dim_in_c(&u, in->size));
        w->out->scratch = c ? dim_add(p, w->out->scratch, all) : all;
    }
    strbuf_adds(out, "    }\n}\n");
    unit_release(&u);
}

/* Phases that share a function use the macros of the first of these phases. */
static void write_macros(const struct writer *w, struct strbuf *all)
{
    struct strbuf macros = STRBUF_INIT(MAX_SOURCE), *out = &macros;
    vec_each (const struct sink, s, &w->stores.sinks) {
        if (s->output && s->kind != SINK_OUTPUT) {
            strbuf_addf(out, "#define VAL%u(i) (hone->out_value[HT_%s][i])\n", s->v->id,
                        s->output->name);
            strbuf_addf(out, "#define MAG%u(i) (hone->out_mag[HT_%s][i])\n", s->v->id,
                        s->output->name);
        }
    }
    for (size_t id = 0; id < w->g->values.n; id++) {
        for (size_t i = w->accessed[id] ? w->first_region[id] : 0; i;) {
            const struct region *r = &w->regions.items[i - 1];
            strbuf_addf(out, "#define %s(i) SCRATCH(%s_at + ", r->name, r->name);
            if (r->sampled)
                strbuf_addf(out, "%d * (i) + sample)\n", DRAWN_SAMPLES);
            else
                strbuf_adds(out, "(i))\n");
            i = r->next;
        }
    }
    if (macros.len)
        strbuf_addf(all,
                    "\n/* Values that phases store: VAL and PART, with %s MAG and PMAG. */\n%s",
                    w->emit.mode.kind == REFERENCE_SIGMA ? "variances" : "magnitudes", macros.buf);
    if (strstr(w->bodies.buf ? w->bodies.buf : "", "= SAMPLES("))
        strbuf_addf(all, SAMPLED_BODY_MACRO, DRAWN_SAMPLES, DRAWN_SAMPLES);
    strbuf_release(&macros);
}

/* ---- phases that share their text ------------------------------------------------------------ */

static void join_phases(struct writer *w)
{
    size_t bytes = 0, from = w->emit.mode.share_from;
    w->accessed = arena_alloc(&w->arena, (w->g->values.n + 1) * sizeof *w->accessed);
    vec_each (const struct phase_body, b, &w->phases)
        bytes += strlen(b->text);
    struct shared_bodies s = {.names = &w->names,
                              .sampled = w->sampled,
                              .g = w->g,
                              .arena = &w->arena,
                              .place = place_text,
                              .ctx = w,
                              .bodies = w->phases.items,
                              .n = w->phases.n,
                              .share = bytes > (from ? from : REFERENCE_SHARE_FROM)};
    shared_bodies_find(&s);
    for (size_t i = 0; i < s.n; i++) {
        shared_bodies_write(&s, i, &w->bodies);
        if (s.bodies[i].first != i)
            continue;
        struct body_scan scan = {.names = &w->names, .text = s.bodies[i].text};
        struct body_token t;
        while (body_next(&scan, &t))
            if (t.kind == TOKEN_REGION)
                w->accessed[t.id] = true;
    }
    shared_bodies_release(&s);
}

/* ---- helpers --------------------------------------------------------------------------------- */

static const struct {
    const char *name, *text;
} helpers[] = {
    {"hone_max(", "/* As in PyTorch, a NaN wins. */\n"
                  "HONE_FN double hone_max(double a, double b)\n"
                  "{\n    return a > b || a != a ? a : b;\n}\n"},
    {"hone_min(", "/* As in PyTorch, a NaN wins. */\n"
                  "HONE_FN double hone_min(double a, double b)\n"
                  "{\n    return a < b || a != a ? a : b;\n}\n"},
    {"hone_excess(", "/* By how much the magnitude m of v exceeds |v|. */\n"
                     "HONE_FN double hone_excess(double m, double v)\n"
                     "{\n    return fmax(m - fabs(v), 0.0);\n}\n"},
    {"hone_own(", "/* The variance of the rounding of v: c is the variance at v = 1, and `least`\n"
                  " * is added to it. */\n"
                  "HONE_FN double hone_own(double c, double least, double v)\n"
                  "{\n    return v != 0 && v * v < INFINITY ? c * v * v + least : 0.0;\n}\n"},
    {"hone_finite(", "HONE_FN double hone_finite(double v)\n"
                     "{\n    return v < INFINITY ? v : 0.0;\n}\n"},
    {"hone_product(", "/* The variance of a * b. */\n"
                      "HONE_FN double hone_product(double a, double b, double va, double vb)\n"
                      "{\n    double v = a * a * vb + b * b * va + va * vb;\n"
                      "    return v < INFINITY ? v : 0.0;\n}\n"},
    {"hone_share(", "/* The variance of f = a / b, where a is one of the terms of b. */\n"
                    "HONE_FN double hone_share(double f, double b, double va, double vb)\n"
                    "{\n    double v = ((1 - 2 * f) * va + f * f * vb) / (b * b);\n"
                    "    return v > 0 && v < INFINITY ? v : 0.0;\n}\n"},
    {"hone_secant(", "/* The variance of f, which becomes `up` or `down` if an operand is off by 4 "
                     "sigma. */\n"
                     "HONE_FN double hone_secant(double f, double up, double down)\n"
                     "{\n    double a = fabs(up - f), b = fabs(down - f);\n"
                     "    a = a < INFINITY ? a : 0.0;\n    b = b < INFINITY ? b : 0.0;\n"
                     "    a = a > b ? a : b;\n    return a * a / 16;\n}\n"},
    {"hone_pick(",
     "/* The variance of a choice between c and t, with the variances vc and vt. `take` says that\n"
     " * t is chosen. If c and t are close, either may be chosen, so the result is the larger\n"
     " * variance. */\n"
     "HONE_FN double hone_pick(int64_t take, double c, double t, double vc, double vt)\n"
     "{\n    double d = t - c, v = vt > vc ? vt : vc;\n"
     "    return d * d <= 32 * (vt + vc) ? v : take ? vt : vc;\n}\n"},
    {"hone_chain(",
     "/* The sum of the squares of all partial sums that are rounded. Returns the larger of two\n"
     " * numbers: `squares`, for the order in which the terms came, and an estimate for a random\n"
     " * order. There are n terms with sum s; q is the sum of their squares. If the terms are\n"
     " * products, adds 2 q: a tensor core may compute each of them as three products in TF32. */\n"
     "HONE_FN double hone_chain(double squares, double s, double q, double n, int products)\n"
     "{\n    if (!(n > 0))\n        return 0;\n"
     "    double mean = s / n, var = q / n - mean * mean;\n"
     "    double any = n * (n + 1) / 6 * ((2 * n + 1) * mean * mean + (var > 0 ? var : 0));\n"
     "    any -= products ? 0 : q / n;\n"
     "    return (any > squares ? any : squares) + (products ? 2 * q : 0);\n}\n"},
    {"hone_tree(", "/* The same for a tree over n sums that add up to s; q is the sum of their "
                   "squares. */\n"
                   "HONE_FN double hone_tree(double s, double q, double n)\n"
                   "{\n    return n > 1 ? 2 * s * s + log2(n) * q : 0.0;\n}\n"},
    {"hone_bias(",
     "/* The one-sided error of a sum v of n products. q is the sum of their squares, `chain` the\n"
     " * variance of the roundings of v, and u2 the square of the unit roundoff. */\n"
     "HONE_FN double hone_bias(double chain, double u2, double v, double q, double n)\n"
     "{\n    double b = u2 * (v * v + 4 * q);\n"
     "    b = b < chain ? b : chain;\n"
     "    return n >= 16 && b < INFINITY ? sqrt(b) : 0.0;\n}\n"},
    {"hone_side(", "/* A random number with variance 1. */\n"
                   "HONE_FN double hone_side(uint64_t key)\n"
                   "{\n    return ((double)(key >> 40) / 8388608.0 - 1) * 1.7320508;\n}\n"},
    {"hone_sigma(", "HONE_FN double hone_sigma(double variance)\n"
                    "{\n    return variance > 0 && variance < INFINITY ? sqrt(variance) : 0.0;\n"
                    "}\n"},
    {"hone_limit(",
     "/* The variance m, but at most 16 times the mean square of the drawn errors, the variance\n"
     " * `own` of the last roundings, and a part of m for the other roundings to float32, which\n"
     " * are not drawn. If there are no drawn errors, m has no error of a product. */\n"
     "HONE_FN double hone_limit(double m, double drawn, double own)\n"
     "{\n    double most = 16 * drawn + own + m / 65536;\n"
     "    return drawn > 0 && most < m ? most : m;\n}\n"},
    {"hone_whole(",
     "/* x without its fraction. NaN and numbers beyond int64 become its limits. */\n"
     "HONE_FN int64_t hone_whole(double x)\n"
     "{\n    if (x >= 9223372036854775808.0)\n        return 9223372036854775807;\n"
     "    return x > -9223372036854775808.0 ? (int64_t)x : "
     "-9223372036854775807 - 1;\n}\n"},
    {"hone_index(", "/* Returns i if it is an index below n, else `otherwise`. */\n"
                    "HONE_FN int64_t hone_index(double i, double otherwise, int64_t n)\n"
                    "{\n    return (int64_t)(i >= 0 && i < (double)n ? i : otherwise);\n}\n"},
    {"hone_tie(", "/* Are a and b the same within 8 sigma, or both NaN? */\n"
                  "HONE_FN int hone_tie(double a, double b, double variance)\n"
                  "{\n    return a == b || (a != a && b != b) ||\n"
                  "           (a - b) * (a - b) <= 64 * variance;\n}\n"},
    {"hone_key(", "/* Random bits number i of the sequence `of`. hone_noise_seed changes them. */\n"
                  "HONE_REF_EXPORT uint64_t hone_noise_seed;\nuint64_t hone_noise_seed = 1;\n"
                  "HONE_FN uint64_t hone_key(uint64_t of, uint64_t i)\n"
                  "{\n    uint64_t x = hone_noise_seed + of * 0x9e3779b97f4a7c15u;\n"
                  "    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u + i * 0xd1b54a32d192ed03u;\n"
                  "    x = (x ^ x >> 27) * 0x94d049bb133111ebu;\n"
                  "    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;\n"
                  "    return x ^ x >> 31;\n}\n"},
    {"hone_draw(", "/* Random bits that depend on the arguments only. */\n"
                   "HONE_FN uint64_t hone_draw(uint64_t of, uint64_t i, uint64_t sample)\n"
                   "{\n    uint64_t x = (of + 1) * 0x9e3779b97f4a7c15u + i * 0xd1b54a32d192ed03u;\n"
                   "    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u + sample * 0x8cb92ba72f3d8dd7u;\n"
                   "    x = (x ^ x >> 27) * 0x94d049bb133111ebu;\n"
                   "    return x ^ x >> 31;\n}\n"},
    {"hone_drawn(",
     "/* v in TF32 with a random error: four uniform ones, of 2^-11/sqrt(3) together. "
     "*/\n"
     "HONE_FN double hone_drawn(double v, uint64_t key)\n"
     "{\n    double r = (double)((key & 65535) + (key >> 16 & 65535) + (key >> 32 & "
     "65535) + (key >> 48));\n"
     "    return v + (r / 65536 - 2) * 0.00048828125 * v;\n}\n"},
    {"hone_noisy(",
     "/* v with an error that is uniform in +-spread, then rounded at random to one of the two\n"
     " * nearest numbers with `bits` mantissa bits. 11 stands for TF32; 52 means no rounding. */\n"
     "HONE_FN double hone_noisy(double v, double spread, int bits, uint64_t key)\n"
     "{\n"
     "    union {\n        double d;\n        uint64_t u;\n    } x;\n"
     "    double r = (double)(key >> 40) / 16777216.0, least, far;\n"
     "    int tf32 = bits == 11;\n"
     "    bits -= tf32;\n"
     "    uint64_t low = ((uint64_t)1 << (52 - bits)) - 1;\n"
     "    v += spread * (2 * r - 1);\n"
     "    if (bits == 52 || !(fabs(v) < INFINITY))\n        return v;\n"
     "    least = (bits == 10 && !tf32) || bits == 2 ? 6.103515625e-05 : bits == 3 ? 0.015625 : "
     "1.17549435e-38;\n"
     "    far = ldexp(least, -bits);\n"
     "    key *= 0x9e3779b97f4a7c15u;\n"
     "    if (fabs(v) < least)\n"
     "        return floor(v / far + (double)(key >> 40) / 16777216.0) * far;\n"
     "    x.d = v;\n    x.u = (x.u + (key >> 8 & low)) & ~low;\n    return x.d;\n}\n"},
    {"hone_at(", "/* Returns i as an index of n elements. A negative i counts from the end. */\n"
                 "HONE_FN int64_t hone_at(double i, int64_t n)\n"
                 "{\n    if (i < 0)\n        i += (double)n;\n"
                 "    return i >= 0 && i < (double)n ? (int64_t)i : 0;\n}\n"},
    {"hone_end(", "/* Returns i, but at least 0 and at most n. */\n"
                  "HONE_FN int64_t hone_end(double i, int64_t n)\n"
                  "{\n    return i >= 0 ? (i < (double)n ? (int64_t)i : n) : 0;\n}\n"},
    {"hone_size_min(", "HONE_FN int64_t hone_size_min(int64_t a, int64_t b)\n"
                       "{\n    return a < b ? a : b;\n}\n"},
    {"hone_size_max(", "HONE_FN int64_t hone_size_max(int64_t a, int64_t b)\n"
                       "{\n    return a > b ? a : b;\n}\n"},
    {"hone_size_cdiv(", "HONE_FN int64_t hone_size_cdiv(int64_t a, int64_t b)\n"
                        "{\n    return a / b + (a % b > 0);\n}\n"},
    {"hone_size_align(", "HONE_FN int64_t hone_size_align(int64_t a, int64_t b)\n"
                         "{\n    return (a / b + (a % b > 0)) * b;\n}\n"},
    {"hone_size_pow2ceil(", "HONE_FN int64_t hone_size_pow2ceil(int64_t a)\n"
                            "{\n    int64_t n = 1;\n    while (n < a)\n        n *= 2;\n"
                            "    return n;\n}\n"},
};

static void write_helpers(const char *text, struct strbuf *out)
{
    static const enum dtype whole[] = {DT_I64, DT_I32, DT_I16, DT_I8,
                                       DT_U64, DT_U32, DT_U16, DT_U8};
    for (size_t i = 0; i < ARRAY_LEN(helpers); i++)
        if (strstr(text, helpers[i].name))
            strbuf_addf(out, "\n%s", helpers[i].text);
    for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
        char name[32];
        snprintf(name, sizeof name, "hone_%s(", dtype_name(whole[i]));
        if (strstr(text, name))
            strbuf_addf(out,
                        "\n/* Integers wrap around. */\n"
                        "HONE_FN double %suint64_t v)\n{\n    return (double)(%s_t)v;\n}\n",
                        name, dtype_name(whole[i]));
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void write_source(struct writer *w)
{
    struct strbuf *out = &w->out->source;
    struct strbuf head = STRBUF_INIT(MAX_SOURCE), all = STRBUF_INIT(2 * MAX_SOURCE);
    write_places(w, &head);
    write_macros(w, &head);
    strbuf_addf(&all, "%s%s", head.buf, w->bodies.buf);
    strbuf_adds(out, "#include \"hone_ref.h\"\n");
    write_helpers(all.buf, out);
    strbuf_adds(out, head.buf);
    strbuf_adds(out, w->bodies.buf);
    strbuf_release(&head);
    strbuf_release(&all);
}

int graph_write_reference(const struct graph *g, struct graph_reference *out, struct err *err)
{
    return graph_write_reference_as(g, (struct reference_mode){.kind = REFERENCE_MAGNITUDE}, out,
                                    err);
}

int graph_write_reference_as(const struct graph *g, struct reference_mode mode,
                             struct graph_reference *out, struct err *err)
{
    struct writer w = {.out = out, .arena = ARENA_INIT, .bodies = STRBUF_INIT(MAX_SOURCE)};
    *out = (struct graph_reference){.source = STRBUF_INIT(MAX_SOURCE)};
    out->lowered = w.g = xcalloc(1, sizeof *w.g);
    w.emit.mode = mode;
    int rc = graph_lower(g, w.g, &w.emit.notes, err);
    if (rc == 0) {
        w.emit.g = w.g;
        out->work = drawn_plan(&w.emit) ? 1 + DRAWN_SAMPLES : 1;
        stores_plan(&w.stores, &w.emit);
        w.names = (struct body_names){w.g->values.n, w.stores.direct};
        w.sampled = find_sampled(&w);
        rc = write_phases(&w, err);
        if (rc == 0) {
            place_regions(&w);
            join_phases(&w);
            write_source(&w);
        }
        stores_release(&w.stores);
    }
    if (rc == 0 && (w.too_long || out->source.truncated || w.bodies.truncated))
        rc = err_set(err, ERR_LIMIT, "the reference is longer than %d bytes", MAX_SOURCE);
    if (rc == 0 && w.g->dims.too_long)
        rc = err_set(err, ERR_LIMIT, "a size of the reference is too long to write");
    vec_each (struct phase_body, b, &w.phases)
        free(b->text);
    vec_release(&w.phases);
    strbuf_release(&w.bodies);
    vec_release(&w.classes);
    vec_release(&w.regions);
    arena_release(&w.arena);
    if (rc < 0)
        graph_reference_release(out);
    return rc;
}

void graph_reference_release(struct graph_reference *r)
{
    strbuf_release(&r->source);
    vec_release(&r->phases);
    if (r->lowered)
        graph_release(r->lowered);
    free(r->lowered);
    *r = (struct graph_reference){.source = STRBUF_INIT(MAX_SOURCE)};
}
