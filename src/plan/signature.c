/*
 * signature.c - checks the plan's arguments against the parameters of the compiled kernel.
 *
 * The parameter for a tensor must be a pointer; for an input, a pointer to const. It may point to
 * elements of the tensor's type, to void, or to a vector type. element_clash() also allows some
 * other types of the same size.
 *
 * The parameter for a workspace or for null can be any pointer. Numbers convert as in a C call, but
 * a float never becomes an integer. The parameter for a tensor map must be a 128-byte struct.
 */
#include <string.h>

#include "base/util.h"
#include "plan/model.h"

static const struct sig *find_sig(const struct sig_vec *sigs, const char *kernel)
{
    vec_each (const struct sig, s, sigs)
        if (str_eq(s->kernel, kernel))
            return s;
    return NULL;
}

static const char *param_text(const struct sig_param *s, char *buf, size_t size)
{
    switch (s->kind) {
    case SIG_POINTER:
        snprintf(buf, size, "a pointer to %s%s", s->is_const ? "const " : "",
                 s->elem != DT_NONE  ? dtype_name(s->elem)
                 : s->elem_size == 0 ? "void"
                                     : "another type");
        break;
    case SIG_INT:
        snprintf(buf, size, "a %u-byte %s integer", s->size, s->is_signed ? "signed" : "unsigned");
        break;
    case SIG_FLOAT:
        snprintf(buf, size, "a %u-byte float", s->size);
        break;
    case SIG_BOOL:
        snprintf(buf, size, "a bool");
        break;
    case SIG_STRUCT:
        snprintf(buf, size, "a struct of %u bytes", s->size);
        break;
    }
    return buf;
}

struct place {
    struct problem_log *r;
    size_t launch, arg;
    const struct plan_launch *l;
};

static void bad_arg(const struct place *at, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void bad_arg(const struct place *at, const char *fmt, ...)
{
    char pointer[64];
    struct strbuf sb = STRBUF_INIT(800);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&sb, fmt, ap);
    va_end(ap);
    snprintf(pointer, sizeof pointer, "/launches/%zu/args/%zu", at->launch, at->arg);
    problem_at(at->r, pointer, false, 0, "launch %zu (%s), argument %zu: %s", at->launch,
               at->l->kernel, at->arg, sb.buf);
    strbuf_release(&sb);
}

/* Returns why the pointer does not fit the tensor, or NULL if it fits. */
static const char *element_clash(enum dtype tensor, const struct sig_param *s)
{
    size_t bytes = dtype_bytes(tensor);
    if (s->elem_size == 0)
        return NULL; /* void fits any tensor */
    if (s->elem == DT_NONE)
        return s->elem_size % bytes ? "elements of another size" : NULL; /* vector types */
    if (s->elem_size != bytes)
        return "elements of another size";
    if (dtype_is_float(tensor) && dtype_is_float(s->elem) && s->elem != tensor)
        return "another floating-point type";
    if (!dtype_is_float(tensor) && dtype_is_float(s->elem))
        return "floats where the tensor holds integers";
    return NULL;
}

static void check_tensor(const struct place *at, const struct task_tensor *t,
                         const struct sig_param *s)
{
    char buf[96];
    const char *clash;
    if (s->kind != SIG_POINTER)
        bad_arg(at, "'%s' is a tensor of %s, but the parameter is %s; it must be %s", t->name,
                dtype_name(t->dtype), param_text(s, buf, sizeof buf),
                t->is_output ? "a pointer" : "a pointer to const");
    else if (!t->is_output && !s->is_const)
        bad_arg(at, "'%s' is an input: the parameter must be a pointer to const", t->name);
    else if ((clash = element_clash(t->dtype, s)))
        bad_arg(at, "'%s' is a tensor of %s, but the parameter is %s: %s", t->name,
                dtype_name(t->dtype), param_text(s, buf, sizeof buf), clash);
}

static void check_map(const struct place *at, const char *name, const struct sig_param *s)
{
    char buf[96];
    if (s->kind != SIG_STRUCT || s->size != 128)
        bad_arg(at,
                "'%s' is a tensor map, but the parameter is %s; it must be a 128-byte struct by "
                "value: const __grid_constant__ CUtensorMap",
                name, param_text(s, buf, sizeof buf));
    else if (s->align < 64)
        bad_arg(at, "'%s' is a tensor map: its parameter must be aligned to 64 bytes, not %u", name,
                s->align);
}

static void check_number(const struct place *at, const char *text, enum dtype type,
                         const struct sig_param *s)
{
    char buf[96];
    bool is_float = dtype_is_float(type);
    if (s->kind == SIG_FLOAT || (!is_float && (s->kind == SIG_INT || s->kind == SIG_BOOL)))
        return;
    /* __half and __nv_bfloat16 are structs when passed by value. */
    if (s->kind == SIG_STRUCT && s->size == 2 && (type == DT_F16 || type == DT_BF16))
        return;
    bad_arg(at, "'%s' is %s, but the parameter is %s", text,
            is_float ? "a floating-point number" : "an integer", param_text(s, buf, sizeof buf));
}

static void check_arg(const struct plan *p, const struct place *at, const struct plan_arg *a,
                      const struct sig_param *s)
{
    char buf[96];
    switch (a->kind) {
    case PLAN_ARG_TENSOR:
        check_tensor(at, &p->task->tensors.items[a->index], s);
        break;
    case PLAN_ARG_WORKSPACE:
        if (s->kind != SIG_POINTER)
            bad_arg(at, "'%s' is a workspace, but the parameter is %s; it must be a pointer",
                    a->text, param_text(s, buf, sizeof buf));
        break;
    case PLAN_ARG_MAP:
        check_map(at, a->text, s);
        break;
    case PLAN_ARG_NULL:
        if (s->kind != SIG_POINTER)
            bad_arg(at, "null is a pointer, but the parameter is %s",
                    param_text(s, buf, sizeof buf));
        break;
    case PLAN_ARG_AXIS:
    case PLAN_ARG_EXPR:
        check_number(at, a->expr ? expr_text(a->expr) : a->text,
                     a->expr && expr_is_real(a->expr) ? DT_F64 : DT_I64, s);
        break;
    case PLAN_ARG_SCALAR:
        check_number(at, a->text, p->task->scalars.items[a->index].dtype, s);
        break;
    }
}

static void check_launch(const struct plan *p, size_t i, const struct sig_vec *sigs,
                         struct problem_log *r)
{
    const struct plan_launch *l = &p->launches.items[i];
    const struct sig *sig = find_sig(sigs, l->kernel);
    char pointer[64];
    if (l->kind != PLAN_KERNEL)
        return;
    if (!sig) {
        snprintf(pointer, sizeof pointer, "/launches/%zu/kernel", i);
        problem_at(r, pointer, false, 0,
                   "launch %zu: there is no kernel '%s'; declare it extern \"C\" __global__", i,
                   l->kernel);
        return;
    }
    if (sig->nparams != l->args.n) {
        snprintf(pointer, sizeof pointer, "/launches/%zu/args", i);
        bool has_struct = false;
        for (uint32_t k = 0; k < sig->nparams; k++)
            has_struct |= sig->params[k].kind == SIG_STRUCT && sig->params[k].size != 128 &&
                          sig->params[k].size != 2;
        problem_at(r, pointer, false, 0,
                   "launch %zu: kernel '%s' takes %u parameter%s, the plan gives %zu argument%s%s",
                   i, l->kernel, sig->nparams, sig->nparams == 1 ? "" : "s", l->args.n,
                   l->args.n == 1 ? "" : "s",
                   has_struct ? "; a plan passes no structs except tensor maps and 16-bit floats; "
                                "pass the members one by one"
                              : "");
        return;
    }
    for (size_t k = 0; k < l->args.n; k++) {
        struct place at = {r, i, k, l};
        check_arg(p, &at, &l->args.items[k], &sig->params[k]);
    }
}

/* Is there a launch that can write this output? A memset or copy to the output can. A kernel can if
 * it gets the output as a tensor map, or as a pointer that is not to const. */
static bool can_be_written(const struct plan *p, size_t tensor, const struct sig_vec *sigs)
{
    vec_each (struct plan_launch, l, &p->launches) {
        if (l->kind != PLAN_KERNEL && !l->to.of_workspace && l->to.index == tensor)
            return true;
        const struct sig *sig = l->kind == PLAN_KERNEL ? find_sig(sigs, l->kernel) : NULL;
        for (size_t k = 0; sig && k < l->args.n && k < sig->nparams; k++) {
            const struct plan_arg *a = &l->args.items[k];
            if (a->kind == PLAN_ARG_TENSOR && a->index == tensor && !sig->params[k].is_const)
                return true;
            if (a->kind == PLAN_ARG_MAP && !p->maps.items[a->index].of_workspace &&
                p->maps.items[a->index].index == tensor)
                return true;
        }
    }
    return false;
}

int plan_check_signature(const struct plan *p, const struct sig_vec *sigs,
                         struct problem_vec *problems)
{
    struct problem_log r = {.file = PLAN_FILE, .text = p->text, .len = p->len, .out = problems};
    for (size_t i = 0; i < p->launches.n; i++)
        check_launch(p, i, sigs, &r);
    for (size_t i = 0; r.n == 0 && i < p->task->tensors.n; i++)
        if (p->task->tensors.items[i].is_output && !can_be_written(p, i, sigs))
            problem_at(&r, "/launches", false, 0,
                       "no launch can write the output '%s': pass it to a pointer that is not to "
                       "const",
                       p->task->tensors.items[i].name);
    return r.n ? -1 : 0;
}
