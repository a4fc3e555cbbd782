#include <inttypes.h>
#include <string.h>

#include "base/util.h"
#include "prompt/say.h"

static void say_shape(const struct task_tensor *x, struct strbuf *out)
{
    strbuf_addc(out, '[');
    for (uint32_t d = 0; d < x->rank; d++)
        strbuf_addf(out, "%s%s", d ? ", " : "", expr_text(x->shape[d]));
    strbuf_addc(out, ']');
}

/* Names the special values that a kernel must handle. The author does not learn how the other
 * values are distributed, because a kernel that depends on the distribution is wrong. */
static void say_special(const struct task_tensor *x, struct strbuf *out)
{
    static const char *const names[GEN_SPECIAL_COUNT] = {
        [GEN_POS_INF] = "+inf",   [GEN_NEG_INF] = "-inf",      [GEN_NAN] = "NaN",
        [GEN_SPECIAL_ZERO] = "0", [GEN_SPECIAL_MAX] = "+-max", [GEN_SPECIAL_DENORMAL] = "denormals",
    };
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(x->init.special); i++)
        if (x->init.every[i] && names[x->init.special[i]]) {
            strbuf_addf(out, "%s%s", any ? " and " : "; holds ", names[x->init.special[i]]);
            any = true;
        }
    strbuf_adds(out, any ? " in some places" : "");
}

static void say_tensor(const struct task_tensor *x, struct strbuf *out)
{
    strbuf_addf(out, "- `%s`: %s ", x->name, dtype_name(x->dtype));
    say_shape(x, out);
    strbuf_addf(out, ", %s",
                x->is_input && x->is_output ? "read and updated in place"
                : x->is_output              ? "output"
                                            : "input (must not be changed)");
    if (x->is_input)
        say_special(x, out);
    if (x->is_output && x->sigmas > 0)
        strbuf_addf(out, "; tolerance %g sigma\n", x->sigmas);
    else if (x->is_output)
        strbuf_addf(out, "; tolerance rtol %g, atol %g%s", x->rtol, x->atol,
                    x->budget > 0 ? "" : "\n");
    if (x->is_output && !(x->sigmas > 0) && x->budget > 0)
        strbuf_addf(out, ", rms error at most %g times that of an ideal implementation\n",
                    x->budget);
    if (!x->is_output)
        strbuf_addc(out, '\n');
}

static void say_workloads(const struct task *t, enum workload_role role, const char *title,
                          struct strbuf *out)
{
    bool any = false;
    vec_each (struct task_workload, w, &t->workloads) {
        if (w->role != role)
            continue;
        strbuf_adds(out, any ? "; " : title);
        any = true;
        for (size_t i = 0; i < t->axes.n; i++) {
            const struct axis_range *r = &w->axes[i];
            if (t->axes.items[i].is_const)
                continue;
            strbuf_addf(out, "%s%s=%" PRId64, i ? " " : "", t->axes.items[i].name, r->lo);
        }
        if (w->align_bytes)
            strbuf_addf(out, " (addresses aligned to %u bytes only)", w->align_bytes);
        if (w->offset_elems)
            strbuf_addf(out, " (addresses off by %u elements)", w->offset_elems);
        for (size_t i = 0; w->offsets && i < t->tensors.n; i++)
            if (w->offsets[i])
                strbuf_addf(out, " (the address of %s off by %u elements)",
                            t->tensors.items[i].name, w->offsets[i]);
    }
    if (any)
        strbuf_addc(out, '\n');
}

void say_task(const struct task *t, struct strbuf *out)
{
    strbuf_addf(out, "**%s** (class %s). %s\n\n", t->name, task_class_name(t->class),
                t->description);
    if (t->torch_src)
        strbuf_addf(out, "In PyTorch:\n```python\n%s\n```\n\n", t->torch_src);
    strbuf_adds(out, "Tensors (contiguous, row-major):\n");
    vec_each (struct task_tensor, x, &t->tensors)
        say_tensor(x, out);
    bool sigmas = false, other = false;
    vec_each (struct task_tensor, x, &t->tensors) {
        sigmas |= x->is_output && x->sigmas > 0;
        other |= x->is_output && !(x->sigmas > 0);
    }
    if (sigmas)
        strbuf_addf(
            out,
            "Sigma is the standard deviation of the rounding error of a good implementation "
            "in %s%s: one rounding for each operation, sums in chains of at most 1024 "
            "terms. Half a unit in the last place of the dtype comes on top.\n",
            dtype_name(t->compute),
            t->allow_tf32         ? " with TF32 products"
            : t->allow_tf32_convs ? " with TF32 convolutions"
                                  : "");
    if (other)
        strbuf_adds(
            out, "An element may be off by atol + rtol * the size of the terms it is computed from "
                 "+ half a unit in the last place of its dtype.\n");
    bool any = false;
    vec_each (struct task_axis, a, &t->axes) {
        strbuf_addf(out, "%s`%s`", any ? ", " : "\nAxes: ", a->name);
        if (a->is_const)
            strbuf_addf(out, " = %" PRId64, a->value);
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
    strbuf_adds(out, t->bytes ? "\n\n" : "\n");
    say_workloads(t, ROLE_TIME, "Timed at: ", out);
    say_workloads(t, ROLE_CHECK, "Checked at: ", out);
    say_workloads(t, ROLE_SMOKE, "First tried at: ", out);
    if (t->align)
        strbuf_addf(out, "The address of every tensor is a multiple of %u bytes.\n", t->align);
    strbuf_adds(out, "It is also checked at shapes that you are not told, odd and unaligned ones "
                     "among them: the kernel must be right for every shape that the constraints "
                     "allow.\n");
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
    json_t *facts = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:b, s:b}",
                              "name", t->name, "torch", t->torch_src ? t->torch_src : "", "op_type",
                              t->op_type, "class", task_class_name(t->class), "axes", axes,
                              "constraints", constraints, "tensors", tensors, "scalars", scalars,
                              "workloads", times, "compute", dtype_name(t->compute), "allow_tf32",
                              t->allow_tf32, "nondeterministic_ok", t->nondeterministic_ok);
    if (t->graph_json)
        json_object_set_new(facts, "graph", json_loads(t->graph_json, 0, NULL));
    return facts;
}
