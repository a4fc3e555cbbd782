/* model.c - finds how an exported call learns the sizes of a task's axes, and which sizes it
 * accepts. */
#include "export/model.h"

#include <string.h>

#include "base/util.h"
#include "sys/hash.h"

#define AXIS_MAX (INT64_C(1) << 40) /* the loader of tasks has the same limit */

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_task_name(const struct task *t, const char *name)
{
    if (task_tensor_index(t, name) >= 0)
        return true;
    vec_each (const struct task_axis, x, &t->axes)
        if (str_eq(x->name, name))
            return true;
    vec_each (const struct task_scalar, x, &t->scalars)
        if (str_eq(x->name, name))
            return true;
    return false;
}

static int check_name(const struct task *t, const char *name, struct err *err)
{
    char longer[160];
    snprintf(longer, sizeof longer, "%s_", name);
    if ((*name_suffix(LANG_C, name) || *name_suffix(LANG_PYTHON, name)) && is_task_name(t, longer))
        return err_set(err, ERR_INPUT,
                       "C or Python reserves the name '%s', so the export would use '%s', but the "
                       "task has that name too; rename one",
                       name, longer);
    return 0;
}

static int check_names(const struct task *t, struct err *err)
{
    vec_each (const struct task_axis, x, &t->axes)
        if (check_name(t, x->name, err) < 0)
            return -1;
    vec_each (const struct task_scalar, x, &t->scalars)
        if (check_name(t, x->name, err) < 0)
            return -1;
    vec_each (const struct task_tensor, x, &t->tensors)
        if (check_name(t, x->name, err) < 0)
            return -1;
    return 0;
}

/* A caller cannot pass a float narrower than 32 bits. */
static int check_scalars(const struct task *t, struct err *err)
{
    vec_each (const struct task_scalar, s, &t->scalars)
        if (!s->has_value && dtype_is_float(s->dtype) && dtype_bytes(s->dtype) < 4)
            return err_set(err, ERR_UNSUPPORTED,
                           "the scalar '%s' is %s and the task gives it no value; give it a value, "
                           "or declare it float32",
                           s->name, dtype_name(s->dtype));
    return 0;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static void widen(struct export_model *m, const struct task_workload *w)
{
    for (size_t i = 0; i < m->in.task->axes.n; i++) {
        m->tested_lo[i] = MIN(m->tested_lo[i], w->axes[i].lo);
        m->tested_hi[i] = MAX(m->tested_hi[i], w->axes[i].hi);
    }
}

/* An exported call accepts sizes from 1 on (from 0 on if a workload has size 0). It accepts sizes
 * of more than 31 bits only if a workload has such a size. */
static void find_bounds(struct export_model *m)
{
    const struct task *t = m->in.task;
    size_t n = t->names.n;
    m->lo = arena_alloc(&m->arena, n * sizeof *m->lo);
    m->hi = arena_alloc(&m->arena, n * sizeof *m->hi);
    m->tested_lo = arena_alloc(&m->arena, n * sizeof *m->lo);
    m->tested_hi = arena_alloc(&m->arena, n * sizeof *m->hi);
    for (size_t i = 0; i < t->axes.n; i++) {
        m->tested_lo[i] = INT64_MAX;
        m->tested_hi[i] = 0;
    }
    vec_each (const struct task_workload, w, &t->workloads)
        widen(m, w);
    vec_each (const struct task_workload, w, &t->regimes)
        widen(m, w);
    for (size_t i = 0; i < t->axes.n; i++) {
        const struct task_axis *x = &t->axes.items[i];
        if (x->is_const)
            m->tested_lo[i] = m->tested_hi[i] = x->value;
        m->lo[i] = x->is_const ? x->value : m->tested_lo[i] > 0;
        m->hi[i] = x->is_const ? x->value : m->tested_hi[i] > INT32_MAX ? AXIS_MAX : INT32_MAX;
        if (!t->workloads.n) { /* some imported tasks have none */
            m->tested_lo[i] = m->lo[i];
            m->tested_hi[i] = m->hi[i];
        }
    }
    size_t k = t->axes.n;
    vec_each (const struct task_scalar, sc, &t->scalars)
        if (!dtype_is_float(sc->dtype) && k < n) {
            m->lo[k] = sc->has_value ? (int64_t)sc->value : -INT64_C(0x40000000);
            m->hi[k++] = sc->has_value ? (int64_t)sc->value : 0x40000000;
        }
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* Returns whether the formula can be solved for `axis`. It must apply only + - * and neg to `axis`,
 * and multiply it only by factors of at least 1. All other axes in the formula must be known. */
static bool solvable(const struct export_model *m, const struct formula *f, size_t axis,
                     const bool *known)
{
    if (f->kind == FORMULA_NAME)
        return f->name == axis;
    if (f->kind != FORMULA_APPLY || !strchr("+-*n", *f->op) || (*f->op == 'n' && f->b))
        return false;
    bool in_a = formula_uses(f->a, axis) > 0;
    const struct formula *with = in_a ? f->a : f->b, *other = in_a ? f->b : f->a;
    for (size_t i = 0; other && i < m->in.task->axes.n; i++)
        if (formula_uses(other, i) && !known[i])
            return false;
    return (*f->op != '*' || other->lo >= 1) && solvable(m, with, axis, known);
}

static bool find_axis(struct export_model *m, const struct formula_scope *s, size_t axis,
                      const bool *known, bool direct)
{
    const struct task *t = m->in.task;
    for (size_t i = 0; i < t->tensors.n; i++) {
        const struct task_tensor *x = &t->tensors.items[i];
        for (uint32_t d = 0; x->is_input && d < x->rank; d++) {
            const struct formula *f = formula_of(x->shape[d], s, &m->arena);
            if (formula_uses(f, axis) != 1 || (direct && f->kind != FORMULA_NAME) ||
                !solvable(m, f, axis, known))
                continue;
            m->axes[axis] = (struct axis_rule){AXIS_SHAPE, i, d, f};
            return true;
        }
    }
    return false;
}

/* First finds the axes that are a dimension of an input, then those that follow from a dimension
 * and the axes known so far. The caller of the exported function must give the rest. */
static void find_axes(struct export_model *m)
{
    const struct task *t = m->in.task;
    struct formula_scope s = export_scope(m, LANG_PYTHON);
    bool *known = arena_alloc(&m->arena, t->axes.n + 1);
    size_t order = 0;
    m->axes = arena_alloc(&m->arena, t->axes.n * sizeof *m->axes);
    m->axis_order = arena_alloc(&m->arena, t->axes.n * sizeof *m->axis_order);
    for (size_t i = 0; i < t->axes.n; i++) {
        m->axes[i].from = t->axes.items[i].is_const ? AXIS_CONST : AXIS_PARAMETER;
        known[i] = t->axes.items[i].is_const;
        if (known[i])
            m->axis_order[order++] = i;
    }
    for (bool direct = true, again = true; again || direct;) {
        direct = direct && again;
        again = false;
        for (size_t i = 0; i < t->axes.n; i++)
            if (!known[i] && find_axis(m, &s, i, known, direct)) {
                known[i] = again = true;
                m->axis_order[order++] = i;
            }
    }
    for (size_t i = 0; i < t->axes.n; i++)
        if (!known[i])
            m->axis_order[order++] = i;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Returns a text for each floating-point scalar, in order: its value if the task gives one, else
 * its name in the printed code. */
static const char *const *real_names(struct export_model *m, enum export_lang lang)
{
    const struct task *t = m->in.task;
    const char **names = arena_alloc(&m->arena, (t->scalars.n + 1) * sizeof *names);
    size_t n = 0;
    vec_each (const struct task_scalar, sc, &t->scalars) {
        struct strbuf sb = STRBUF_INIT(512);
        if (!dtype_is_float(sc->dtype))
            continue;
        if (sc->has_value)
            formula_real(&sb, sc->value, lang);
        else
            strbuf_addf(&sb, "%s%s", lang == LANG_C ? "args->" : "",
                        name_in(lang, sc->name, &m->arena));
        /* The parentheses keep the number's minus apart from a minus operator before it. */
        names[n++] = sc->has_value && sc->value < 0 ? arena_printf(&m->arena, "(%s)", sb.buf)
                                                    : arena_strdup(&m->arena, sb.buf);
        strbuf_release(&sb);
    }
    return names;
}

struct formula_scope export_scope(struct export_model *m, enum export_lang lang)
{
    const struct task *t = m->in.task;
    const char **names = arena_alloc(&m->arena, (t->names.n + 1) * sizeof *names);
    for (size_t i = 0; i < t->names.n; i++)
        names[i] = name_in(lang, t->names.items[i], &m->arena);
    return (struct formula_scope){.lang = lang,
                                  .n = t->names.n,
                                  .names = names,
                                  .lo = m->lo,
                                  .hi = m->hi,
                                  .reals = real_names(m, lang)};
}

uint32_t export_align(const struct export_model *m, size_t tensor)
{
    const struct task *t = m->in.task;
    uint32_t size = (uint32_t)dtype_bytes(t->tensors.items[tensor].dtype);
    return MAX(t->align, size);
}

const struct sig *export_sig(const struct export_model *m, const struct plan_launch *l)
{
    vec_each (const struct sig, s, &m->in.code->sigs)
        if (str_eq(s->kernel, l->kernel))
            return s;
    BUG("kernel '%s' has no signature", l->kernel);
}

const char *export_tensor_text(struct export_model *m, const struct task_tensor *t)
{
    struct strbuf sb = STRBUF_INIT(4096);
    strbuf_addf(&sb, "%s[", dtype_name(t->dtype));
    for (uint32_t d = 0; d < t->rank; d++)
        strbuf_addf(&sb, "%s%s", d ? ", " : "", expr_text(t->shape[d]));
    strbuf_addc(&sb, ']');
    const char *text = arena_strdup(&m->arena, sb.buf);
    strbuf_release(&sb);
    return text;
}

int export_model_init(struct export_model *m, const struct export_source *in, struct err *err)
{
    *m = (struct export_model){.in = *in};
    if (check_names(in->task, err) < 0 || check_scalars(in->task, err) < 0)
        return -1;
    m->ident = name_of_text(in->task->name, &m->arena);
    task_hash(in->task, m->task_sha);
    hash_hex(in->text, in->len, m->source_sha);
    find_bounds(m);
    find_axes(m);
    return 0;
}

void export_model_release(struct export_model *m)
{
    arena_release(&m->arena);
}
