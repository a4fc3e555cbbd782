/* torch_text.c - writes Python text for a kernel: its functions, its data, its reference. */
#include "export/torch_text.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"
#include "compile/shim.h"
#include "export/c_text.h"
#include "export/export.h"
#include "export/origin.h"
#include "export/plan_code.h"
#include "export/template.h"
#include "sys/hash.h"
#include "sys/json.h"

static const char *py(struct export_model *m, const char *name)
{
    return name_in(LANG_PYTHON, name, &m->arena);
}

/* ---- parameters ------------------------------------------------------------------------------ */

static void add_param(struct strbuf *out, const char *type, const char *name)
{
    strbuf_addf(out, "%s%s%s%s", out->len ? ", " : "", type, *type ? " " : "", name);
}

void torch_text_params(struct export_model *m, bool types, struct strbuf *out)
{
    const struct task *t = m->in.task;
    struct strbuf sb = STRBUF_INIT(64 << 10);
    char alias = 'a';
    vec_each (const struct task_tensor, x, &t->tensors)
        if (x->is_input)
            add_param(&sb,
                      !types         ? ""
                      : x->is_output ? arena_printf(&m->arena, "Tensor(%c!)", alias++)
                                     : "Tensor",
                      py(m, x->name));
    for (size_t i = 0; i < t->axes.n; i++)
        if (m->axes[i].from == AXIS_PARAMETER)
            add_param(&sb, types ? "SymInt" : "", py(m, t->axes.items[i].name));
    vec_each (const struct task_scalar, x, &t->scalars)
        if (!x->has_value)
            add_param(&sb,
                      !types                     ? ""
                      : dtype_is_float(x->dtype) ? "float"
                                                 : "SymInt",
                      py(m, x->name));
    strbuf_add(out, sb.buf, sb.len);
    strbuf_release(&sb);
}

/* Returns the number of outputs that are not inputs. */
static size_t new_outputs(const struct export_model *m)
{
    size_t n = 0;
    vec_each (const struct task_tensor, x, &m->in.task->tensors)
        n += x->is_output && !x->is_input;
    return n;
}

bool torch_text_in_place(const struct export_model *m)
{
    vec_each (const struct task_tensor, x, &m->in.task->tensors)
        if (x->is_output && x->is_input)
            return true;
    return false;
}

void torch_text_returns(struct export_model *m, struct strbuf *out)
{
    size_t n = new_outputs(m);
    strbuf_adds(out, n == 1 ? " -> " : " -> (");
    for (size_t i = 0; i < n; i++)
        strbuf_adds(out, i ? ", Tensor" : "Tensor");
    strbuf_adds(out, n == 1 ? "" : ")");
}

const char *torch_text_op(struct export_model *m, const struct export_model *backward)
{
    char hex[HASH_HEX];
    struct hash *h = hash_new();
    hash_str(h, m->source_sha);
    hash_str(h, m->task_sha);
    hash_str(h, m->in.code->arch);
    hash_str(h, backward ? backward->source_sha : "");
    hash_finish(h, hex);
    return arena_printf(&m->arena, "%s_%.8s", m->ident, hex);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Appends the axes and integer scalars, then the float scalars that the caller gives. */
void torch_text_values(struct export_model *m, struct strbuf *out)
{
    const struct task *t = m->in.task;
    struct strbuf sb = STRBUF_INIT(64 << 10);
    for (size_t i = 0; i < t->names.n; i++)
        add_param(&sb, "", py(m, t->names.items[i]));
    vec_each (const struct task_scalar, x, &t->scalars)
        if (!x->has_value && dtype_is_float(x->dtype))
            add_param(&sb, "", py(m, x->name));
    strbuf_add(out, sb.buf, sb.len);
    strbuf_release(&sb);
}

static void add_shape(struct export_model *m, const struct task_tensor *x, struct strbuf *out)
{
    struct formula_scope s = export_scope(m, LANG_PYTHON);
    strbuf_addc(out, '(');
    for (uint32_t d = 0; d < x->rank; d++) {
        strbuf_adds(out, d ? ", " : "");
        formula_print(out, formula_of(x->shape[d], &s, &m->arena), &s, FORMULA_VALUE);
    }
    strbuf_adds(out, x->rank == 1 ? ",)" : ")");
}

static const char *first_input(struct export_model *m)
{
    vec_each (const struct task_tensor, x, &m->in.task->tensors)
        if (x->is_input)
            return py(m, x->name);
    BUG("a task without inputs");
}

void torch_text_outputs(struct export_model *m, struct strbuf *lines, struct strbuf *names)
{
    vec_each (const struct task_tensor, x, &m->in.task->tensors) {
        if (!x->is_output || x->is_input)
            continue;
        strbuf_addf(lines, "    %s = %s.new_empty(", py(m, x->name), first_input(m));
        add_shape(m, x, lines);
        strbuf_addf(lines, ", dtype=torch.%s)\n", dtype_name(x->dtype));
        add_param(names, "", py(m, x->name));
    }
}

static void add_kernel_name(void *ctx, size_t i, const struct sig *kernel)
{
    strbuf_addf(ctx, "%s\"%s\"", i ? ", " : "", sig_entry(kernel));
}

/* The export may compile the source again. If a kernel is an instance of a C++ template, the
 * compiler makes this instance only if some code uses it. So appends a line of device code that
 * uses it. */
static void add_instance(void *ctx, size_t i, const struct sig *kernel)
{
    if (!str_eq(kernel->kernel, sig_entry(kernel)))
        strbuf_addf(ctx, " + \"\\n__device__ const auto hone_instance_%zu = &%s;\\n\"", i,
                    kernel->kernel);
}

static bool plan_uses_align(const struct export_model *m)
{
    vec_each (const struct plan_launch, l, &m->in.plan->launches) {
        struct expr *const all[] = {l->when,       l->smem,       l->grid[0],    l->grid[1],
                                    l->grid[2],    l->block[0],   l->block[1],   l->block[2],
                                    l->cluster[0], l->cluster[1], l->cluster[2], l->bytes,
                                    l->value,      l->to.offset,  l->from.offset};
        for (size_t i = 0; i < ARRAY_LEN(all); i++)
            if (all[i] && expr_alignof_name(all[i], 0, NULL))
                return true;
        if (l->kind == PLAN_MEMSET && l->width > 1)
            return true; /* a memset needs an address that is a multiple of its width */
        vec_each (const struct plan_arg, a, &l->args)
            if (a->kind == PLAN_ARG_MAP || (a->expr && expr_alignof_name(a->expr, 0, NULL)))
                return true; /* a map needs an address that is a multiple of 16 */
    }
    vec_each (const struct plan_workspace, w, &m->in.plan->workspaces)
        if (expr_alignof_name(w->bytes, 0, NULL))
            return true;
    return false;
}

static void add_object(struct export_model *m, const char *prefix, struct strbuf *out)
{
    const struct task *t = m->in.task;
    strbuf_addf(out, "_%s = _Kernel(\n    \"%s\", \"%s\", lambda: _%s_code(), (", prefix, m->ident,
                m->in.code->arch, prefix);
    c_text_each_kernel(m, add_kernel_name, out);
    strbuf_adds(out, ",),\n    (");
    for (size_t i = 0; i < t->tensors.n; i++)
        strbuf_addf(out, "\"%s\", ", t->tensors.items[i].name);
    strbuf_addf(out, "), _%s_plan, aligned=%u, uses_align=%s)\n_%s_known = {}\n_%s_tested = {",
                prefix, MAX(t->align, 1), plan_uses_align(m) ? "True" : "False", prefix, prefix);
    for (size_t i = 0; i < t->axes.n; i++)
        strbuf_addf(out, "%s\"%s\": (%lld, %lld)", i ? ", " : "", t->axes.items[i].name,
                    (long long)m->tested_lo[i], (long long)m->tested_hi[i]);
    strbuf_adds(out, "}\n\n\n");
}

/* _PREFIX_cuda runs the kernel. It copies an input that is not contiguous, or raises an error if
 * the kernel updates that input in place. It checks sizes only for shapes, dtypes and values that
 * it has not checked before. _PREFIX_fake, for torch.compile, checks sizes and makes the outputs,
 * but runs nothing. */
static void add_cuda(struct export_model *m, const char *prefix, const char *params,
                     const char *values, struct strbuf *out)
{
    const struct task *t = m->in.task;
    struct strbuf make = STRBUF_INIT(64 << 10), names = STRBUF_INIT(64 << 10);
    torch_text_outputs(m, &make, &names);
    strbuf_addf(out, "def _%s_cuda(%s):\n    key = (", prefix, params);
    vec_each (const struct task_tensor, x, &t->tensors)
        if (x->is_input)
            strbuf_addf(out, "%s.shape, %s.dtype, ", py(m, x->name), py(m, x->name));
    for (size_t i = 0; i < t->axes.n; i++)
        if (m->axes[i].from == AXIS_PARAMETER)
            strbuf_addf(out, "%s, ", py(m, t->axes.items[i].name));
    vec_each (const struct task_scalar, x, &t->scalars)
        if (!x->has_value)
            strbuf_addf(out, "%s, ", py(m, x->name));
    strbuf_addf(out,
                ")\n    sizes = _%s_known.get(key)\n    if sizes is None:\n"
                "        sizes = _%s_sizes(%s)\n"
                "        _warn_untested(dict(zip(_%s_tested, sizes)), _%s_tested)\n"
                "        if len(_%s_known) >= 4096:\n            _%s_known.clear()\n"
                "        _%s_known[key] = sizes\n",
                prefix, prefix, params, prefix, prefix, prefix, prefix, prefix);
    vec_each (const struct task_tensor, x, &t->tensors) {
        const char *name = py(m, x->name);
        if (x->is_input && x->is_output)
            strbuf_addf(
                out,
                "    if not %s.is_contiguous():\n        raise ValueError(f\"{_NAME}: %s is "
                "updated in place and must be contiguous\")\n",
                name, x->name);
        else if (x->is_input)
            strbuf_addf(out, "    if not %s.is_contiguous():\n        %s = %s.contiguous()\n", name,
                        name, name);
    }
    if (make.len && *values)
        strbuf_addf(out, "    %s%s = sizes\n", values, strchr(values, ',') ? "" : ",");
    strbuf_add(out, make.buf, make.len);
    strbuf_addf(out, "    _%s.launch((", prefix);
    vec_each (const struct task_tensor, x, &t->tensors)
        strbuf_addf(out, "%s, ", py(m, x->name));
    strbuf_addf(out, "), sizes)\n    return %s\n\n\n", names.len ? names.buf : "None");
    strbuf_addf(out, "def _%s_fake(%s):\n    %s%s_%s_sizes(%s)\n", prefix, params,
                make.len ? values : "",
                !make.len             ? ""
                : strchr(values, ',') ? " = "
                                      : ", = ",
                prefix, params);
    strbuf_add(out, make.buf, make.len);
    strbuf_addf(out, "    return %s\n\n\n", names.len ? names.buf : "None");
    strbuf_release(&make);
    strbuf_release(&names);
}

void torch_text_sizes(struct export_model *m, const char *prefix, struct strbuf *out)
{
    struct strbuf params = STRBUF_INIT(64 << 10), values = STRBUF_INIT(64 << 10);
    torch_text_params(m, false, &params);
    torch_text_values(m, &values);
    strbuf_addf(
        out, "def _%s_sizes(%s):\n    \"\"\"Checks the inputs; returns axes and scalars.\"\"\"\n",
        prefix, params.buf);
    plan_code_write(m, &plan_printer_sizes, out);
    strbuf_addf(out, "    return (%s%s)\n\n\n", values.buf,
                values.len && !strchr(values.buf, ',') ? "," : "");
    strbuf_release(&params);
    strbuf_release(&values);
}

void torch_text_kernel(struct export_model *m, const char *prefix, struct strbuf *out)
{
    struct strbuf params = STRBUF_INIT(64 << 10), values = STRBUF_INIT(64 << 10);
    torch_text_params(m, false, &params);
    torch_text_values(m, &values);
    torch_text_sizes(m, prefix, out);
    strbuf_addf(out,
                "def _%s_plan(plan, align%s%s):\n"
                "    \"\"\"The launch plan: which kernels run at these sizes, and how.\"\"\"\n",
                prefix, values.len ? ", " : "", values.buf);
    plan_code_write(m, &plan_printer_python, out);
    strbuf_adds(out, "\n\n");
    add_object(m, prefix, out);
    add_cuda(m, prefix, params.buf, values.buf, out);
    strbuf_release(&params);
    strbuf_release(&values);
}

/* ---- data ------------------------------------------------------------------------------------ */

void torch_text_literal(struct strbuf *out, const char *text)
{
    size_t n = strlen(text);
    bool raw = !strstr(text, "'''") && (!n || (text[n - 1] != '\\' && text[n - 1] != '\''));
    for (size_t i = 0; raw && i < n; i++)
        raw = text[i] == '\n' || text[i] == '\t' || (unsigned char)text[i] >= 32;
    if (raw) {
        strbuf_addf(out, "r'''%s'''", text);
        return;
    }
    json_t *j = json_text(text);
    json_add_text(out, j, false);
    json_decref(j);
}

/* Appends the PTX as a string literal, without the lines that only debuggers need. */
static void add_ptx(struct strbuf *out, const char *ptx)
{
    struct strbuf sb = STRBUF_INIT(256u << 20);
    bool section = false;
    for (const char *p = ptx; *p;) {
        size_t n = strcspn(p, "\n");
        const char *word = p + strspn(p, " \t");
        section |= str_starts(word, ".section");
        if (!section && !str_starts(word, ".loc") && !str_starts(word, ".file") &&
            !str_starts(word, "//"))
            strbuf_addf(&sb, "%.*s\n", (int)n, p);
        if (section && *word == '}')
            section = false;
        p += n + (p[n] != '\0');
    }
    torch_text_literal(out, sb.buf);
    strbuf_release(&sb);
}

void torch_text_data(struct export_model *m, const char *prefix, struct strbuf *out)
{
    const struct compiled *c = m->in.code;
    strbuf_addf(out,
                "\ndef _%s_code():\n"
                "    return base64.b64decode(_%s_cubin), _%s_ptx.encode(), _%s_source",
                prefix, prefix, prefix, prefix);
    c_text_each_kernel(m, add_instance, out);
    strbuf_addf(out, "\n\n\n# The kernel as it was verified.\n_%s_source = ", prefix);
    torch_text_literal(out, m->in.text);
    strbuf_addf(out, "\n\n# Machine code for %s by %s, %zu bytes.\n_%s_cubin = \"\"\"\n", c->arch,
                c->compiler, c->cubin_len, prefix);
    export_base64(out, c->cubin, c->cubin_len);
    strbuf_addf(out, "\"\"\"\n\n_%s_ptx = ", prefix);
    add_ptx(out, c->ptx);
    strbuf_adds(out, "\n");
}

void torch_text_headers(struct strbuf *out)
{
    json_t *j = json_object();
    for (size_t i = 0; i < nshims; i++)
        json_object_set_new(j, shims[i].name, json_text(shim_text(i)));
    torch_text_json(out, j);
    json_decref(j);
}

void torch_text_json(struct strbuf *out, const json_t *j)
{
    struct strbuf text = STRBUF_INIT(16 << 20);
    json_add_text(&text, j, true);
    torch_text_literal(out, text.buf);
    strbuf_release(&text);
}

/* ---- the reference --------------------------------------------------------------------------- */

static bool mentions(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = text; (p = strstr(p, name)); p += n)
        if ((p == text || (!isalnum((unsigned char)p[-1]) && p[-1] != '_' && p[-1] != '.')) &&
            !isalnum((unsigned char)p[n]) && p[n] != '_')
            return true;
    return false;
}

static bool is_module(const char *text)
{
    return str_starts(text, "def run") || strstr(text, "\ndef run") != NULL;
}

static void add_scalars(struct export_model *m, const char *text, struct strbuf *out)
{
    struct plan_code c = {.m = m, .scope = {.lang = LANG_PYTHON}};
    vec_each (const struct task_scalar, x, &m->in.task->scalars)
        if (x->has_value && mentions(text, x->name))
            strbuf_addf(out, "    %s = %s\n", x->name,
                        dtype_is_float(x->dtype)
                            ? code_double(&c, x->value)
                            : arena_printf(&m->arena, "%lld", (long long)x->value));
}

/* Returns whether the export renames a tensor or an axis, because Python reserves its name. */
static bool renames(const struct export_model *m)
{
    vec_each (const struct task_tensor, x, &m->in.task->tensors)
        if (*name_suffix(LANG_PYTHON, x->name))
            return true;
    vec_each (const struct task_axis, x, &m->in.task->axes)
        if (*name_suffix(LANG_PYTHON, x->name))
            return true;
    return false;
}

/* Appends reference() for a PyTorch text that is an expression. */
static void add_expression(struct export_model *m, const char *text, const char *params,
                           struct strbuf *out)
{
    const struct task *t = m->in.task;
    bool axes = false;
    for (size_t i = 0; i < t->axes.n; i++)
        axes |= mentions(text, t->axes.items[i].name);
    strbuf_addf(out, "def reference(%s):\n    \"\"\"The same computation in eager PyTorch.\"\"\"\n",
                params);
    if (axes) {
        struct strbuf values = STRBUF_INIT(64 << 10);
        torch_text_values(m, &values);
        strbuf_addf(out, "    %s%s = _%s_sizes(%s)\n", values.buf,
                    strchr(values.buf, ',') ? "" : ",", m->ident, params);
        strbuf_release(&values);
    }
    add_scalars(m, text, out);
    strbuf_addf(out, "    return (%s)\n\n\n", text);
}

/* Appends reference() for a PyTorch text that defines run(). The parameters of run() are named
 * after the task's inputs, axes and scalars. */
static void add_program(struct export_model *m, const char *text, const char *params,
                        struct strbuf *out)
{
    const struct task *t = m->in.task;
    struct plan_code c = {.m = m, .scope = {.lang = LANG_PYTHON}};
    strbuf_adds(out, "# The PyTorch program of the task.\n_REFERENCE = ");
    torch_text_literal(out, text);
    strbuf_adds(out, "\n\n");
    template_fill(out, "torch_module_reference.py.in", NULL, 0);
    strbuf_addf(out,
                "\n\ndef reference(%s):\n    \"\"\"The same computation in eager PyTorch.\"\"\"\n"
                "    sizes = {name: int(size) for name, size in zip((",
                params);
    vec_each (const struct task_axis, x, &t->axes)
        strbuf_addf(out, "\"%s\", ", x->name);
    strbuf_addf(out, "), _%s_sizes(%s))}\n    given = {", m->ident, params);
    vec_each (const struct task_tensor, x, &t->tensors)
        if (x->is_input) /* the program gets a copy of an input that it changes */
            strbuf_addf(out, "\"%s\": %s%s, ", x->name, py(m, x->name),
                        origin_is_updated(m, x->name) ? ".clone()" : "");
    vec_each (const struct task_scalar, x, &t->scalars)
        strbuf_addf(out, "\"%s\": %s, ", x->name,
                    x->has_value ? code_double(&c, x->value) : py(m, x->name));
    strbuf_addf(out,
                "**sizes}\n    run = _reference_space(sizes, %s.device)[\"run\"]\n"
                "    wanted = inspect.signature(run).parameters\n"
                "    return run(**{name: value for name, value in given.items() if name in wanted})"
                "\n\n\n",
                first_input(m));
}

bool torch_text_reference(struct export_model *m, struct strbuf *out)
{
    const struct task *t = m->in.task;
    const char *text = t->torch_src ? t->torch_src : t->reference_py;
    if (!text || (!is_module(text) && renames(m)))
        return false;
    struct strbuf params = STRBUF_INIT(64 << 10);
    torch_text_params(m, false, &params);
    if (is_module(text))
        add_program(m, text, params.buf, out);
    else
        add_expression(m, text, params.buf, out);
    strbuf_release(&params);
    return true;
}
