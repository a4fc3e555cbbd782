/*
 * plan_code_c.c - prints the plan as the body of make_plan() in templates/c_plan.h.in, as C11 that
 * is also C++17.
 */
#include <string.h>

#include "base/util.h"
#include "export/plan_code.h"

static const char *c_name(struct plan_code *c, const char *name)
{
    return name_in(LANG_C, name, &c->m->arena);
}

static void axes(struct plan_code *c)
{
    const struct task *t = c->m->in.task;
    for (size_t i = 0; i < c->scope.n; i++) { /* the axes, then the integer scalars */
        const char *name = c->scope.names[i];
        if (c->m->lo[i] == c->m->hi[i]) {
            code_line(c, "const int64_t %s = %lld;", name, (long long)c->m->lo[i]);
            code_line(c, "(void)%s;", name); /* no warning if the plan does not use the name */
        } else {
            code_line(c, "const int64_t %s = args->%s;", name, name);
            code_line(c, "axis(plan, \"%s\", %s, %lld, INT64_C(%lld));", t->names.items[i], name,
                      (long long)c->m->lo[i], (long long)c->m->hi[i]);
        }
    }
    code_line(c, "if (plan->error[0])");
    code_line(c, "    return;");
}

static void tensor(struct plan_code *c, size_t i)
{
    const struct task_tensor *t = &c->m->in.task->tensors.items[i];
    code_line(c, "tensor_begin(plan, \"%s\", args->%s, %zu, %u); /* %s */", t->name,
              c_name(c, t->name), dtype_bytes(t->dtype), export_align(c->m, i),
              export_tensor_text(c->m, t));
    for (uint32_t d = 0; d < t->rank; d++)
        code_line(c, "tensor_dim(plan, %s);", code_value(c, t->shape[d], "1"));
}

/* Prints a check of the constraint. Its message shows the values of the names in the constraint. */
static void constraint(struct plan_code *c, const struct formula *f, const char *text)
{
    struct strbuf values = STRBUF_INIT(4096), args = STRBUF_INIT(4096);
    for (size_t i = 0; i < c->scope.n; i++)
        if (formula_uses(f, i)) {
            strbuf_addf(&values, "%s%s is %%lld", values.len ? ", " : "", c->scope.names[i]);
            strbuf_addf(&args, ", (long long)%s", c->scope.names[i]);
        }
    code_line(c, "if (!(%s))", code_formula(c, f, FORMULA_CONDITION));
    struct strbuf shown = STRBUF_INIT(4096);
    for (const char *p = code_text(c, text); *p; p++)
        strbuf_adds(&shown, *p == '%' ? "%%" : (char[]){*p, '\0'});
    code_line(c, "    plan_fail(plan, \"%s%sthe task requires %s\"%s);", values.buf,
              values.len ? "; " : "", shown.buf, args.buf);
    strbuf_release(&values);
    strbuf_release(&args);
    strbuf_release(&shown);
}

static void begin_launch(struct plan_code *c, const struct plan_launch *l,
                         const struct formula *when)
{
    (void)l;
    if (when)
        code_line(c, "if (%s) {", code_formula(c, when, FORMULA_CONDITION));
    else
        code_line(c, "{");
    c->indent += 4;
}

static void workspace(struct plan_code *c, size_t i)
{
    const struct plan_workspace *w = &c->m->in.plan->workspaces.items[i];
    code_line(c, "const uint64_t %s = use_workspace(plan, %zu, \"%s\", %s, %d);",
              c_name(c, w->name), i, w->name, code_value(c, w->bytes, "0"), w->zero);
    code_line(c, "(void)%s;", c_name(c, w->name));
}

static void map(struct plan_code *c, size_t i)
{
    const struct plan_map *m = &c->m->in.plan->maps.items[i];
    const char *name = c_name(c, m->name), *of, *where, *bytes;
    struct arena *a = &c->m->arena;
    if (m->of_workspace) {
        of = c->m->in.plan->workspaces.items[m->index].name;
        where = c_name(c, of);
        bytes = arena_printf(a, "plan->workspace[%zu].bytes", m->index);
    } else {
        of = c->m->in.task->tensors.items[m->index].name;
        where = arena_printf(a, "plan->tensor[%zu].address", m->index);
        bytes = arena_printf(a, "plan->tensor[%zu].bytes", m->index);
    }
    code_line(c,
              "struct tensor_map *%s = map_begin(plan, %zu, \"%s\", \"%s\", %s, %s, %d /* %s */, "
              "%zu, %u);",
              name, i, m->name, of, where, bytes, code_map_type(m->dtype), dtype_name(m->dtype),
              dtype_bytes(m->dtype), m->rank);
    for (uint32_t d = 0; d < m->rank; d++)
        code_line(c, "map_dim(plan, %s, %u, %s, %s, %s);", name, d, code_map_dim(c, m, d),
                  code_value(c, m->box[d], "1"), code_value(c, m->elem_strides[d], "1"));
    for (uint32_t d = 1; m->has_strides && d < m->rank; d++)
        code_line(c, "map_stride(%s, %u, %s);", name, d, code_value(c, m->strides[d], "0"));
    code_line(c, "map_end(plan, %s, %u, %u, %d);", name, m->swizzle, m->l2promo, m->fill_nan);
}

static void number(struct plan_code *c, const char *text, const char *value, bool is_float,
                   const struct sig_param *s)
{
    text = code_text(c, text);
    if (s->kind == SIG_FLOAT)
        code_line(c, "arg_%s(plan, %s%s);", s->size == 8 ? "double" : "float",
                  is_float ? "" : "(double)", value);
    else if (s->kind == SIG_BOOL)
        code_line(c, "arg_int(plan, \"%s\", (%s) != 0, 1, 0);", text, value);
    else
        code_line(c, "arg_int(plan, \"%s\", %s, %u, %d);", text, value, s->size, s->is_signed);
}

static void scalar(struct plan_code *c, const struct task_scalar *sc, const struct sig_param *s)
{
    bool is_float = dtype_is_float(sc->dtype);
    const char *value = arena_printf(&c->m->arena, "args->%s", c_name(c, sc->name));
    if (sc->has_value)
        value = is_float ? code_double(c, sc->value) : c_name(c, sc->name);
    if (s->kind == SIG_STRUCT || (is_float && s->size == 2))
        code_line(c, "arg_bits(plan, 0x%x); /* %s = %g as %s */", code_half_bits(sc), sc->name,
                  sc->value, dtype_name(sc->dtype));
    else
        number(c, sc->name, value, is_float, s);
}

static void argument(struct plan_code *c, const struct plan_arg *a, const struct sig_param *s)
{
    const struct task *t = c->m->in.task;
    switch (a->kind) {
    case PLAN_ARG_TENSOR:
        code_line(c, "arg_pointer(plan, args->%s);", c_name(c, t->tensors.items[a->index].name));
        break;
    case PLAN_ARG_WORKSPACE:
        code_line(c, "arg_bits(plan, %s);",
                  c_name(c, c->m->in.plan->workspaces.items[a->index].name));
        break;
    case PLAN_ARG_MAP:
        code_line(c, "arg_map(plan, %s);", c_name(c, c->m->in.plan->maps.items[a->index].name));
        break;
    case PLAN_ARG_AXIS:
        number(c, a->text, c_name(c, t->axes.items[a->index].name), false, s);
        break;
    case PLAN_ARG_SCALAR:
        scalar(c, &t->scalars.items[a->index], s);
        break;
    case PLAN_ARG_EXPR:
        if (expr_is_real(a->expr))
            code_line(c, "arg_real(plan, \"%s\", %s, %u);", code_text(c, expr_text(a->expr)),
                      code_value(c, a->expr, "0"), s->size);
        else
            number(c, expr_text(a->expr), code_value(c, a->expr, "0"), false, s);
        break;
    case PLAN_ARG_NULL:
        code_line(c, "arg_pointer(plan, NULL);");
        break;
    }
}

static void sizes(struct plan_code *c, const char *what, struct expr *const e[3])
{
    code_line(c, "launch_%s(plan, %s, %s, %s);", what, code_value(c, e[0], "1"),
              code_value(c, e[1], "1"), code_value(c, e[2], "1"));
}

static void launch(struct plan_code *c, const struct plan_launch *l, const struct sig *sig)
{
    code_line(c, "launch_begin(plan, KERNEL_%s);", sig_entry(sig));
    sizes(c, "grid", l->grid);
    sizes(c, "block", l->block);
    if (l->cluster[0] || l->cluster[1] || l->cluster[2])
        sizes(c, "cluster", l->cluster);
    if (l->smem)
        code_line(c, "launch_smem(plan, %s);", code_value(c, l->smem, "0"));
    if (l->cooperative)
        code_line(c, "launch_cooperative(plan);");
    for (size_t i = 0; i < l->args.n; i++)
        argument(c, &l->args.items[i], &sig->params[i]);
}

/* Returns the text of four arguments of a call: a buffer's name, address and size, and the offset
 * in the buffer. */
static const char *part(struct plan_code *c, const struct plan_part *x)
{
    struct arena *a = &c->m->arena;
    const char *offset = code_value(c, x->offset, "0");
    if (x->of_workspace)
        return arena_printf(a, "\"%s\", %s, plan->workspace[%zu].bytes, %s", x->name,
                            c_name(c, x->name), x->index, offset);
    return arena_printf(a, "\"%s\", plan->tensor[%zu].address, plan->tensor[%zu].bytes, %s",
                        x->name, x->index, x->index, offset);
}

static void transfer(struct plan_code *c, const struct plan_launch *l)
{
    const char *bytes = code_value(c, l->bytes, "REST");
    if (l->kind == PLAN_MEMSET)
        code_line(c, "launch_memset(plan, %s, %s, %s, %u);", part(c, &l->to), bytes,
                  code_value(c, l->value, "0"), l->width);
    else
        code_line(c, "launch_copy(plan, %s, %s, %s);", part(c, &l->from), part(c, &l->to), bytes);
}

static void end_launch(struct plan_code *c, const struct plan_launch *l)
{
    (void)l;
    c->indent -= 4;
    code_line(c, "}");
}

const struct plan_printer plan_printer_c = {
    .lang = LANG_C,
    .indent = 4,
    .axes = axes,
    .tensor = tensor,
    .constraint = constraint,
    .begin_launch = begin_launch,
    .workspace = workspace,
    .map = map,
    .launch = launch,
    .transfer = transfer,
    .end_launch = end_launch,
};
