/*
 * plan_code_sizes.c - prints the body of an exported Python function, which finds the axes in the
 * shapes of its inputs and checks the constraints. The function also runs for the fake tensors of
 * torch.compile.
 */
#include <string.h>

#include "base/util.h"
#include "export/plan_code.h"
#include "export/smem_limit.h"

static const char *py_name(struct plan_code *c, const char *name)
{
    return name_in(LANG_PYTHON, name, &c->m->arena);
}

/* Returns Python text for the axis, from the equation f = value. Undoes the operations of f one by
 * one, beginning with the outermost. */
static const char *solve(struct plan_code *c, const struct formula *f, size_t axis,
                         const char *value)
{
    struct arena *a = &c->m->arena;
    if (f->kind == FORMULA_NAME)
        return value;
    bool in_a = formula_uses(f->a, axis) > 0;
    const struct formula *with = in_a ? f->a : f->b, *other = in_a ? f->b : f->a;
    const char *x = other ? code_formula(c, other, FORMULA_VALUE) : "";
    switch (*f->op) {
    case '+':
        value = arena_printf(a, "(%s - (%s))", value, x);
        break;
    case '-':
        value = in_a ? arena_printf(a, "(%s + (%s))", value, x)
                     : arena_printf(a, "(%s - %s)", x, value);
        break;
    case '*':
        value = arena_printf(a, "(%s // (%s))", value, x);
        break;
    default: /* neg */
        value = arena_printf(a, "(-%s)", value);
    }
    return solve(c, with, axis, value);
}

static void check_tensors(struct plan_code *c)
{
    const struct task *t = c->m->in.task;
    vec_each (const struct task_tensor, x, &t->tensors)
        if (x->is_input)
            code_line(c, "_check_tensor(\"%s\", %s, torch.%s, %u, \"%s\")", x->name,
                      py_name(c, x->name), dtype_name(x->dtype), x->rank,
                      code_text(c, export_tensor_text(c->m, x)));
}

static void axes(struct plan_code *c)
{
    const struct task *t = c->m->in.task;
    check_tensors(c);
    for (size_t k = 0; k < t->axes.n; k++) {
        size_t i = c->m->axis_order[k];
        const struct axis_rule *r = &c->m->axes[i];
        const char *name = c->scope.names[i];
        if (r->from == AXIS_CONST) {
            code_line(c, "%s = %lld", name, (long long)c->m->lo[i]);
            continue;
        }
        if (r->from == AXIS_SHAPE) {
            const char *value = arena_printf(&c->m->arena, "%s.shape[%u]",
                                             py_name(c, t->tensors.items[r->tensor].name), r->dim);
            code_line(c, "%s = %s", name, solve(c, r->shape, i, value));
        }
        code_line(c, "_check_axis(\"%s\", %s, %lld, %lld)", t->names.items[i], name,
                  (long long)c->m->lo[i], (long long)c->m->hi[i]);
    }
    for (size_t i = t->axes.n; i < c->scope.n; i++)
        if (c->m->lo[i] == c->m->hi[i])
            code_line(c, "%s = %lld", c->scope.names[i], (long long)c->m->lo[i]);
}

/* Prints a check for each dimension of an input, except those from which axes() took an axis. */
static void tensor(struct plan_code *c, size_t i)
{
    const struct task_tensor *t = &c->m->in.task->tensors.items[i];
    for (uint32_t d = 0; t->is_input && d < t->rank; d++) {
        const struct formula *f = formula_of(t->shape[d], &c->scope, &c->m->arena);
        if (f->kind == FORMULA_NAME && c->m->axes[f->name].from == AXIS_SHAPE &&
            c->m->axes[f->name].tensor == i && c->m->axes[f->name].dim == d)
            continue;
        code_line(c, "_check_size(\"%s\", %s, %u, %s, \"%s\")", t->name, py_name(c, t->name), d,
                  code_formula(c, f, FORMULA_VALUE), code_text(c, expr_text(t->shape[d])));
    }
}

/* Returns the names in a formula, as arguments of a call: ", R=R, C=C". */
static const char *named_values(struct plan_code *c, const struct formula *f)
{
    struct strbuf values = STRBUF_INIT(4096);
    for (size_t i = 0; i < c->scope.n; i++)
        if (formula_uses(f, i))
            strbuf_addf(&values, ", %s=%s", c->scope.names[i], c->scope.names[i]);
    const char *text = arena_strdup(&c->m->arena, values.buf);
    strbuf_release(&values);
    return text;
}

static void constraint(struct plan_code *c, const struct formula *f, const char *text)
{
    code_line(c, "if not (%s):", code_formula(c, f, FORMULA_CONDITION));
    code_line(c, "    _refuse(\"%s\"%s)", code_text(c, text), named_values(c, f));
}

/* Returns whether Python can evaluate the formula for fake tensors. These have no address, and
 * their sizes may be symbols, which have no bit_length(). */
static bool serves_fake_tensors(const struct formula *f)
{
    if (!f)
        return true;
    if (f->kind == FORMULA_ALIGN || (f->kind == FORMULA_APPLY && str_eq(f->op, "pow2ceil")))
        return false;
    return serves_fake_tensors(f->a) && serves_fake_tensors(f->b) && serves_fake_tensors(f->c);
}

/* Prints `if BYTES > LIMIT and (WHEN):`. Most calls need fewer bytes than the limit, so Python does
 * not evaluate WHEN, and torch.compile makes no guard of it. */
static void limits(struct plan_code *c, const struct plan_launch *l, const struct formula *when)
{
    const struct formula *smem = smem_over_limit(c->m, l, &c->scope);
    if (!smem || !serves_fake_tensors(smem) || !serves_fake_tensors(when))
        return;
    const char *bytes = code_formula(c, smem, FORMULA_VALUE);
    code_line(c, "if %s > %d%s%s%s:", bytes, PLAN_MAX_SMEM, when ? " and (" : "",
              when ? code_formula(c, when, FORMULA_CONDITION) : "", when ? ")" : "");
    code_line(c, "    _refuse_smem(%s%s)", bytes, named_values(c, smem));
}

const struct plan_printer plan_printer_sizes = {
    .lang = LANG_PYTHON,
    .indent = 4,
    .axes = axes,
    .tensor = tensor,
    .constraint = constraint,
    .limits = limits,
};
