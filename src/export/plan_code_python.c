/*
 * plan_code_python.c - prints the plan as the body of a Python function _NAME_plan(plan, align,
 * AXES...). templates/torch_runtime.py.in has the class of `plan`. A separate function checks
 * shapes and constraints (plan_code_sizes.c), because torch.compile calls it with fake tensors too.
 */
#include <string.h>

#include "base/util.h"
#include "export/plan_code.h"

static void begin_launch(struct plan_code *c, const struct plan_launch *l,
                         const struct formula *when)
{
    (void)l;
    if (when) {
        code_line(c, "if %s:", code_formula(c, when, FORMULA_CONDITION));
        c->indent += 4;
    }
}

static void workspace(struct plan_code *c, size_t i)
{
    const struct plan_workspace *w = &c->m->in.plan->workspaces.items[i];
    code_line(c, "plan.workspace(\"%s\", %s, zero=%s)", w->name, code_value(c, w->bytes, "0"),
              w->zero ? "True" : "False");
}

/* Returns the text of a tuple such as "(64, 128)" or "(64,)". Its elements are the expressions in
 * `e`, from index `from` on. If `e` is NULL, its elements are the map's dimensions, from `from`
 * on. */
static const char *list(struct plan_code *c, const struct plan_map *m, struct expr *const *e,
                        uint32_t from)
{
    struct strbuf sb = STRBUF_INIT(64 << 10);
    strbuf_addc(&sb, '(');
    for (uint32_t d = from; d < m->rank; d++)
        strbuf_addf(&sb, "%s%s", d > from ? ", " : "",
                    e ? code_value(c, e[d], "1") : code_map_dim(c, m, d));
    strbuf_adds(&sb, m->rank - from == 1 ? ",)" : ")");
    const char *text = arena_strdup(&c->m->arena, sb.buf);
    strbuf_release(&sb);
    return text;
}

static void map(struct plan_code *c, size_t i)
{
    const struct plan_map *m = &c->m->in.plan->maps.items[i];
    const char *of = m->of_workspace ? c->m->in.plan->workspaces.items[m->index].name
                                     : c->m->in.task->tensors.items[m->index].name;
    code_line(c, "plan.tensor_map(\"%s\", \"%s\", dtype=%d, element_bytes=%zu,  # %s", m->name, of,
              code_map_type(m->dtype), dtype_bytes(m->dtype), dtype_name(m->dtype));
    code_line(c, "                dims=%s, strides=%s, box=%s,", list(c, m, NULL, 0),
              m->has_strides ? list(c, m, m->strides, 1) : "None", list(c, m, m->box, 0));
    code_line(c, "                element_strides=%s, swizzle=%u, l2_promotion=%u, fill_nan=%d)",
              list(c, m, m->elem_strides, 0), m->swizzle, m->l2promo, m->fill_nan);
}

static const char *number(struct plan_code *c, const char *text, const char *value,
                          const struct sig_param *s)
{
    struct arena *a = &c->m->arena;
    text = code_text(c, text);
    if (s->kind == SIG_FLOAT)
        return arena_printf(a, "plan.float(%s, %u)", value, s->size);
    if (s->kind == SIG_BOOL)
        return arena_printf(a, "plan.int(\"%s\", int(%s != 0), 1, False)", text, value);
    return arena_printf(a, "plan.int(\"%s\", %s, %u, %s)", text, value, s->size,
                        s->is_signed ? "True" : "False");
}

static const char *scalar(struct plan_code *c, const struct task_scalar *sc,
                          const struct sig_param *s)
{
    bool is_float = dtype_is_float(sc->dtype);
    const char *value = sc->has_value && is_float ? code_double(c, sc->value)
                                                  : name_in(LANG_PYTHON, sc->name, &c->m->arena);
    if (s->kind == SIG_STRUCT || (is_float && s->size == 2))
        return arena_printf(&c->m->arena, "plan.bits(0x%x, 2)", code_half_bits(sc));
    return number(c, sc->name, value, s);
}

static const char *argument(struct plan_code *c, const struct plan_arg *a,
                            const struct sig_param *s)
{
    const struct task *t = c->m->in.task;
    struct arena *mem = &c->m->arena;
    switch (a->kind) {
    case PLAN_ARG_TENSOR:
        return arena_printf(mem, "plan.pointer(\"%s\")", t->tensors.items[a->index].name);
    case PLAN_ARG_WORKSPACE:
        return arena_printf(mem, "plan.pointer(\"%s\")",
                            c->m->in.plan->workspaces.items[a->index].name);
    case PLAN_ARG_MAP:
        return arena_printf(mem, "plan.map(\"%s\")", c->m->in.plan->maps.items[a->index].name);
    case PLAN_ARG_AXIS:
        return number(c, a->text, name_in(LANG_PYTHON, t->axes.items[a->index].name, mem), s);
    case PLAN_ARG_SCALAR:
        return scalar(c, &t->scalars.items[a->index], s);
    case PLAN_ARG_NULL:
        return "plan.bits(0, 8)";
    case PLAN_ARG_EXPR:
        if (expr_is_real(a->expr))
            return arena_printf(mem, "plan.real(\"%s\", lambda: %s, %u)",
                                code_text(c, expr_text(a->expr)), code_value(c, a->expr, "0"),
                                s->size);
        return number(c, expr_text(a->expr), code_value(c, a->expr, "0"), s);
    }
    BUG("argument of kind %d", (int)a->kind);
}

static const char *sizes(struct plan_code *c, struct expr *const e[3])
{
    return arena_printf(&c->m->arena, "(%s, %s, %s)", code_value(c, e[0], "1"),
                        code_value(c, e[1], "1"), code_value(c, e[2], "1"));
}

static void launch(struct plan_code *c, const struct plan_launch *l, const struct sig *sig)
{
    bool plain = str_eq(sig_entry(sig), l->kernel);
    code_line(c, "plan.launch(\"%s\",%s%s", sig_entry(sig), plain ? "" : "  # ",
              plain ? "" : l->kernel);
    code_line(c, "            grid=%s, block=%s,", sizes(c, l->grid), sizes(c, l->block));
    if (l->cluster[0] || l->cluster[1] || l->cluster[2])
        code_line(c, "            cluster=%s,", sizes(c, l->cluster));
    if (l->smem)
        code_line(c, "            smem_bytes=%s,", code_value(c, l->smem, "0"));
    if (l->cooperative)
        code_line(c, "            cooperative=True,");
    code_line(c, "            args=(");
    for (size_t i = 0; i < l->args.n; i++)
        code_line(c, "                %s,", argument(c, &l->args.items[i], &sig->params[i]));
    code_line(c, "            ))");
}

static void transfer(struct plan_code *c, const struct plan_launch *l)
{
    const char *bytes = code_value(c, l->bytes, "None"), *at = code_value(c, l->to.offset, "0");
    if (l->kind == PLAN_MEMSET)
        code_line(c, "plan.memset(\"%s\", value=%s, width=%u, offset=%s, size=%s)", l->to.name,
                  code_value(c, l->value, "0"), l->width, at, bytes);
    else
        code_line(c, "plan.copy(\"%s\", \"%s\", source_offset=%s, target_offset=%s, size=%s)",
                  l->from.name, l->to.name, code_value(c, l->from.offset, "0"), at, bytes);
}

static void end_launch(struct plan_code *c, const struct plan_launch *l)
{
    if (l->when)
        c->indent -= 4;
}

const struct plan_printer plan_printer_python = {
    .lang = LANG_PYTHON,
    .indent = 4,
    .begin_launch = begin_launch,
    .workspace = workspace,
    .map = map,
    .launch = launch,
    .transfer = transfer,
    .end_launch = end_launch,
};
