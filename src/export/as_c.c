/*
 * as_c.c - writes a kernel as a C library: NAME.h, NAME.c and example.c in a directory.
 */
#include <ctype.h>
#include <string.h>

#include "base/util.h"
#include "export/about.h"
#include "export/c_text.h"
#include "export/export.h"
#include "export/template.h"

static void add_bytes(struct strbuf *out, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        strbuf_addf(out, "%u,%s", p[i], i % 32 == 31 ? "\n" : "");
    if (n % 32)
        strbuf_addc(out, '\n');
}

static void add_ptx(struct strbuf *out, const struct compiled *code)
{
    strbuf_addf(out, "\n/* ---- the same as PTX ---- */\n\nstatic const char ptx_text[%zu] =\n",
                code->ptx_len + 1);
    for (size_t i = 0; i < code->ptx_len; i++) {
        char c = code->ptx[i];
        if (i == 0 || code->ptx[i - 1] == '\n')
            strbuf_addc(out, '"');
        if (c == '\n')
            strbuf_adds(out, "\\n\"\n");
        else if (c == '"' || c == '\\')
            strbuf_addf(out, "\\%c", c);
        else if (c == '\t')
            strbuf_adds(out, "\\t");
        else
            strbuf_addc(out, c);
    }
    if (code->ptx_len && code->ptx[code->ptx_len - 1] != '\n')
        strbuf_addc(out, '"');
    strbuf_adds(out, ";\n");
}

/* Returns a C condition: can the GPU run the code? Code for an architecture such as sm_90a runs
 * only on that architecture. Other machine code also runs on later GPUs of the same generation. */
static const char *arch_test(struct export_model *m)
{
    const char *arch = m->in.code->arch;
    const char *digits = strpbrk(arch, "0123456789");
    int sm = digits ? atoi(digits) : 0;
    bool exact = arch[strlen(arch) - 1] == 'a';
    return arena_printf(&m->arena, "major == %d && minor %s %d", sm / 10,
                        exact ? "==" : ">=", sm % 10);
}

/* The widths of exponent and mantissa in bits; 0 for types that are not floating-point. */
struct float_layout {
    int exponent, mantissa;
};

static struct float_layout layout(enum dtype t)
{
    switch (t) {
    case DT_F64:
        return (struct float_layout){11, 52};
    case DT_F32:
        return (struct float_layout){8, 23};
    case DT_F16:
        return (struct float_layout){5, 10};
    case DT_BF16:
        return (struct float_layout){8, 7};
    case DT_F8E4M3:
        return (struct float_layout){4, 3};
    case DT_F8E5M2:
        return (struct float_layout){5, 2};
    default:
        return (struct float_layout){0, 0};
    }
}

/* Appends to `set` the lines that set sizes and allocate tensors, and to `print` those that print
 * outputs. Takes the sizes of the first smoke workload. If there is none, takes those of the first
 * workload. */
static int add_example(struct export_model *m, struct strbuf *set, struct strbuf *print,
                       struct err *err)
{
    const struct task *t = m->in.task;
    const struct task_workload *w = &t->workloads.items[0];
    struct shape s;
    for (size_t i = t->workloads.n; i-- > 0;)
        if (t->workloads.items[i].role == ROLE_SMOKE)
            w = &t->workloads.items[i];
    if (shape_resolve(&s, t, w, 1, &m->arena, err) < 0)
        return -1;
    for (size_t i = 0; i < t->axes.n; i++)
        if (!t->axes.items[i].is_const)
            strbuf_addf(set, "    args.%s = %lld;\n",
                        name_in(LANG_C, t->axes.items[i].name, &m->arena), (long long)s.axes[i]);
    vec_each (const struct task_scalar, x, &t->scalars)
        if (!x->has_value)
            strbuf_addf(set, "    args.%s = 1;\n", name_in(LANG_C, x->name, &m->arena));
    for (size_t i = 0; i < t->tensors.n; i++) {
        const struct task_tensor *x = &t->tensors.items[i];
        const char *name = name_in(LANG_C, x->name, &m->arena);
        struct float_layout f = layout(x->dtype);
        int bytes = (int)dtype_bytes(x->dtype);
        bool fill = x->is_input;
        struct gen_spec init = {.dist = GEN_NORMAL};
        if (fill && !f.exponent && shape_init(&s, i, &init, err) < 0)
            return -1;
        bool range = init.dist == GEN_INT && init.b >= init.a;
        strbuf_addf(set, "    args.%s = new_tensor(%llu, %d, %d, %d, %.0f, %.0f);\n", name,
                    (unsigned long long)s.elems[i], bytes, fill ? f.exponent : 0,
                    fill ? f.mantissa : 0, range ? init.a : 0, range ? init.b : 0);
        if (x->is_output)
            strbuf_addf(print, "    print_tensor(\"%s\", args.%s, %llu, %d, %d, %d);\n", x->name,
                        name, (unsigned long long)s.elems[i], bytes, f.exponent, f.mantissa);
    }
    return 0;
}

static int write_header(struct export_job *job, const char *about, struct err *err)
{
    struct export_model *m = job->model;
    struct strbuf args = STRBUF_INIT(1 << 20), out = STRBUF_INIT(1 << 20);
    char *guard = arena_printf(&m->arena, "%s_H", m->ident);
    for (char *p = guard; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    c_text_args(m, &args);
    struct template_slot slots[] = {{"ident", m->ident}, {"title", about_title(m)},
                                    {"about", about},    {"guard", guard},
                                    {"args", args.buf},  {"nkernels", c_text_kernel_count(m)}};
    template_fill(&out, "c_header.h.in", slots, ARRAY_LEN(slots));
    const char *path = arena_printf(&m->arena, "%s/%s.h", job->out, m->ident);
    int rc = export_write(job, path, &out, err);
    strbuf_release(&args);
    strbuf_release(&out);
    return rc;
}

static int write_source(struct export_job *job, const char *about, struct err *err)
{
    struct export_model *m = job->model;
    const struct compiled *code = m->in.code;
    struct strbuf plan = STRBUF_INIT(4 << 20), cubin = STRBUF_INIT(TEMPLATE_MAX),
                  out = STRBUF_INIT(TEMPLATE_MAX);
    struct strbuf ptx = STRBUF_INIT(TEMPLATE_MAX);
    c_text_plan(m, &plan);
    add_bytes(&cubin, code->cubin, code->cubin_len);
    if (job->ptx)
        add_ptx(&ptx, code);
    struct template_slot slots[] = {
        {"ident", m->ident},
        {"title", about_title(m)},
        {"about", about},
        {"plan_code", plan.buf},
        {"arch", code->arch},
        {"arch_test", arch_test(m)},
        {"needs_maps", m->in.plan->maps.n ? "1" : "0"},
        {"compiler", code->compiler},
        {"cubin_bytes", arena_printf(&m->arena, "%zu", code->cubin_len)},
        {"cubin", cubin.buf},
        {"ptx_declare", job->ptx ? arena_printf(&m->arena,
                                                "static const char ptx_text[%zu];\n"
                                                "#define PTX_TEXT ptx_text",
                                                code->ptx_len + 1)
                                 : "#define PTX_TEXT NULL"},
        {"ptx", ptx.buf ? ptx.buf : ""}};
    template_fill(&out, "c_source.c.in", slots, ARRAY_LEN(slots));
    const char *path = arena_printf(&m->arena, "%s/%s.c", job->out, m->ident);
    int rc = export_write(job, path, &out, err);
    strbuf_release(&plan);
    strbuf_release(&cubin);
    strbuf_release(&ptx);
    strbuf_release(&out);
    return rc;
}

static int write_example(struct export_job *job, struct err *err)
{
    struct export_model *m = job->model;
    if (!m->in.task->workloads.n)
        return 0; /* some imported tasks have no workload, so no sizes for an example */
    struct strbuf set = STRBUF_INIT(1 << 20), print = STRBUF_INIT(1 << 20),
                  out = STRBUF_INIT(1 << 20);
    int rc = add_example(m, &set, &print, err);
    struct template_slot slots[] = {{"ident", m->ident}, {"set", set.buf}, {"print", print.buf}};
    if (rc == 0) {
        template_fill(&out, "c_example.c.in", slots, ARRAY_LEN(slots));
        rc = export_write(job, arena_printf(&m->arena, "%s/example.c", job->out), &out, err);
    }
    strbuf_release(&set);
    strbuf_release(&print);
    strbuf_release(&out);
    return rc;
}

static int write(struct export_job *job, struct err *err)
{
    struct strbuf about = STRBUF_INIT(1 << 20);
    about_text(job->model, " * ", &about);
    if (about.len)
        about.buf[--about.len] = '\0';
    int rc = write_header(job, about.buf, err) < 0 || write_source(job, about.buf, err) < 0 ||
                     write_example(job, err) < 0
                 ? -1
                 : 0;
    strbuf_release(&about);
    return rc;
}

const struct export_format export_c = {
    "c", "a C header, source and example in a directory; loads libcuda at run time", write};
