/* about.c - says in words and in JSON what an exported kernel is, and which verdict it has. */
#include "export/about.h"

#include <string.h>

#include "base/util.h"
#include "export/smem_limit.h"
#include "sys/json.h"

/* The most characters in a line, and in a title. */
#define WIDTH 112
#define TITLE 84

/* Returns a copy of the text that is harmless inside a C comment and a Python string. */
static const char *plain(struct export_model *m, const char *text)
{
    char *out = arena_strdup(&m->arena, text);
    for (char *p = out; *p; p++) {
        if ((unsigned char)*p < 32 || *p == '\\')
            *p = ' ';
        if ((p[0] == '*' && p[1] == '/') || (p[0] == '/' && p[1] == '*'))
            p[1] = ' ';
        if (p[0] == '"' && p[1] == '"')
            p[0] = '\'';
    }
    return out;
}

static void paragraph(struct strbuf *out, const char *prefix, const char *text)
{
    bool first = true;
    while (*text) {
        size_t room = WIDTH - strlen(prefix) - (first ? 0 : 2), n = strlen(text);
        if (n > room) {
            for (n = room; n > 20 && text[n] != ' ';)
                n--;
            n = n > 20 ? n : room;
        }
        strbuf_addf(out, "%s%s%.*s\n", prefix, first ? "" : "  ", (int)n, text);
        text += n;
        text += strspn(text, " ");
        first = false;
    }
}

const char *about_title(struct export_model *m)
{
    const char *text = plain(m, m->in.task->description);
    const char *end = strstr(text, ". ");
    size_t whole = end ? (size_t)(end - text) + 1 : strlen(text), n = whole;
    if (n > TITLE)
        for (n = TITLE - 4; n && text[n] != ' ';)
            n--;
    if (!n)
        return m->in.task->name;
    return arena_printf(&m->arena, "%.*s%s", (int)n, text, n < whole ? " ..." : "");
}

static const char *time_text(struct export_model *m, const struct verdict_time *t)
{
    return arena_printf(&m->arena, "%.2f us at %s (%s)", t->median_ns / 1e3, plain(m, t->shape),
                        t->is_model ? "modelled" : "measured");
}

static void about_verdict(struct export_model *m, const char *prefix, struct strbuf *out)
{
    const struct verdict *v = m->in.verdict;
    struct arena *a = &m->arena;
    if (!v) {
        paragraph(out, prefix,
                  "UNVERIFIED: no passing verdict stands behind this kernel. It may be wrong. "
                  "It was exported with --unverified.");
        return;
    }
    paragraph(out, prefix,
              arena_printf(a, "Verdict: %s (%s%s%s, %s, seed %llu).", plain(m, v->summary),
                           plain(m, v->device), *v->driver ? ", driver " : "", plain(m, v->driver),
                           plain(m, v->compiler), (unsigned long long)v->seed));
    struct strbuf times = STRBUF_INIT(8192);
    vec_each (const struct verdict_time, t, &v->times)
        if (str_eq(t->who, "candidate"))
            strbuf_addf(&times, "%s%s", times.len ? ", " : "Time: ", time_text(m, t));
    if (times.len) {
        strbuf_addc(&times, '.');
        paragraph(out, prefix, times.buf);
    }
    strbuf_release(&times);
}

static void about_smem(struct export_model *m, const char *prefix, struct strbuf *out)
{
    struct formula_scope scope = export_scope(m, LANG_C);
    vec_each (const struct plan_launch, l, &m->in.plan->launches)
        if (smem_over_limit(m, l, &scope))
            paragraph(out, prefix,
                      arena_printf(&m->arena,
                                   "Limit: the kernel %s needs %s bytes of shared memory%s%s; the "
                                   "GPU allows %d.",
                                   plain(m, l->kernel), plain(m, expr_text(l->smem)),
                                   l->when ? " where " : "",
                                   l->when ? plain(m, expr_text(l->when)) : "", PLAN_MAX_SMEM));
}

/* Returns whether the GPU's limit on shared memory also limits axis i. */
static bool smem_bounds(struct export_model *m, size_t i)
{
    struct formula_scope scope = export_scope(m, LANG_C);
    vec_each (const struct plan_launch, l, &m->in.plan->launches) {
        const struct formula *f = smem_over_limit(m, l, &scope);
        if (f && formula_uses(f, i))
            return true;
    }
    return false;
}

static void about_axes(struct export_model *m, const char *prefix, struct strbuf *out)
{
    const struct task *t = m->in.task;
    struct arena *a = &m->arena;
    for (size_t i = 0; i < t->axes.n; i++) {
        const struct task_axis *x = &t->axes.items[i];
        paragraph(out, prefix,
                  x->is_const
                      ? arena_printf(a, "Axis %s: always %lld.", x->name, (long long)x->value)
                      : arena_printf(
                            a,
                            "Axis %s: %lld to %lld%s; the workloads of the task span %lld to %lld.",
                            x->name, (long long)m->lo[i], (long long)m->hi[i],
                            smem_bounds(m, i) ? ", as far as shared memory allows" : "",
                            (long long)m->tested_lo[i], (long long)m->tested_hi[i]));
    }
    about_smem(m, prefix, out);
    for (size_t i = 0; i < t->constraint_exprs.n; i++)
        paragraph(
            out, prefix,
            arena_printf(a, "Constraint: %s.", plain(m, expr_text(t->constraint_exprs.items[i]))));
    for (size_t i = 0; i < t->unchecked.n; i++)
        paragraph(out, prefix,
                  arena_printf(a, "Constraint that this file does not check: %s.",
                               plain(m, t->unchecked.items[i])));
}

/* Returns a text such as "integers from 0 to C, or -100", or NULL if x is not an input of integers
 * in a range. */
static const char *integer_range(struct export_model *m, const struct task_tensor *x)
{
    if (!x->is_input || dtype_is_float(x->dtype) || x->init.dist != GEN_INT || x->pick_a.n ||
        x->pick_b.n)
        return NULL;
    const char *lo =
        x->init_a ? plain(m, expr_text(x->init_a)) : arena_printf(&m->arena, "%.0f", x->init.a);
    const char *hi =
        x->init_b ? plain(m, expr_text(x->init_b)) : arena_printf(&m->arena, "%.0f", x->init.b);
    const char *more = "";
    for (size_t i = 0; i < ARRAY_LEN(x->init.special); i++)
        if (x->init.special[i] == GEN_SPECIAL_NUMBER)
            more = arena_printf(&m->arena, "%s, or %.0f", more, x->init.number[i]);
    return arena_printf(&m->arena, "integers from %s to %s%s", lo, hi, more);
}

void about_text(struct export_model *m, const char *prefix, struct strbuf *out)
{
    const struct task *t = m->in.task;
    struct arena *a = &m->arena;
    paragraph(out, prefix, arena_printf(a, "Exported by Hone from %s.", plain(m, m->in.from)));
    paragraph(out, prefix,
              arena_printf(a, "Task %s, hash %s. Kernel, SHA-256 %s.", plain(m, t->name),
                           m->task_sha, m->source_sha));
    about_verdict(m, prefix, out);
    paragraph(out, prefix,
              arena_printf(a, "Architecture: %s, machine code by %s.", m->in.code->arch,
                           m->in.code->compiler));
    for (size_t i = 0; i < t->tensors.n; i++) {
        const struct task_tensor *x = &t->tensors.items[i];
        paragraph(
            out, prefix,
            arena_printf(a, "Tensor %s: %s, %s; its address is a multiple of %u.", x->name,
                         plain(m, export_tensor_text(m, x)),
                         x->is_input ? (x->is_output ? "updated in place" : "input") : "output",
                         export_align(m, i)));
        const char *range = integer_range(m, x);
        if (range)
            paragraph(out, prefix,
                      arena_printf(a,
                                   "Precondition: the values of %s are %s. Other values were "
                                   "not verified, and this file does not check them.",
                                   x->name, range));
    }
    vec_each (const struct task_scalar, s, &t->scalars)
        if (s->has_value)
            paragraph(
                out, prefix,
                arena_printf(a, "Scalar %s: always %.9g, as in the task.", s->name, s->value));
    about_axes(m, prefix, out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *verdict_json(struct export_model *m)
{
    const struct verdict *v = m->in.verdict;
    if (!v)
        return json_null();
    json_t *j = json_object(), *times = json_array();
    json_object_set_new(j, "kind", json_string(verdict_kind_name(v->kind)));
    json_object_set_new(j, "summary", json_text(v->summary));
    json_object_set_new(j, "device", json_text(v->device));
    json_object_set_new(j, "driver", json_text(v->driver));
    json_object_set_new(j, "compiler", json_text(v->compiler));
    json_object_set_new(j, "seed", json_sprintf("%llu", (unsigned long long)v->seed));
    vec_each (const struct verdict_time, t, &v->times)
        if (str_eq(t->who, "candidate"))
            json_array_append_new(times, json_pack("{s:o, s:o, s:b}", "shape", json_text(t->shape),
                                                   "median_ns", json_from_double(t->median_ns),
                                                   "modelled", t->is_model));
    json_object_set_new(j, "times", times);
    return j;
}

json_t *about_json(struct export_model *m)
{
    const struct task *t = m->in.task;
    json_t *j = json_object(), *tensors = json_object(), *axes = json_object(),
           *constraints = json_array();
    json_object_set_new(j, "task", json_text(t->name));
    json_object_set_new(j, "task_sha", json_string(m->task_sha));
    json_object_set_new(j, "source_sha", json_string(m->source_sha));
    json_object_set_new(j, "from", json_text(m->in.from));
    json_object_set_new(j, "verified", json_boolean(m->in.verdict != NULL));
    json_object_set_new(j, "verdict", verdict_json(m));
    json_object_set_new(j, "arch", json_text(m->in.code->arch));
    json_object_set_new(j, "compiler", json_text(m->in.code->compiler));
    for (size_t i = 0; i < t->tensors.n; i++) {
        const struct task_tensor *x = &t->tensors.items[i];
        json_object_set_new(
            tensors, x->name,
            json_pack("{s:s, s:s, s:i}", "type", export_tensor_text(m, x), "use",
                      x->is_input ? (x->is_output ? "in place" : "input") : "output", "align_bytes",
                      (int)export_align(m, i)));
    }
    for (size_t i = 0; i < t->axes.n; i++)
        json_object_set_new(axes, t->axes.items[i].name,
                            json_pack("{s:I, s:I, s:I, s:I}", "least", (json_int_t)m->lo[i],
                                      "largest", (json_int_t)m->hi[i], "tested_least",
                                      (json_int_t)m->tested_lo[i], "tested_largest",
                                      (json_int_t)m->tested_hi[i]));
    for (size_t i = 0; i < t->constraint_exprs.n; i++)
        json_array_append_new(constraints, json_text(expr_text(t->constraint_exprs.items[i])));
    json_object_set_new(j, "tensors", tensors);
    json_object_set_new(j, "axes", axes);
    json_object_set_new(j, "constraints", constraints);
    return j;
}
