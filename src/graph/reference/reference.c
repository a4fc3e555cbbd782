/*
 * reference.c - writes the text of a reference: phases, scratch and helper functions (reference.h).
 *
 * Phases are written from the last to the first. So when we write a phase, we know which magnitudes
 * the later phases read, and store only those.
 */
#include "graph/reference/reference.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/reference/drawn.h"
#include "graph/reference/lower.h"
#include "graph/reference/stores.h"

enum { MAX_SOURCE = 8 << 20 }; /* as TASK_MAX_REFERENCE */

/* A region is the part of scratch that holds one value. Regions of the same size form a class and
 * lie side by side. So the text needs only one expression per class to say where regions begin. */
struct region_class {
    const struct dim *size;
    size_t n;
};

struct writer {
    struct graph_reference *out;
    struct graph *g;
    struct emit emit;
    struct stores stores;
    struct arena arena;
    struct strbuf bodies; /* the text of all phases, in order */
    VEC(struct region_class) classes;
};

/* ---- one sink -------------------------------------------------------------------------------- */

/* The argmax or argmin that an output of integers holds; NULL = it holds something else. */
static const struct value *index_of(const struct sink *s)
{
    const struct value *v = s->v;
    while (v->op == OP_RESHAPE || (v->op == OP_CAST && !dtype_is_float(v->dtype)))
        v = v->args[0];
    bool is_index = v->op == OP_ARGMAX || v->op == OP_ARGMIN;
    return is_index && !dtype_is_float(s->output->dtype) && s->output->dtype != DT_BOOL ? v : NULL;
}

/* Replaces the variance of t by twice the mean square of the drawn errors, if that is larger. */
static struct term with_drawn_errors(struct emit *e, const struct sink *s, struct term t)
{
    size_t i = (size_t)(s->output - e->g->outputs.items);
    const struct value *copy = e->drawn_outputs ? e->drawn_outputs[i] : NULL;
    struct place p = place_linear(s->v->rank, s->v->shape, unit_index());
    if (!copy || e->mode.kind != REFERENCE_SIGMA)
        return t;
    const char *squares = unit_var(&e->u, "0");
    struct scope *was = unit_loop_named(&e->u, "sample", DRAWN_SAMPLES);
    e->least_depth = scope_depth(e->u.at);
    e->mode.kind = REFERENCE_MAGNITUDE;
    struct term drawn = emit_value(e, copy, &p);
    e->mode.kind = REFERENCE_SIGMA;
    e->least_depth = 0;
    const char *off = unit_let(&e->u, "%s - %s", drawn.v, t.v);
    unit_set(&e->u, squares, "+= hone_finite(%s * %s)", off, off);
    unit_close(&e->u, was);
    t.m = unit_let(&e->u, "fmax(%s, %s * %.9g)", t.m, squares, 2.0 / DRAWN_SAMPLES);
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

/* Stores the variance of v without its shared errors (OWN), and v with each of their sources off
 * (OFF). */
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

/* Stores the one-sided error of v, whose element is t: that of its sum of products, or the change
 * of v if the sums are off by this error. */
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
    unit_do(&e->u, "VAL%u(unit) = %s", s->v->id, t.v);
    if (e->store[s->v->id].needs_mag)
        unit_do(&e->u, "MAG%u(unit) = %s", s->v->id, t.m);
    if (e->store[s->v->id].needs_bias)
        write_bias(e, s->v, t);
    if (e->store[s->v->id].offs)
        write_offs(e, s->v);
}

/* Writes one sink. A copy with drawn errors gets no variance, because no phase reads that. */
static void write_sink(struct emit *e, const struct sink *s)
{
    const struct store *store = &e->store[s->v->id];
    enum reference_kind kind = e->mode.kind;
    if (s->each)
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

/* Consecutive sinks with the same level, the same number of units and the same `each` make one
 * phase. Returns the first sink of the phase that ends before `end`. */
static size_t phase_start(const struct sink_vec *v, size_t end)
{
    size_t first = end - 1;
    while (first > 0 && v->items[first - 1].level == v->items[end - 1].level &&
           v->items[first - 1].units == v->items[end - 1].units &&
           v->items[first - 1].each == v->items[end - 1].each)
        first--;
    return first;
}

/* Notes which one-sided errors the text reads. */
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

/* Notes which magnitudes the text reads. */
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

/* ---- places in scratch ----------------------------------------------------------------------- */

/* If the text at p begins with a macro that reads scratch, such as VAL12(, returns the length of
 * its name and sets the value's id. */
static size_t region_name(const struct writer *w, const char *p, unsigned long *id)
{
    static const char *const kinds[] = {"VAL", "MAG", "PART", "PMAG",
                                        "OWN", "OFF", "BIAS", "PBIAS"};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        size_t n = strlen(kinds[k]);
        char *end;
        if (strncmp(p, kinds[k], n) != 0)
            continue;
        if (k == 5) { /* OFF0_12 */
            n += strspn(p + n, "0123456789");
            n += p[n] == '_';
        }
        *id = strtoul(p + n, &end, 10);
        bool direct = k < 2 && *id < w->g->values.n && w->stores.direct[*id];
        if (isdigit((unsigned char)p[n]) && *end == '(' && !direct)
            return (size_t)(end - p);
    }
    return 0;
}

/* Declares where the regions begin that the text reads or writes. The expressions are long, so a
 * unit computes each of them once. */
static void add_places(struct writer *w, const char *text, struct strbuf *out)
{
    VEC(const char *) seen = VEC_INIT;
    for (const char *p = text; *p;) {
        unsigned long id;
        size_t n = region_name(w, p, &id);
        const char *name = n ? arena_strndup(&w->arena, p, n) : NULL;
        bool known = !name;
        for (size_t i = 0; !known && i < seen.n; i++)
            known = str_eq(seen.items[i], name);
        if (!known) {
            *vec_push(&seen) = name;
            strbuf_addf(out, "    const int64_t %s_at = AT_%s;\n", name, name);
        }
        while (isalnum((unsigned char)*p) || *p == '_')
            p++;
        while (*p && !isalnum((unsigned char)*p) && *p != '_')
            p++;
    }
    vec_release(&seen);
}

static void describe(const struct sink *s, struct strbuf *out)
{
    static const char *const what[] = {"element of value", "part of value", "line of value",
                                       "element of output"};
    strbuf_addf(out, "one unit per %s ", what[s->kind]);
    if (s->kind == SINK_OUTPUT)
        strbuf_adds(out, s->output->name);
    else
        strbuf_addf(out, "%u (%s)", s->v->id, op_row(s->v->op)->name);
}

/* Adds the text of a phase that computes copies with drawn errors. Unit number = sample * `each` +
 * element. */
static void add_sampled(struct writer *w, const struct dim *each, const char *text,
                        struct strbuf *out)
{
    struct unit_text u;
    unit_init(&u, &w->arena, w->g);
    strbuf_addf(out, "    const int64_t sample = unit / %s, element = unit %% %s;\n",
                dim_in_c(&u, each), dim_in_c(&u, each));
    unit_release(&u);
    for (const char *p = text; *p;) {
        size_t n = 0;
        while (isalnum((unsigned char)p[n]) || p[n] == '_')
            n++;
        if (n == 4 && memcmp(p, "unit", 4) == 0)
            strbuf_adds(out, "element");
        else
            strbuf_add(out, p, n ? n : 1);
        p += n ? n : 1;
    }
}

static char *write_phase(struct writer *w, const char *fn, size_t first, size_t end)
{
    struct strbuf sb = STRBUF_INIT(MAX_SOURCE), body = STRBUF_INIT(MAX_SOURCE);
    const struct sink *sinks = w->stores.sinks.items;
    unit_init(&w->emit.u, &w->arena, w->g);
    for (size_t i = first; i < end; i++)
        write_sink(&w->emit, &sinks[i]);
    for (size_t i = first; i < end; i++) {
        strbuf_adds(&sb, i == first ? "\n/* Units: " : ",\n * ");
        if (i == first)
            strbuf_addf(&sb, "%s; ", sinks[i].units->text);
        describe(&sinks[i], &sb);
    }
    strbuf_addf(&sb, ". */\nPHASE(%s)\n{\n", fn);
    unit_write(&w->emit.u, &body);
    add_places(w, body.buf, &sb);
    if (sinks[first].each)
        add_sampled(w, sinks[first].each, body.buf, &sb);
    else
        strbuf_adds(&sb, body.buf);
    note_magnitudes(w, body.buf);
    note_biases(w, body.buf);
    strbuf_adds(&sb, "}\n");
    unit_release(&w->emit.u);
    strbuf_release(&body);
    return strbuf_detach(&sb, NULL);
}

static int write_phases(struct writer *w, struct err *err)
{
    const struct sink_vec *sinks = &w->stores.sinks;
    char *text[REFERENCE_MAX_PHASES];
    struct graph_phase phase[REFERENCE_MAX_PHASES];
    size_t n = 0, total = 0, k = 0;
    for (size_t end = sinks->n; end > 0; end = phase_start(sinks, end))
        total++;
    if (total > REFERENCE_MAX_PHASES)
        return err_set(err, ERR_LIMIT, "the reference would have %zu phases; %d is the most", total,
                       REFERENCE_MAX_PHASES);
    for (size_t end = sinks->n, first; end > 0; end = first, n++) {
        first = phase_start(sinks, end);
        const struct sink *s = &sinks->items[first];
        phase[n].units = s->units;
        phase[n].fn = n == 0 ? "reference"
                             : arena_printf(&w->g->arena, "p%zu_%s", total - n,
                                            s->output ? "output" : op_row(s->v->op)->name);
        text[n] = write_phase(w, phase[n].fn, first, end);
    }
    for (k = n; k-- > 0;) {
        *vec_push(&w->out->phases) = phase[k];
        strbuf_adds(&w->bodies, text[k]);
        free(text[k]);
    }
    return 0;
}

/* ---- scratch --------------------------------------------------------------------------------- */

static void add_region(struct writer *w, struct strbuf *out, const char *name, uint32_t id,
                       const struct dim *size, bool sampled)
{
    struct dim_pool *p = &w->g->dims;
    size_t c = 0;
    if (sampled)
        size = dim_mul(p, size, dim_number(p, DRAWN_SAMPLES));
    while (c < w->classes.n && w->classes.items[c].size != size)
        c++;
    if (c == w->classes.n)
        *vec_push(&w->classes) = (struct region_class){size, 0};
    struct region_class *in = &w->classes.items[c];
    strbuf_addf(out, "#define AT_%s%u (BASE%zu + %zu * SIZE%zu)\n", name, id, c, in->n++, c);
    if (sampled)
        strbuf_addf(out, "#define %s%u(i) SCRATCH(%s%u_at + %d * (i) + sample)\n", name, id, name,
                    id, DRAWN_SAMPLES);
    else
        strbuf_addf(out, "#define %s%u(i) SCRATCH(%s%u_at + (i))\n", name, id, name, id);
}

/* Defines the place and size of each class of regions, and adds up the sizes. */
static void write_classes(struct writer *w, struct strbuf *out)
{
    struct dim_pool *p = &w->g->dims;
    struct unit_text u;
    unit_init(&u, &w->arena, w->g);
    for (size_t c = 0; c < w->classes.n; c++) {
        const struct region_class *in = &w->classes.items[c];
        const struct dim *all = dim_mul(p, in->size, dim_number(p, (int64_t)in->n));
        w->out->scratch = c ? dim_add(p, w->out->scratch, all) : all;
        strbuf_addf(out, "#define SIZE%zu %s\n", c, dim_in_c(&u, in->size));
        if (c)
            strbuf_addf(out, "#define BASE%zu (BASE%zu + %zu * SIZE%zu)\n", c, c - 1, in[-1].n,
                        c - 1);
        else
            strbuf_adds(out, "#define BASE0 ((int64_t)0)\n");
    }
    unit_release(&u);
}

static void write_regions(struct writer *w, struct strbuf *all)
{
    struct dim_pool *p = &w->g->dims;
    struct strbuf regions = STRBUF_INIT(MAX_SOURCE), *out = &regions;
    vec_each (const struct sink, s, &w->stores.sinks) {
        const struct store *store = &w->stores.store[s->v->id];
        const struct dim *n = dim_product(p, s->v->shape, s->v->rank);
        uint32_t id = s->v->id;
        if (s->kind == SINK_OUTPUT)
            continue;
        if (s->kind == SINK_PART) {
            add_region(w, out, "PART", id, s->each ? s->each : s->units, s->each);
            if (store->part_needs_mag)
                add_region(w, out, "PMAG", id, s->units, false);
            if (store->part_needs_bias)
                add_region(w, out, "PBIAS", id, s->units, false);
        } else if (s->output) {
            strbuf_addf(out, "#define VAL%u(i) (hone->out_value[HT_%s][i])\n", id, s->output->name);
            strbuf_addf(out, "#define MAG%u(i) (hone->out_mag[HT_%s][i])\n", id, s->output->name);
        } else {
            add_region(w, out, "VAL", id, n, s->each);
            if (store->needs_mag)
                add_region(w, out, "MAG", id, n, false);
            if (store->needs_bias)
                add_region(w, out, "BIAS", id, n, false);
            if (store->offs)
                add_region(w, out, "OWN", id, n, false);
            for (uint32_t k = 0; store->offs && k < store->offs->n; k++)
                add_region(w, out, arena_printf(&w->arena, "OFF%u_", k), id, n, false);
        }
    }
    write_classes(w, all);
    strbuf_adds(all, regions.buf ? regions.buf : "");
    strbuf_release(&regions);
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
    {"hone_own(", "/* The variance of a rounding: c is its variance at 1, `least` the least. */\n"
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
    {"hone_pick(", "/* The variance of the larger or smaller of c and t; t if `take`. If they lie "
                   "close, either\n * may be chosen. */\n"
                   "HONE_FN double hone_pick(int64_t take, double c, double t, double vc, double "
                   "vt)\n"
                   "{\n    double d = t - c, v = vt > vc ? vt : vc;\n"
                   "    return d * d <= 32 * (vt + vc) ? v : take ? vt : vc;\n}\n"},
    {"hone_chain(",
     "/* The sum of the squares of the partial sums that are rounded: as the terms came, or as "
     "they\n"
     " * come in a random order. n terms with sum s and sum of squares q. */\n"
     "HONE_FN double hone_chain(double squares, double s, double q, double n, int products)\n"
     "{\n    if (!(n > 0))\n        return 0;\n"
     "    double mean = s / n, var = q / n - mean * mean;\n"
     "    double any = n * (n + 1) / 6 * ((2 * n + 1) * mean * mean + (var > 0 ? var : 0));\n"
     "    any -= products ? 0 : q / n;\n"
     "    return any > squares ? any : squares;\n}\n"},
    {"hone_tree(", "/* The same for a tree over n sums that add up to s; q is the sum of their "
                   "squares. */\n"
                   "HONE_FN double hone_tree(double s, double q, double n)\n"
                   "{\n    return n > 1 ? 2 * s * s + log2(n) * q : 0.0;\n}\n"},
    {"hone_bias(",
     "/* The one-sided error of a sum v of n products; q is the sum of their squares, "
     "`chain` the\n * variance of its roundings. */\n"
     "HONE_FN double hone_bias(double chain, double u2, double v, double q, double "
     "n)\n"
     "{\n    double b = u2 * (v * v + 4 * q);\n"
     "    b = b < chain ? b : chain;\n"
     "    return n >= 16 && b < INFINITY ? sqrt(b) : 0.0;\n}\n"},
    {"hone_side(", "/* A random number with variance 1. */\n"
                   "HONE_FN double hone_side(uint64_t key)\n"
                   "{\n    return ((double)(key >> 40) / 8388608.0 - 1) * 1.7320508;\n}\n"},
    {"hone_sigma(", "HONE_FN double hone_sigma(double variance)\n"
                    "{\n    return variance > 0 && variance < INFINITY ? sqrt(variance) : 0.0;\n"
                    "}\n"},
    {"hone_index(", "/* An index below n, or `otherwise`. */\n"
                    "HONE_FN int64_t hone_index(double i, double otherwise, int64_t n)\n"
                    "{\n    return (int64_t)(i >= 0 && i < (double)n ? i : otherwise);\n}\n"},
    {"hone_tie(", "/* Are a and b the same within 8 sigma, or both NaN? */\n"
                  "HONE_FN int hone_tie(double a, double b, double variance)\n"
                  "{\n    return a == b || (a != a && b != b) ||\n"
                  "           (a - b) * (a - b) <= 64 * variance;\n}\n"},
    {"hone_key(", "/* Random bits for step i of something. */\n"
                  "HONE_REF_EXPORT uint64_t hone_noise_seed;\nuint64_t hone_noise_seed = 1;\n"
                  "HONE_FN uint64_t hone_key(uint64_t of, uint64_t i)\n"
                  "{\n    uint64_t x = hone_noise_seed + of * 0x9e3779b97f4a7c15u;\n"
                  "    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u + i * 0xd1b54a32d192ed03u;\n"
                  "    x = (x ^ x >> 27) * 0x94d049bb133111ebu;\n"
                  "    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;\n"
                  "    return x ^ x >> 31;\n}\n"},
    {"hone_draw(", "/* Random bits, always the same. */\n"
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
     "/* v with an error that is uniform in +-spread, then rounded at random to a neighbour of "
     "`bits`"
     "\n * mantissa bits; 11 stands for TF32, 52 rounds nothing. */\n"
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
    {"hone_at(", "/* An index into n elements, from the end if it is negative. */\n"
                 "HONE_FN int64_t hone_at(double i, int64_t n)\n"
                 "{\n    if (i < 0)\n        i += (double)n;\n"
                 "    return i >= 0 && i < (double)n ? (int64_t)i : 0;\n}\n"},
    {"hone_end(", "/* The end of a run of at most n elements. */\n"
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
    struct strbuf regions = STRBUF_INIT(MAX_SOURCE), all = STRBUF_INIT(2 * MAX_SOURCE);
    write_regions(w, &regions);
    strbuf_addf(&all, "%s%s", regions.buf, w->bodies.buf);
    strbuf_adds(out, "#include \"hone_ref.h\"\n");
    write_helpers(all.buf, out);
    if (regions.len)
        strbuf_addf(out,
                    "\n/* Values that phases store: VAL and PART, with %s MAG and PMAG. */\n"
                    "%s",
                    w->emit.mode.kind == REFERENCE_SIGMA ? "variances" : "magnitudes", regions.buf);
    strbuf_adds(out, w->bodies.buf);
    strbuf_release(&regions);
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
        rc = write_phases(&w, err);
        if (rc == 0)
            write_source(&w);
        stores_release(&w.stores);
    }
    if (rc == 0 && (out->source.truncated || w.bodies.truncated))
        rc = err_set(err, ERR_LIMIT, "the reference is longer than %d bytes", MAX_SOURCE);
    if (rc == 0 && w.g->dims.too_long)
        rc = err_set(err, ERR_LIMIT, "a size of the reference is too long to write");
    strbuf_release(&w.bodies);
    vec_release(&w.classes);
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
