/*
 * as_flashinfer.c - writes a kernel as a Solution of FlashInfer-Bench, with Traces from its
 * verdict. There, a Definition is a task, a Solution is a program for it, and a Trace is one
 * evaluation of a Solution at one shape.
 *
 *     DIR/definitions/NAME.json     if the task is a Definition, or can be written as one
 *     DIR/solutions/NAME.json
 *     DIR/traces/NAME.jsonl         one line for each timed shape of the verdict
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "export/about.h"
#include "export/export.h"
#include "export/template.h"
#include "export/torch_text.h"
#include "job/torch_variants.h"
#include "sys/json.h"

static const char *py(struct export_model *m, const char *name)
{
    return name_in(LANG_PYTHON, name, &m->arena);
}

/* Returns a new reference: the Definition of an imported task, or the task's JSON. */
static json_t *document_of(const struct task *t, bool *imported)
{
    json_t *doc = json_read_text(t->text, strlen(t->text), "task", NULL, NULL);
    json_t *definition = json_incref(json_object_get(doc, "definition"));
    *imported = definition != NULL;
    if (definition)
        json_decref(doc);
    return definition ? definition : doc;
}

/* Calls fn for each input in the task's document. Tensor and scalar are NULL if the reference of an
 * imported task does not use the input. */
static void each_input(struct export_model *m,
                       void (*fn)(struct export_model *m, const char *name,
                                  const struct task_tensor *tensor,
                                  const struct task_scalar *scalar, void *ctx),
                       void *ctx)
{
    const struct task *t = m->in.task;
    bool imported;
    json_t *doc = document_of(t, &imported), *value;
    const char *key;
    json_object_foreach(json_object_get(doc, "inputs"), key, value)
    {
        int i = task_tensor_index(t, key);
        const struct task_scalar *scalar = NULL;
        vec_each (const struct task_scalar, s, &t->scalars)
            if (str_eq(s->name, key))
                scalar = s;
        if (i >= 0 || scalar || imported)
            fn(m, key, i >= 0 ? &t->tensors.items[i] : NULL, scalar, ctx);
    }
    json_decref(doc);
}

/* ---- the program ----------------------------------------------------------------------------- */

static void add_param(struct export_model *m, const char *name, const struct task_tensor *tensor,
                      const struct task_scalar *scalar, void *ctx)
{
    struct strbuf *out = ctx;
    (void)tensor;
    (void)scalar;
    strbuf_addf(out, "%s%s", out->len ? ", " : "", py(m, name));
}

/* Appends a check of a scalar that has one value in the task: the kernel was verified only for this
 * value. */
static void add_scalar_check(struct export_model *m, const char *name,
                             const struct task_tensor *tensor, const struct task_scalar *scalar,
                             void *ctx)
{
    struct strbuf *out = ctx;
    if (tensor || !scalar || !scalar->has_value)
        return;
    const char *x = py(m, name);
    if (dtype_is_float(scalar->dtype))
        strbuf_addf(out, "    if not abs(%s - %.17g) <= %.3g:\n", x, scalar->value,
                    fabs(scalar->value) * ldexp(1, -dtype_mantissa_bits(scalar->dtype)));
    else
        strbuf_addf(out, "    if %s != %.0f:\n", x, scalar->value);
    strbuf_addf(out,
                "        raise ValueError(f\"{_NAME}: %s is {%s}; it was verified with %.9g\")\n",
                name, x, scalar->value);
}

/* A Solution must not change its inputs, so run() copies each tensor that the kernel updates in
 * place. */
static void add_run(struct export_model *m, struct strbuf *out)
{
    const struct task *t = m->in.task;
    struct strbuf params = STRBUF_INIT(64 << 10), own = STRBUF_INIT(64 << 10),
                  tensors = STRBUF_INIT(64 << 10), body = STRBUF_INIT(64 << 10);
    each_input(m, add_param, &params);
    each_input(m, add_scalar_check, &body);
    torch_text_params(m, false, &own);
    vec_each (const struct task_tensor, x, &t->tensors) {
        const char *name = py(m, x->name);
        if (x->is_input && x->is_output) {
            strbuf_addf(&params, ", %s_out", name);
            strbuf_addf(&body, "    %s_out.copy_(%s)\n", name, name);
            strbuf_addf(&tensors, "%s_out, ", name);
        } else {
            if (x->is_output)
                strbuf_addf(&params, ", %s", name);
            strbuf_addf(&tensors, "%s%s, ", name, x->is_output ? "" : ".contiguous()");
        }
    }
    strbuf_addf(out, "def run(%s):\n    sizes = _%s_sizes(%s)\n%s    _%s.launch((%s), sizes)\n\n\n",
                params.buf, m->ident, own.buf, body.buf, m->ident, tensors.buf);
    strbuf_release(&params);
    strbuf_release(&own);
    strbuf_release(&tensors);
    strbuf_release(&body);
}

static void add_program(struct export_model *m, struct strbuf *out)
{
    struct strbuf about = STRBUF_INIT(1 << 20), checks = STRBUF_INIT(1 << 20),
                  kernels = STRBUF_INIT(16 << 20), run = STRBUF_INIT(1 << 20),
                  headers = STRBUF_INIT(1 << 20), data = STRBUF_INIT(TEMPLATE_MAX);
    about_text(m, "", &about);
    template_fill(&checks, "torch_checks.py.in", NULL, 0);
    template_fill(&kernels, "torch_runtime.py.in", NULL, 0);
    strbuf_adds(&kernels, "\n\n");
    torch_text_kernel(m, m->ident, &kernels);
    add_run(m, &run);
    torch_text_headers(&headers);
    torch_text_data(m, m->ident, &data);
    struct template_slot slots[] = {{"title", about_title(m)}, {"about", about.buf},
                                    {"ident", m->ident},       {"checks", checks.buf},
                                    {"kernels", kernels.buf},  {"run", run.buf},
                                    {"headers", headers.buf},  {"data", data.buf}};
    template_fill(out, "flashinfer.py.in", slots, ARRAY_LEN(slots));
    struct strbuf *all[] = {&about, &checks, &kernels, &run, &headers, &data};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        strbuf_release(all[i]);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static const char *hardware(struct export_model *m)
{
    const struct verdict *v = m->in.verdict;
    return v && *v->device ? v->device : m->in.code->arch;
}

static json_t *solution_json(struct export_model *m, const char *name, const char *program)
{
    const char *author = "hone";
    return json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:[o], s:s, s:[], s:b}, s:[{s:s, s:o}]}", "name",
                     name, "definition", m->in.task->name, "author", author, "description",
                     m->in.verdict ? "Verified by Hone."
                                   : "UNVERIFIED: exported by Hone without a verdict.",
                     "spec", "language", "python", "target_hardware", json_text(hardware(m)),
                     "entry_point", "main.py::run", "dependencies", "destination_passing_style", 1,
                     "sources", "path", "main.py", "content", json_text(program));
}

static void add_workload_input(struct export_model *m, const char *name,
                               const struct task_tensor *tensor, const struct task_scalar *scalar,
                               void *ctx)
{
    (void)m;
    (void)tensor;
    json_t *in = json_pack("{s:s}", "type", scalar ? "scalar" : "random");
    if (scalar)
        json_object_set_new(in, "value",
                            dtype_is_float(scalar->dtype)
                                ? json_real(scalar->value)
                                : json_integer((json_int_t)scalar->value));
    json_object_set_new(ctx, name, in);
}

/* Reads the axes from a text such as "R=4096 C=1024". Returns NULL if an axis is missing. */
static json_t *axes_of(const struct task *t, const char *shape)
{
    json_t *axes = json_object();
    vec_each (const struct task_axis, x, &t->axes) {
        char key[160];
        long long value = 0;
        snprintf(key, sizeof key, "%s=", x->name);
        const char *p = shape;
        while (p && strncmp(p, key, strlen(key)) != 0)
            p = (p = strchr(p, ' ')) ? p + 1 : NULL;
        if (x->is_const)
            continue;
        if (!p || sscanf(p + strlen(key), "%lld", &value) != 1) {
            json_decref(axes);
            return NULL;
        }
        json_object_set_new(axes, x->name, json_integer(value));
    }
    return axes;
}

static double reference_ns(const struct verdict *v, const char *workload)
{
    double found = 0;
    vec_each (const struct verdict_time, t, &v->times) {
        if (!str_eq(t->workload, workload) || str_eq(t->who, "candidate") ||
            contender_is_beside(t->who))
            continue;
        if (str_eq(t->who, "torch"))
            return t->median_ns;
        found = found > 0 ? found : t->median_ns;
    }
    return found;
}

/* Returns the "correctness" of a Trace. A verdict has max_ratio, the largest ratio of an element's
 * error to its tolerance. max_ratio times rtol is the relative error, and max_ratio times atol is
 * the absolute error. A tolerance in standard deviations (sigmas) has neither rtol nor atol. Then
 * both errors are NaN. */
static json_t *correctness_json(const struct export_model *m, const char *workload)
{
    double ratio = 0, rtol = 0, atol = 0;
    bool by_sigma = false;
    const char *output = "";
    vec_each (const struct verdict_workload, w, &m->in.verdict->workloads)
        if (str_eq(w->name, workload)) {
            ratio = w->max_ratio;
            output = w->output;
        }
    vec_each (const struct task_tensor, t, &m->in.task->tensors)
        if (str_eq(t->name, output)) {
            rtol = t->rtol;
            atol = t->atol;
            by_sigma = t->sigmas > 0;
        }
    return json_pack("{s:o, s:o, s:{s:f, s:s}}", "max_relative_error",
                     by_sigma ? json_string("NaN") : json_real(ratio * rtol), "max_absolute_error",
                     by_sigma ? json_string("NaN") : json_real(ratio * atol), "extra",
                     "error_over_tolerance", ratio, "output", output);
}

static void add_trace(struct export_model *m, const char *solution, const struct verdict_time *t,
                      struct strbuf *out)
{
    const struct verdict *v = m->in.verdict;
    json_t *axes = axes_of(m->in.task, t->shape), *inputs = json_object();
    char when[32] = "";
    time_t now = time(NULL);
    struct tm tm;
    if (!axes) {
        json_decref(inputs);
        return;
    }
    if (gmtime_r(&now, &tm))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    each_input(m, add_workload_input, inputs);
    double reference = reference_ns(v, t->workload);
    json_t *j = json_pack(
        "{s:s, s:{s:o, s:o, s:s}, s:s, s:{s:s, s:{s:o, s:{s:s, s:s}}, s:s, s:o, s:o, s:{s:f, s:f, "
        "s:f}}}",
        "definition", m->in.task->name, "workload", "axes", axes, "inputs", inputs, "uuid",
        arena_printf(&m->arena, "%.12s-%s", m->task_sha, t->workload), "solution", solution,
        "evaluation", "status", "PASSED", "environment", "hardware", json_text(hardware(m)), "libs",
        "compiler", v->compiler, "driver", v->driver, "timestamp", when, "log",
        json_text(t->is_model ? "The latency is modelled by Hone's emulator." : v->summary),
        "correctness", correctness_json(m, t->workload), "performance", "latency_ms",
        t->median_ns / 1e6, "reference_latency_ms", reference / 1e6, "speedup_factor",
        reference / t->median_ns);
    json_add_text(out, j, false);
    strbuf_addc(out, '\n');
    json_decref(j);
}

/* Returns the Definition from which the task was made, or makes one from the task's PyTorch
 * expression. Returns NULL if it can do neither: if there is no expression, if a dimension is not
 * an axis, if a tensor is updated in place, or if there are scalars. */
static json_t *definition_json(struct export_model *m)
{
    const struct task *t = m->in.task;
    struct strbuf reference = STRBUF_INIT(1 << 20);
    json_t *j = NULL;
    bool imported;
    json_t *doc = document_of(t, &imported);
    if (t->is_definition || imported) {
        strbuf_release(&reference);
        return doc;
    }
    bool plain = torch_text_reference(m, &reference) && !torch_text_in_place(m) && !t->scalars.n &&
                 str_starts(reference.buf, "def reference(");
    vec_each (const struct task_tensor, x, &t->tensors)
        for (uint32_t d = 0; d < x->rank; d++) {
            bool is_axis = false;
            vec_each (const struct task_axis, a, &t->axes)
                is_axis |= str_eq(a->name, expr_text(x->shape[d]));
            plain = plain && is_axis;
        }
    if (plain) {
        const char *text = arena_printf(
            &m->arena, "import math\nimport torch\nimport torch.nn.functional as F\n\n\n%s",
            reference.buf);
        const char *def = strstr(text, "def reference("), *rest = strchr(def, '(');
        text = arena_printf(&m->arena, "%.*sdef run%s", (int)(def - text), text, rest);
        j = json_pack("{s:s, s:s, s:O, s:O, s:O, s:s}", "name", t->name, "op_type",
                      *t->op_type ? t->op_type : task_class_name(t->class), "axes",
                      json_object_get(doc, "axes"), "inputs", json_object_get(doc, "inputs"),
                      "outputs", json_object_get(doc, "outputs"), "reference", text);
    }
    json_decref(doc);
    strbuf_release(&reference);
    return j;
}

static int write_json(struct export_job *job, const char *path, const json_t *j, struct err *err)
{
    struct strbuf text = STRBUF_INIT(TEMPLATE_MAX);
    json_add_text(&text, j, true);
    int rc = export_write(job, path, &text, err);
    strbuf_release(&text);
    return rc;
}

static int write(struct export_job *job, struct err *err)
{
    struct export_model *m = job->model;
    struct strbuf program = STRBUF_INIT(TEMPLATE_MAX), traces = STRBUF_INIT(16 << 20);
    const char *name = torch_text_op(m, NULL), *dir = job->out;
    add_program(m, &program);
    json_t *solution = solution_json(m, name, program.buf), *definition = definition_json(m);
    int rc =
        write_json(job, arena_printf(&m->arena, "%s/solutions/%s.json", dir, name), solution, err);
    if (rc == 0 && definition)
        rc = write_json(job, arena_printf(&m->arena, "%s/definitions/%s.json", dir, m->ident),
                        definition, err);
    if (m->in.verdict)
        vec_each (const struct verdict_time, t, &m->in.verdict->times)
            if (str_eq(t->who, "candidate"))
                add_trace(m, name, t, &traces);
    if (rc == 0 && traces.len)
        rc = export_write(job, arena_printf(&m->arena, "%s/traces/%s.jsonl", dir, name), &traces,
                          err);
    json_decref(solution);
    json_decref(definition);
    strbuf_release(&program);
    strbuf_release(&traces);
    return rc;
}

const struct export_format export_flashinfer = {
    "flashinfer-bench", "a Solution, and a Trace for each timed shape, in a directory", write};
