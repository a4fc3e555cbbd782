/* say_task.c - describes a task to authors. See say.h. */
#include <inttypes.h>
#include <string.h>

#include "base/util.h"
#include "graph/print.h"
#include "prompt/fold.h"
#include "prompt/say.h"
#include "torch/task.h"

static void say_shape(const struct task_tensor *x, struct strbuf *out)
{
    strbuf_addc(out, '[');
    for (uint32_t d = 0; d < x->rank; d++)
        strbuf_addf(out, "%s%s", d ? ", " : "", expr_text(x->shape[d]));
    strbuf_addc(out, ']');
}

static void say_special(const struct task_tensor *x, struct strbuf *out)
{
    static const char *const names[GEN_SPECIAL_COUNT] = {
        [GEN_POS_INF] = "+inf",   [GEN_NEG_INF] = "-inf",      [GEN_NAN] = "NaN",
        [GEN_SPECIAL_ZERO] = "0", [GEN_SPECIAL_MAX] = "+-max", [GEN_SPECIAL_DENORMAL] = "denormals",
    };
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(x->init.special); i++)
        if (x->init.every[i] && x->init.special[i]) {
            const char *name = names[x->init.special[i]];
            strbuf_adds(out, any ? " and " : "; holds ");
            if (name)
                strbuf_adds(out, name);
            else
                strbuf_addf(out, "%.17g", x->init.number[i]);
            any = true;
        }
    strbuf_adds(out, any ? " in some places" : "");
}

/* Returns the largest or the least value that a parameter has at any workload. Returns `value` if
 * the parameter does not depend on the workload. */
static double extreme(const struct task_choice *pick, double value, bool largest)
{
    for (uint32_t i = 0; i < pick->n; i++)
        value = !i || (pick->value[i] > value) == largest ? pick->value[i] : value;
    return value;
}

static void say_bound(const struct expr *e, double value, struct strbuf *out)
{
    if (e)
        strbuf_adds(out, expr_text(e));
    else
        strbuf_addf(out, "%g", value);
}

/* Says between which bounds the values of an input lie. Does not tell the distribution, because a
 * kernel that depends on it is wrong. Nor does it tell a constant that fills the whole input. */
static void say_range(const struct task_tensor *x, struct strbuf *out)
{
    const struct gen_spec *g = &x->init;
    double lo = extreme(&x->pick_a, g->a, false), hi = extreme(&x->pick_b, g->b, true);
    switch (g->dist) {
    case GEN_NORMAL:
        if (x->init_a || x->init_b)
            return;
        /* our normal distribution ends at 4.9 standard deviations (gen_core.h) */
        strbuf_addf(out, "; values from about %.3g to %.3g", lo - 4.9 * hi,
                    extreme(&x->pick_a, g->a, true) + 4.9 * hi);
        return;
    case GEN_UNIFORM:
    case GEN_INT:
        strbuf_adds(out, g->dist == GEN_INT ? "; integers from " : "; values from ");
        say_bound(x->init_a, lo, out);
        strbuf_adds(out, " to ");
        say_bound(x->init_b, hi, out);
        return;
    case GEN_CSR:
        strbuf_adds(out, "; row pointers: they begin with 0, never decrease, and end with ");
        say_bound(x->init_b, hi, out);
        return;
    case GEN_PERM:
        strbuf_adds(out, "; a permutation of its indices");
        return;
    default:
        return;
    }
}

static void say_tolerance(const struct task_tensor *x, struct strbuf *out)
{
    if (x->sigmas > 0)
        strbuf_addf(out, "; tolerance %g sigma", x->sigmas);
    else
        strbuf_addf(out, "; tolerance rtol %g, atol %g", x->rtol, x->atol);
    if (!(x->sigmas > 0) && x->budget > 0)
        strbuf_addf(out, ", rms error at most %g times that of an ideal implementation", x->budget);
    if (x->why && *x->why)
        strbuf_addf(out, ". Why: %s", x->why);
}

static void say_tensor(const struct task_tensor *x, bool timed_only, struct strbuf *out)
{
    strbuf_addf(out, "- `%s`: %s ", x->name, dtype_name(x->dtype));
    say_shape(x, out);
    strbuf_addf(out, ", %s",
                x->is_input && x->is_output ? "read and updated in place"
                : x->is_output              ? "output"
                                            : "input");
    if (x->is_input && !timed_only) {
        say_range(x, out);
        say_special(x, out);
    }
    if (x->is_output)
        say_tolerance(x, out);
    strbuf_addc(out, '\n');
}

/* A graph with more than MAX_GRAPH_TOKENS is folded (fold.h). If its JSON has more than
 * MAX_GRAPH_JSON bytes, the graph is not read at all. */
enum { MAX_GRAPH_TOKENS = 1500, MAX_GRAPH_JSON = 1 << 20 };

/* Leaves out lines of inputs (without " = "), because the list of tensors has them. Leaves out the
 * type of a value, unless it alone says what the operation does. */
static void add_graph_line(const char *p, size_t n, struct strbuf *out)
{
    const char *is = memmem(p, n, " = ", 3),
               *call = is ? memchr(is, '(', n - (size_t)(is - p)) : NULL;
    if (*p != '%' && !call && !(is && is[3] == '%'))
        return;
    bool typed = *p != '%' || !is || str_starts(is + 3, "cast(") ||
                 str_starts(is + 3, "reshape(") || str_starts(is + 3, "expand(");
    const char *type = typed ? NULL : memrchr(p, ')', n);
    strbuf_add(out, p, type ? (size_t)(type + 1 - p) : n);
    strbuf_addc(out, '\n');
}

/* Returns false if the task has no graph that Hone can read. */
static bool say_graph(const struct task *t, struct strbuf *out)
{
    struct graph g;
    struct strbuf text = STRBUF_INIT(16 << 20), lines = STRBUF_INIT(16 << 20);
    if ((t->graph_json && strlen(t->graph_json) > MAX_GRAPH_JSON) ||
        torch_read_task(&g, t, NULL) < 0)
        return false;
    graph_print(&text, &g);
    graph_release(&g);
    for (const char *p = text.buf; *p;) {
        size_t n = strcspn(p, "\n");
        add_graph_line(p, n, &lines);
        p += n + (p[n] == '\n');
    }
    bool any = lines.len;
    if (any) {
        strbuf_adds(out, "As a graph of PyTorch's operations:\n```\n");
        fold_text(lines.buf, lines.len, MAX_GRAPH_TOKENS, out);
        strbuf_adds(out, "```\n\n");
    }
    strbuf_release(&text);
    strbuf_release(&lines);
    return any;
}

static void say_addresses(const struct task *t, const struct task_workload *w, struct strbuf *out)
{
    size_t from = out->len;
    if (w->align_bytes)
        strbuf_addf(out, " [aligned to %u bytes", w->align_bytes);
    if (w->offset_elems)
        strbuf_addf(out, "%s%u elements on", out->len > from ? ", " : " [", w->offset_elems);
    for (size_t i = 0; w->offsets && i < t->tensors.n; i++)
        if (w->offsets[i])
            strbuf_addf(out, "%s%s %u elements on", out->len > from ? ", " : " [",
                        t->tensors.items[i].name, w->offsets[i]);
    strbuf_adds(out, out->len > from ? "]" : "");
}

/* Writes the axes that vary, such as "(R, C)". */
static void say_axes(const struct task *t, struct strbuf *out)
{
    bool any = false;
    vec_each (struct task_axis, a, &t->axes)
        if (!a->is_const) {
            strbuf_addf(out, "%s%s", any ? ", " : "(", a->name);
            any = true;
        }
    strbuf_adds(out, any ? ")" : "()");
}

/* Writes the sizes of the axes that vary, such as "(4096, 1024)". */
static void say_sizes(const struct task *t, const struct task_workload *w, struct strbuf *out)
{
    bool any = false;
    for (size_t i = 0; i < t->axes.n; i++)
        if (!t->axes.items[i].is_const) {
            strbuf_addf(out, "%s%" PRId64, any ? ", " : "(", w->axes[i].lo);
            any = true;
        }
    strbuf_adds(out, any ? ")" : "()");
}

static void say_workloads(const struct task *t, enum workload_role role, const char *title,
                          struct strbuf *out)
{
    bool any = false;
    vec_each (struct task_workload, w, &t->workloads) {
        if (w->role != role)
            continue;
        if (!any) {
            strbuf_adds(out, title);
            say_axes(t, out);
        }
        strbuf_adds(out, any ? ", " : ": ");
        any = true;
        say_sizes(t, w, out);
        say_addresses(t, w, out);
    }
    if (any)
        strbuf_addc(out, '\n');
}

void say_task(const struct task *t, bool timed_only, struct strbuf *out)
{
    strbuf_addf(out, "**%s** (class %s). %s\n\n", t->name, task_class_name(t->class),
                t->description);
    bool graph = say_graph(t, out);
    if (t->torch_src && !graph)
        strbuf_addf(out, "In PyTorch:\n```python\n%s\n```\n\n", t->torch_src);
    strbuf_adds(out, "Tensors (contiguous, row-major):\n");
    vec_each (struct task_tensor, x, &t->tensors)
        say_tensor(x, timed_only, out);
    bool sigmas = false, other = false;
    vec_each (struct task_tensor, x, &t->tensors) {
        sigmas |= x->is_output && x->sigmas > 0;
        other |= x->is_output && !(x->sigmas > 0);
    }
    if (sigmas && !timed_only)
        strbuf_addf(
            out,
            "Sigma is the standard deviation of the rounding error of a good implementation "
            "in %s%s: one rounding for each operation, sums in chains of at most 1024 "
            "terms. Half a unit in the last place of the dtype comes on top.\n",
            dtype_name(t->compute),
            t->allow_tf32         ? " with TF32 products"
            : t->allow_tf32_convs ? " with TF32 convolutions"
                                  : "");
    if (other && !timed_only)
        strbuf_adds(
            out, "An element may be off by atol + rtol * the size of the terms it is computed from "
                 "+ half a unit in the last place of its dtype.\n");
    bool any = false;
    vec_each (struct task_axis, a, &t->axes)
        if (a->is_const) {
            strbuf_addf(out, "%s`%s` = %" PRId64, any ? ", " : "Constant axes: ", a->name,
                        a->value);
            any = true;
        }
    strbuf_adds(out, any ? "\n" : "");
    any = false;
    vec_each (struct task_scalar, s, &t->scalars) {
        strbuf_addf(out, "%s`%s` (%s) = %g", any ? ", " : "Scalars: ", s->name,
                    dtype_name(s->dtype), s->value);
        any = true;
    }
    strbuf_adds(out, any ? "\n" : "");
    any = false;
    vec_each (const char *, c, &t->constraints) {
        strbuf_addf(out, "%s`%s`", any ? ", " : "Always true: ", *c);
        any = true;
    }
    strbuf_adds(out, any ? "\n" : "");
    strbuf_addf(out, "Accumulate in %s or better%s.%s\n", dtype_name(t->compute),
                t->allow_tf32         ? "; TF32 is allowed"
                : t->allow_tf32_convs ? "; TF32 is allowed for convolutions"
                                      : "",
                t->nondeterministic_ok ? " Results may differ in the last bits from run to run."
                                       : " The same input must give the same bits every time.");
    if (t->bytes)
        strbuf_addf(out, "Unavoidable traffic: %s bytes", expr_text(t->bytes));
    if (t->bytes && t->flops)
        strbuf_addf(out, "; arithmetic: %s operations", expr_text(t->flops));
    strbuf_adds(out, t->bytes ? "\n" : "");
    say_workloads(t, ROLE_TIME, "Timed at ", out);
    if (!timed_only)
        say_workloads(t, ROLE_CHECK, "Checked at ", out);
    if (t->align)
        strbuf_addf(out, "The address of every tensor is a multiple of %u bytes.\n", t->align);
    strbuf_adds(out, timed_only ? ""
                                : "It is also checked at shapes that you are not told, odd and "
                                  "unaligned ones among them.\n");
    strbuf_adds(out, "The kernel must be right for every shape that the constraints allow.\n");
}

static json_t *tensor_facts(const struct task_tensor *x)
{
    json_t *shape = json_array();
    for (uint32_t d = 0; d < x->rank; d++)
        json_array_append_new(shape, json_string(expr_text(x->shape[d])));
    return json_pack("{s:s, s:s, s:o, s:b, s:b}", "name", x->name, "dtype", dtype_name(x->dtype),
                     "shape", shape, "input", x->is_input, "output", x->is_output);
}

json_t *say_task_json(const struct task *t)
{
    json_t *tensors = json_array(), *axes = json_array(), *scalars = json_object();
    json_t *times = json_array(), *constraints = json_array();
    vec_each (const char *, c, &t->constraints)
        json_array_append_new(constraints, json_string(*c));
    vec_each (struct task_tensor, x, &t->tensors)
        json_array_append_new(tensors, tensor_facts(x));
    vec_each (struct task_axis, a, &t->axes)
        json_array_append_new(axes, a->is_const ? json_pack("{s:s, s:I}", "name", a->name, "value",
                                                            (json_int_t)a->value)
                                                : json_pack("{s:s}", "name", a->name));
    vec_each (struct task_scalar, s, &t->scalars)
        json_object_set_new(
            scalars, s->name,
            json_pack("{s:s, s:f}", "dtype", dtype_name(s->dtype), "value", s->value));
    vec_each (struct task_workload, w, &t->workloads) {
        if (w->role == ROLE_HELDOUT)
            continue;
        json_t *j = json_object(), *ax = json_object();
        for (size_t i = 0; i < t->axes.n; i++)
            json_object_set_new(
                ax, t->axes.items[i].name,
                json_integer(t->axes.items[i].is_const ? t->axes.items[i].value : w->axes[i].lo));
        json_object_set_new(j, "role", json_string(workload_role_name(w->role)));
        json_object_set_new(j, "axes", ax);
        json_object_set_new(j, "align_bytes", json_integer(w->align_bytes));
        json_object_set_new(j, "offset_elems", json_integer(w->offset_elems));
        json_array_append_new(times, j);
    }
    json_t *facts =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:b, s:b, s:b}", "name",
                  t->name, "torch", t->torch_src ? t->torch_src : "", "op_type", t->op_type,
                  "class", task_class_name(t->class), "axes", axes, "constraints", constraints,
                  "tensors", tensors, "scalars", scalars, "workloads", times, "compute",
                  dtype_name(t->compute), "allow_tf32", t->allow_tf32, "allow_tf32_convs",
                  t->allow_tf32_convs, "nondeterministic_ok", t->nondeterministic_ok);
    if (t->flops)
        json_object_set_new(facts, "flops", json_string(expr_text(t->flops)));
    if (t->graph_json)
        json_object_set_new(facts, "graph", json_loads(t->graph_json, 0, NULL));
    return facts;
}
