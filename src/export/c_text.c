/* c_text.c - writes the plan of a kernel as C text. See c_text.h. */
#include "export/c_text.h"

#include "base/util.h"
#include "export/plan_code.h"
#include "export/template.h"

void c_text_each_kernel(const struct export_model *m,
                        void (*fn)(void *ctx, size_t i, const struct sig *kernel), void *ctx)
{
    const struct plan *p = m->in.plan;
    size_t n = 0;
    for (size_t i = 0; i < p->launches.n; i++) {
        bool seen = p->launches.items[i].kind != PLAN_KERNEL;
        for (size_t k = 0; k < i; k++)
            seen |= p->launches.items[k].kind == PLAN_KERNEL &&
                    str_eq(p->launches.items[k].kernel, p->launches.items[i].kernel);
        if (!seen)
            fn(ctx, n++, export_sig(m, &p->launches.items[i]));
    }
}

void c_text_args(struct export_model *m, struct strbuf *out)
{
    const struct task *t = m->in.task;
    vec_each (const struct task_tensor, x, &t->tensors)
        strbuf_addf(out, "    %svoid *%s; /* %s */\n", x->is_output ? "" : "const ",
                    name_in(LANG_C, x->name, &m->arena), export_tensor_text(m, x));
    vec_each (const struct task_axis, x, &t->axes)
        if (!x->is_const)
            strbuf_addf(out, "    int64_t %s;\n", name_in(LANG_C, x->name, &m->arena));
    vec_each (const struct task_scalar, x, &t->scalars)
        if (!x->has_value)
            strbuf_addf(out, "    %s %s; /* %s */\n",
                        dtype_is_float(x->dtype) ? "double" : "int64_t",
                        name_in(LANG_C, x->name, &m->arena), dtype_name(x->dtype));
    if (out->len)
        out->buf[--out->len] = '\0'; /* drops the newline, because the template has one */
}

static void count(void *ctx, size_t i, const struct sig *kernel)
{
    (void)kernel;
    *(size_t *)ctx = i + 1;
}

const char *c_text_kernel_count(struct export_model *m)
{
    size_t n = 0;
    c_text_each_kernel(m, count, &n);
    return arena_printf(&m->arena, "%zu", n);
}

static void add_constant(void *ctx, size_t i, const struct sig *kernel)
{
    strbuf_addf(ctx, "%sKERNEL_%s", i ? ", " : "", sig_entry(kernel));
}

static void add_name(void *ctx, size_t i, const struct sig *kernel)
{
    strbuf_addf(ctx, "%s\"%s\"", i ? ", " : "", sig_entry(kernel));
}

void c_text_plan(struct export_model *m, struct strbuf *out)
{
    const struct plan *p = m->in.plan;
    struct strbuf body = STRBUF_INIT(4 << 20), kernels = STRBUF_INIT(1 << 20);
    struct arena *a = &m->arena;
    size_t nargs = 1;
    vec_each (const struct plan_launch, l, &p->launches)
        nargs = MAX(nargs, l->args.n);
    plan_code_write(m, &plan_printer_c, &body);
    if (body.len)
        body.buf[--body.len] = '\0';
    strbuf_adds(&kernels, "enum { ");
    c_text_each_kernel(m, add_constant, &kernels);
    strbuf_adds(&kernels,
                ", N_KERNELS };\n"
                "__attribute__((unused)) static const char *const kernel_names[N_KERNELS] = {");
    c_text_each_kernel(m, add_name, &kernels);
    strbuf_adds(&kernels, "};\n");
    struct template_slot slots[] = {
        {"ident", m->ident},
        {"ntensors", arena_printf(a, "%zu", MAX(m->in.task->tensors.n, 1))},
        {"nlaunches", arena_printf(a, "%zu", MAX(p->launches.n, 1))},
        {"nworkspaces", arena_printf(a, "%zu", MAX(p->workspaces.n, 1))},
        {"nmaps", arena_printf(a, "%zu", MAX(p->maps.n, 1))},
        {"nargs", arena_printf(a, "%zu", nargs)},
        {"kernels", kernels.buf},
        {"plan", body.buf}};
    template_fill(out, "c_plan.h.in", slots, ARRAY_LEN(slots));
    strbuf_release(&body);
    strbuf_release(&kernels);
}
