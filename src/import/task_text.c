/* task_text.c - turns trace.py's answer into task.json and reference.c. See task_text.h. */
#include "import/task_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/cost.h"
#include "graph/json.h"
#include "graph/normal/collapse.h"
#include "graph/reference/reference.h"
#include "import/sizes.h"
#include "sys/json.h"

#define MAX_FLOPS_TEXT 2000       /* characters */
#define MAX_CHECK_FLOPS 150000000 /* the oracle takes about a second for this many flops */

struct writer {
    struct graph g;
    const json_t *found;
    const int64_t *original;
    const struct import_choice *how;
    struct reference_mode mode;
    struct graph_reference ref;
    struct size_choice sizes;
    json_t *task;
};

static void put(struct writer *w, const char *key, json_t *value)
{
    json_object_set_new(w->task, key, value);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static json_t *type_json(enum dtype dtype, const struct dim *const *shape, uint32_t rank)
{
    json_t *dims = json_array();
    for (uint32_t d = 0; d < rank; d++)
        json_array_append_new(dims, shape[d]->is_number ? json_integer(shape[d]->value)
                                                        : json_string(shape[d]->text));
    return json_pack("{s:o, s:s}", "shape", dims, "dtype", dtype_name(dtype));
}

static void put_tensors(struct writer *w)
{
    json_t *axes = json_object(), *inputs = json_object(), *outputs = json_object();
    for (size_t i = 0; i < w->g.dims.nnames; i++)
        json_object_set_new(axes, w->g.dims.names[i], json_pack("{s:s}", "type", "var"));
    vec_each (const struct value *, v, &w->g.inputs)
        json_object_set_new(inputs, (*v)->name, type_json((*v)->dtype, (*v)->shape, (*v)->rank));
    vec_each (const struct graph_output, o, &w->g.outputs)
        json_object_set_new(outputs, o->name, type_json(o->dtype, o->shape, o->rank));
    put(w, "axes", axes);
    put(w, "inputs", inputs);
    put(w, "outputs", outputs);
}

static void put_init(struct writer *w)
{
    const json_t *known = json_object_get(w->found, "init");
    json_t *init = json_object();
    vec_each (const struct value *, v, &w->g.inputs) {
        json_t *how = json_object_get(known, (*v)->name);
        json_object_set_new(init, (*v)->name,
                            json_is_object(how) ? json_deep_copy(how)
                                                : json_pack("{s:s, s:f, s:f}", "dist", "normal",
                                                            "mean", 0.0, "std", 1.0));
    }
    put(w, "init", init);
}

static void put_tolerance(struct writer *w)
{
    json_t *all = json_object();
    vec_each (const struct graph_output, o, &w->g.outputs)
        json_object_set_new(all, o->name,
                            json_pack("{s:i, s:s}", "sigmas", TASK_SIGMAS, "why",
                                      "derived from the graph, see docs/tolerance.md"));
    put(w, "tolerance", all);
}

static bool has_float_conv(const struct graph *g)
{
    for (size_t i = 0; i < g->values.n; i++)
        if (op_row(g->values.items[i]->op)->kind == OPK_CONV && g->values.items[i]->dtype == DT_F32)
            return true;
    return false;
}

static void put_flags(struct writer *w)
{
    json_t *flags = json_array();
    if (w->mode.tf32_products)
        json_array_append_new(flags, json_string("allow_tf32"));
    else if (w->mode.tf32_convs)
        json_array_append_new(flags, json_string("allow_tf32_convs"));
    if (w->sizes.no_small_shape)
        json_array_append_new(flags, json_string("no_small_shape"));
    if (w->how->degenerate)
        json_array_append_new(flags, json_string("degenerate"));
    put(w, "flags", flags);
}

/* ---- work ------------------------------------------------------------------------------------ */

static double at_original(const struct writer *w, const struct dim *d)
{
    int64_t v;
    return dim_eval(d, w->original, &v) ? (double)v : 0;
}

/* Returns an expression for the flops that no implementation can avoid. If it gets too long, takes
 * only the largest terms. So the declared work may be less than the real work, but never more. */
static const struct dim *flops_text(struct writer *w)
{
    struct arena a = ARENA_INIT;
    const struct dim *sum = graph_least_flops(&w->g), *zero = dim_number(&w->g.dims, 0);
    const uint32_t *uses = graph_uses(&w->g, &a);
    if (dim_has_text(sum) && strlen(sum->text) <= MAX_FLOPS_TEXT)
        goto out;
    /* The two numbers of flops differ if a kernel can save flops by moving sums (collapse.h). Then
     * the terms of w->g might add up to more flops than such a kernel needs. So the task declares 0
     * flops. */
    if (!dim_same(sum, graph_flops(&w->g))) {
        sum = zero;
        goto out;
    }
    bool *used = arena_alloc(&a, w->g.values.n * sizeof *used);
    for (sum = zero;;) {
        const struct dim *best = NULL;
        size_t at = 0;
        for (size_t i = 0; i < w->g.values.n; i++) {
            struct value *v = w->g.values.items[i];
            if (used[i] || !uses[i] || !v->nargs || !op_row(v->op)->flops)
                continue;
            const struct dim *d = value_flops(&w->g, v);
            if (!best || at_original(w, d) > at_original(w, best))
                best = d, at = i;
        }
        const struct dim *more = best ? dim_add(&w->g.dims, sum, best) : NULL;
        if (!more || !dim_has_text(more) || strlen(more->text) > MAX_FLOPS_TEXT)
            break;
        used[at] = true;
        sum = more;
    }
out:
    arena_release(&a);
    return sum;
}

static void put_work(struct writer *w)
{
    json_t *constraints = json_array(), *phases = json_array();
    vec_each (const char *, c, &w->sizes.constraints)
        json_array_append_new(constraints, json_string(*c));
    put(w, "constraints", constraints);
    put(w, "compute", json_string("float32"));
    put(w, "flops", json_string(flops_text(w)->text));
    put(w, "bytes", json_string(graph_bytes(&w->g)->text));
    put_tolerance(w);
    put_init(w);
    vec_each (const struct graph_phase, p, &w->ref.phases)
        json_array_append_new(phases,
                              json_pack("{s:s, s:s, s:s*}", "fn", p->fn, "units", p->units->text,
                                        "repeat", p->repeat ? p->repeat->text : NULL));
    json_t *oracle = json_pack("{s:o}", "phases", phases);
    if (w->ref.scratch)
        json_object_set_new(oracle, "scratch", json_string(w->ref.scratch->text));
    put(w, "oracle", oracle);
}

/* ---- workloads ------------------------------------------------------------------------------- */

static json_t *point_json(const struct writer *w, const char *role, const int64_t *axes)
{
    json_t *values = json_object();
    for (size_t i = 0; i < w->g.dims.nnames; i++)
        json_object_set_new(values, w->g.dims.names[i], json_integer(axes[i]));
    return json_pack("{s:s, s:o}", "role", role, "axes", values);
}

static json_t *heldout_json(const struct writer *w)
{
    json_t *ranges = json_object();
    for (size_t i = 0; i < w->g.dims.nnames; i++) {
        const struct size_range *r = &w->sizes.heldout[i];
        json_object_set_new(ranges, w->g.dims.names[i],
                            r->lo == r->hi ? json_integer(r->lo)
                                           : json_pack("{s:I, s:I, s:I}", "min", (json_int_t)r->lo,
                                                       "max", (json_int_t)r->hi, "multiple",
                                                       (json_int_t)r->multiple));
    }
    return json_pack("{s:s, s:o}", "role", "heldout", "axes", ranges);
}

/* `axes` is an entry of "timed" or "checked" in trace.py's answer. Returns its sizes, one for each
 * axis of the graph; the caller frees them. Returns NULL if a size is missing. */
static int64_t *point_of(const struct writer *w, const json_t *axes)
{
    int64_t *out = xcalloc(w->g.dims.nnames + 1, sizeof *out);
    for (size_t i = 0; i < w->g.dims.nnames; i++) {
        out[i] = json_integer_value(json_object_get(axes, w->g.dims.names[i]));
        if (out[i] < 1) {
            free(out);
            return NULL;
        }
    }
    return out;
}

/* The oracle computes a check workload at every evaluation, so it must be cheap. */
static bool is_cheap(struct writer *w, const int64_t *point)
{
    int64_t flops;
    return dim_eval(graph_flops(&w->g), point, &flops) && flops < MAX_CHECK_FLOPS;
}

/* Adds the workloads under `key` in trace.py's answer that `all` does not have. Leaves out those
 * that lack an axis and, unless the role is "time", those that cost the oracle too much. */
static void put_listed(struct writer *w, json_t *all, const char *key, const char *role)
{
    size_t i, k;
    json_t *axes, *other;
    json_array_foreach(json_object_get(w->found, key), i, axes)
    {
        int64_t *point = point_of(w, axes);
        bool fits = point && (str_eq(role, "time") || is_cheap(w, point));
        json_t *made = fits ? point_json(w, role, point) : NULL;
        json_array_foreach(all, k, other) fits = fits && !json_equal(other, made);
        if (fits)
            json_array_append(all, made);
        json_decref(made);
        free(point);
    }
}

static void put_workloads(struct writer *w)
{
    json_t *all = json_array();
    vec_each (const struct size_point, p, &w->sizes.smoke)
        json_array_append_new(all, point_json(w, "smoke", p->axes));
    vec_each (const struct size_point, p, &w->sizes.check)
        json_array_append_new(all, point_json(w, "check", p->axes));
    put_listed(w, all, "checked", "check");
    json_array_append_new(all, heldout_json(w));
    if (json_array_size(json_object_get(w->found, "timed")))
        put_listed(w, all, "timed", "time");
    else
        json_array_append_new(all, point_json(w, "time", w->original));
    put(w, "workloads", all);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int read_original(struct writer *w, struct arena *a, struct err *err)
{
    const json_t *sizes = json_object_get(w->found, "sizes");
    int64_t *out = arena_alloc(a, (w->g.dims.nnames + 1) * sizeof *out);
    for (size_t i = 0; i < w->g.dims.nnames; i++) {
        out[i] = json_integer_value(json_object_get(sizes, w->g.dims.names[i]));
        if (out[i] < 1)
            return err_set(err, ERR_INPUT, "the trace has no size for axis '%s'",
                           w->g.dims.names[i]);
    }
    w->original = out;
    return 0;
}

static void write_document(struct writer *w, const char *name, const char *file)
{
    struct strbuf about = STRBUF_INIT(4096);
    json_t *torch = json_object_get(w->found, "torch");
    strbuf_addf(&about, IMPORT_DESCRIPTION, file);
    put(w, "name", json_text(name));
    put(w, "description", json_text(about.buf));
    put(w, "class", json_string(task_class_name(graph_class(&w->g))));
    put_tensors(w);
    put_work(w);
    put(w, "baselines", json_pack("[s, s]", "torch", "torch.compile"));
    put_flags(w);
    put_workloads(w);
    json_object_set(w->task, "torch", torch);
    static const char *const kept[] = {"origin", "scalars", "definition"};
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        if (json_is_object(json_object_get(w->found, kept[i])))
            json_object_set(w->task, kept[i], json_object_get(w->found, kept[i]));
    if (json_is_string(json_object_get(w->found, "op_type")))
        json_object_set(w->task, "op_type", json_object_get(w->found, "op_type"));
    put(w, "graph", graph_to_json(&w->g));
    strbuf_release(&about);
}

int import_write_task(const json_t *found, const char *name, const char *file,
                      const struct import_choice *how, struct import_files *out, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct writer w = {.found = found, .how = how};
    const json_t *graph = json_object_get(found, "graph");
    if (graph_from_json(&w.g, graph, err) < 0)
        return err_prefix(err, "%s: the graph", file);
    w.mode = (struct reference_mode){.kind = REFERENCE_SIGMA,
                                     .tf32_products = how->precision == PRECISION_TF32,
                                     .tf32_convs =
                                         how->precision != PRECISION_FP32 && has_float_conv(&w.g)};
    int rc = read_original(&w, &a, err);
    struct size_limits limits = {.floor = how->floor, .statistics = how->statistics};
    if (rc == 0 && (rc = graph_write_reference_as(&w.g, w.mode, &w.ref, err)) == 0) {
        limits.work = w.ref.work;
        if ((rc = sizes_choose(&w.sizes, &w.g, w.original, limits, err)) == 0) {
            w.task = json_object();
            write_document(&w, name, file);
            strbuf_clear(&out->task);
            strbuf_clear(&out->reference);
            json_add_text(&out->task, w.task, true);
            strbuf_adds(&out->reference, w.ref.source.buf);
            out->statistics = w.sizes.statistics;
            json_decref(w.task);
            sizes_release(&w.sizes);
        }
        graph_reference_release(&w.ref);
    }
    graph_release(&w.g);
    arena_release(&a);
    return rc < 0 ? err_prefix(err, "%s", file) : 0;
}

void import_files_release(struct import_files *f)
{
    strbuf_release(&f->task);
    strbuf_release(&f->reference);
}
