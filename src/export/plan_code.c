/* plan_code.c - walks a plan and calls the printer of a language for each part of it. */
#include "export/plan_code.h"

#include <stdarg.h>
#include <string.h>

#include "base/util.h"

void code_line(struct plan_code *c, const char *fmt, ...)
{
    va_list ap;
    for (int i = 0; i < c->indent; i++)
        strbuf_addc(c->out, ' ');
    va_start(ap, fmt);
    strbuf_vaddf(c->out, fmt, ap);
    va_end(ap);
    strbuf_addc(c->out, '\n');
}

const char *code_formula(struct plan_code *c, const struct formula *f, enum formula_use use)
{
    struct strbuf sb = STRBUF_INIT(1 << 20);
    formula_print(&sb, f, &c->scope, use);
    const char *text = arena_strdup(&c->m->arena, sb.buf);
    strbuf_release(&sb);
    return text;
}

const char *code_value(struct plan_code *c, const struct expr *e, const char *otherwise)
{
    if (!e)
        return otherwise;
    return code_formula(c, formula_of(e, &c->scope, &c->m->arena), FORMULA_VALUE);
}

const char *code_text(struct plan_code *c, const char *text)
{
    char *out = arena_strdup(&c->m->arena, text);
    for (char *p = out; *p; p++)
        if ((unsigned char)*p < 32 || *p == '"' || *p == '\\')
            *p = ' ';
    return out;
}

const char *code_double(struct plan_code *c, double v)
{
    struct strbuf sb = STRBUF_INIT(64);
    formula_real(&sb, v, c->scope.lang);
    const char *text = arena_strdup(&c->m->arena, sb.buf);
    strbuf_release(&sb);
    return text;
}

const char *code_map_dim(struct plan_code *c, const struct plan_map *m, uint32_t i)
{
    const struct task_tensor *t = &c->m->in.task->tensors.items[m->index];
    return code_value(c, m->has_dims ? m->dims[i] : t->shape[t->rank - 1 - i], "1");
}

unsigned code_half_bits(const struct task_scalar *s)
{
    uint16_t bits;
    dtype_store(s->dtype, &bits, s->value);
    return bits;
}

int code_map_type(enum dtype t)
{
    static const int types[DT_COUNT] = {
        [DT_F64] = 8, [DT_F32] = 7, [DT_F16] = 6, [DT_BF16] = 9, [DT_I64] = 5,
        [DT_U64] = 4, [DT_I32] = 3, [DT_U32] = 2, [DT_I16] = 1,  [DT_U16] = 1};
    return types[t];
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Prints the workspaces and the tensor maps that a launch uses: first the workspaces, because a map
 * may describe a workspace. A workspace or map that several launches use is printed for each of
 * them. */
static void walk_needs(struct plan_code *c, const struct plan_launch *l)
{
    const struct plan *p = c->m->in.plan;
    bool workspace[PLAN_MAX_WORKSPACES] = {false}, map[PLAN_MAX_MAPS] = {false};
    vec_each (const struct plan_arg, a, &l->args) {
        if (a->kind == PLAN_ARG_WORKSPACE)
            workspace[a->index] = true;
        if (a->kind == PLAN_ARG_MAP) {
            const struct plan_map *m = &p->maps.items[a->index];
            map[a->index] = true;
            if (m->of_workspace)
                workspace[m->index] = true;
        }
    }
    if (l->kind != PLAN_KERNEL && l->to.of_workspace)
        workspace[l->to.index] = true;
    if (l->kind == PLAN_COPY && l->from.of_workspace)
        workspace[l->from.index] = true;
    for (size_t i = 0; i < p->workspaces.n; i++)
        if (workspace[i] && c->printer->workspace)
            c->printer->workspace(c, i);
    for (size_t i = 0; i < p->maps.n; i++)
        if (map[i] && c->printer->map)
            c->printer->map(c, i);
}

void plan_code_write(struct export_model *m, const struct plan_printer *p, struct strbuf *out)
{
    const struct task *t = m->in.task;
    struct plan_code c = {
        .m = m, .printer = p, .scope = export_scope(m, p->lang), .out = out, .indent = p->indent};
    if (p->axes)
        p->axes(&c);
    for (size_t i = 0; p->tensor && i < t->tensors.n; i++)
        p->tensor(&c, i);
    for (size_t i = 0; p->constraint && i < t->constraint_exprs.n; i++) {
        const struct expr *e = t->constraint_exprs.items[i];
        p->constraint(&c, formula_of(e, &c.scope, &m->arena), expr_text(e));
    }
    for (size_t i = 0; p->limits && i < m->in.plan->launches.n; i++) {
        const struct plan_launch *l = &m->in.plan->launches.items[i];
        p->limits(&c, l, l->when ? formula_of(l->when, &c.scope, &m->arena) : NULL);
    }
    for (size_t i = 0; p->launch && i < m->in.plan->launches.n; i++) {
        const struct plan_launch *l = &m->in.plan->launches.items[i];
        p->begin_launch(&c, l, l->when ? formula_of(l->when, &c.scope, &m->arena) : NULL);
        walk_needs(&c, l);
        if (l->kind == PLAN_KERNEL)
            p->launch(&c, l, export_sig(m, l));
        else
            p->transfer(&c, l);
        p->end_launch(&c, l);
    }
}
