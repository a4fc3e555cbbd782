/*
 * as_torch.c - writes a kernel as one Python file with a PyTorch operator.
 */
#include <string.h>

#include "base/util.h"
#include "export/about.h"
#include "export/export.h"
#include "export/origin.h"
#include "export/template.h"
#include "export/torch_text.h"
#include "sys/json.h"

/* Where the gradient of the operator comes from. EAGER: PyTorch differentiates the task's PyTorch
 * expression. KERNEL: a second kernel. IN_PLACE: no gradient, because the operator updates tensors
 * in place. NONE: no gradient, because the exported file contains no PyTorch expression. */
enum gradient { GRADIENT_NONE, GRADIENT_IN_PLACE, GRADIENT_EAGER, GRADIENT_KERNEL };

/* ---- --backward ------------------------------------------------------------------------------ */

/* The tensors of the backward kernel. inputs[k] is the tensor of the forward call that becomes
 * input k: "inputs[0]", "outputs[1]" or "grads[0]". Output k is the gradient of the forward
 * kernel's input number outputs[k]. */
struct binding {
    size_t ninputs, noutputs;
    const char *inputs[TASK_MAX_TENSORS];
    size_t outputs[TASK_MAX_TENSORS];
};

/* Returns whether `name` names the gradient of `of`. The gradient of x may be called "grad_x",
 * "d_x", "dx" or "x_grad". */
static bool is_gradient_of(const char *name, const char *of)
{
    size_t n = strlen(of), len = strlen(name);
    return (str_starts(name, "grad_") && str_eq(name + 5, of)) ||
           (str_starts(name, "d_") && str_eq(name + 2, of)) ||
           (name[0] == 'd' && str_eq(name + 1, of)) ||
           (len == n + 5 && strncmp(name, of, n) == 0 && str_ends(name, "_grad"));
}

static const char *bind_input(struct export_model *m, const struct task_tensor *x, struct err *err)
{
    const struct task *t = m->in.task;
    size_t in = 0, out = 0;
    vec_each (const struct task_tensor, y, &t->tensors) {
        bool same = str_eq(x->name, y->name),
             grad = y->is_output && is_gradient_of(x->name, y->name);
        if ((same || grad) && x->dtype != y->dtype) {
            err_set(err, ERR_INPUT, "its input '%s' is %s, but '%s' of task '%s' is %s", x->name,
                    dtype_name(x->dtype), y->name, t->name, dtype_name(y->dtype));
            return NULL;
        }
        if (same)
            return y->is_input ? arena_printf(&m->arena, "inputs[%zu]", in)
                               : arena_printf(&m->arena, "outputs[%zu]", out);
        if (grad)
            return arena_printf(&m->arena, "grads[%zu]", out);
        in += y->is_input;
        out += y->is_output;
    }
    err_set(err, ERR_INPUT,
            "its input '%s' is neither a tensor of task '%s' nor the gradient of an output "
            "(grad_NAME, d_NAME, dNAME or NAME_grad)",
            x->name, t->name);
    return NULL;
}

static int bind_output(const struct export_model *m, const struct task_tensor *x, size_t *index,
                       struct err *err)
{
    size_t in = 0;
    vec_each (const struct task_tensor, y, &m->in.task->tensors) {
        if (y->is_input && is_gradient_of(x->name, y->name)) {
            *index = in;
            if (x->dtype == y->dtype)
                return 0;
            return err_set(err, ERR_INPUT, "its output '%s' is %s, but '%s' is %s", x->name,
                           dtype_name(x->dtype), y->name, dtype_name(y->dtype));
        }
        in += y->is_input;
    }
    return err_set(err, ERR_INPUT,
                   "its output '%s' is not the gradient of an input of task '%s' (grad_NAME, "
                   "d_NAME, dNAME or NAME_grad)",
                   x->name, m->in.task->name);
}

static int bind(struct export_model *m, const struct export_model *b, struct binding *out,
                struct err *err)
{
    if (torch_text_in_place(m) || torch_text_in_place(b))
        return err_set(err, ERR_UNSUPPORTED,
                       "a task that updates a tensor in place has no gradient");
    for (size_t i = 0; i < b->in.task->axes.n; i++)
        if (b->axes[i].from == AXIS_PARAMETER)
            return err_set(err, ERR_UNSUPPORTED,
                           "the axis '%s' of task '%s' does not follow from its inputs",
                           b->in.task->axes.items[i].name, b->in.task->name);
    vec_each (const struct task_tensor, x, &b->in.task->tensors) {
        if (x->is_input && !(out->inputs[out->ninputs++] = bind_input(m, x, err)))
            return -1;
        if (x->is_output && bind_output(m, x, &out->outputs[out->noutputs++], err) < 0)
            return -1;
    }
    return 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char *gradient_note(enum gradient g)
{
    switch (g) {
    case GRADIENT_KERNEL:
        return "Its gradient is computed by a second kernel, which has a verdict of its own.";
    case GRADIENT_EAGER:
        return "Its gradient is computed by eager PyTorch, from the task's PyTorch expression.";
    case GRADIENT_IN_PLACE:
        return "It updates tensors in place and has no gradient: tensors that need one are "
               "refused.";
    case GRADIENT_NONE:
        break;
    }
    return "It has no gradient: backward() raises an error.";
}

/* Appends _setup(), which saves tensors for the gradient: all inputs, and the outputs if the
 * backward kernel reads one. It copies buffers that the module changes after the call. */
static void add_setup(struct export_model *m, const struct binding *bound, struct strbuf *out)
{
    size_t inputs = 0;
    bool outputs = false;
    for (size_t i = 0; i < bound->ninputs; i++)
        outputs |= str_starts(bound->inputs[i], "outputs");
    strbuf_addf(out, "def _setup(ctx, inputs, output):\n");
    if (outputs)
        strbuf_adds(out, "    outputs = output if isinstance(output, tuple) else (output,)\n");
    strbuf_adds(out, "    ctx.save_for_backward(");
    vec_each (const struct task_tensor, x, &m->in.task->tensors)
        if (x->is_input)
            strbuf_addf(out, "%sinputs[%zu]%s", inputs ? ", " : "", inputs,
                        origin_is_updated(m, x->name) ? ".clone()" : ""),
                inputs++;
    strbuf_addf(out, "%s)\n    ctx.rest = inputs[%zu:]\n\n\n", outputs ? ", *outputs" : "", inputs);
}

/* Appends _gradient(), which calls the backward kernel. For gradients that this kernel does not
 * compute, _gradient() calls PyTorch, or raises an error if there is no reference. */
static void add_kernel_gradient(struct export_model *m, struct export_model *b,
                                const struct binding *bound, bool has_reference, struct strbuf *out)
{
    size_t inputs = 0;
    bool given[TASK_MAX_TENSORS] = {false};
    vec_each (const struct task_tensor, x, &m->in.task->tensors)
        inputs += x->is_input;
    strbuf_addf(
        out,
        "def _gradient(ctx, *grads):\n"
        "    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in "
        "(*ctx.saved_tensors, *grads)):\n"
        "        raise RuntimeError(f\"{_NAME}: the gradient is a kernel and cannot be "
        "differentiated again\")\n"
        "    inputs, outputs = ctx.saved_tensors[:%zu], ctx.saved_tensors[%zu:]\n"
        "    grads = [torch.zeros_like(y) if g is None else g for g, y in zip(grads, outputs)]\n"
        "    found = torch.ops.hone.%s(",
        inputs, inputs, torch_text_op(b, NULL));
    for (size_t i = 0; i < bound->ninputs; i++)
        strbuf_addf(out, "%s%s", i ? ", " : "", bound->inputs[i]);
    strbuf_addf(out,
                ")\n    found = found if isinstance(found, tuple) else (found,)\n"
                "    result = [None] * %zu\n",
                inputs);
    for (size_t i = 0; i < bound->noutputs; i++) {
        strbuf_addf(out, "    result[%zu] = found[%zu]\n", bound->outputs[i], i);
        given[bound->outputs[i]] = true;
    }
    size_t in = 0;
    strbuf_adds(out, "    missing = [");
    vec_each (const struct task_tensor, x, &m->in.task->tensors) {
        if (x->is_input && !given[in] && dtype_is_float(x->dtype))
            strbuf_addf(out, "%zu, ", in);
        in += x->is_input;
    }
    strbuf_adds(
        out, "]\n    missing = [i for i in missing if ctx.needs_input_grad[i]]\n    if missing:\n");
    if (has_reference)
        strbuf_adds(out, "        needs = [i in missing for i in range(len(inputs))]\n"
                         "        eager = _eager_gradients(inputs, needs, grads)\n"
                         "        for i in missing:\n            result[i] = eager[i]\n");
    else
        strbuf_adds(out,
                    "        raise RuntimeError(f\"{_NAME}: the backward kernel does not compute "
                    "the gradient of input {missing[0]}\")\n");
    strbuf_adds(out, "    return (*result, *(None for _ in ctx.rest))\n\n\n");
}

static void add_gradient(struct export_model *m, struct export_model *b,
                         const struct binding *bound, enum gradient g, bool has_reference,
                         struct strbuf *out)
{
    const char *op = torch_text_op(m, b);
    if (has_reference && g != GRADIENT_IN_PLACE) {
        template_fill(out, "torch_eager_gradient.py.in", NULL, 0);
        strbuf_adds(out, "\n\n");
    }
    if (g == GRADIENT_IN_PLACE) {
        strbuf_addf(out, "if _new:\n    _no_gradient(\"%s\")\n\n\n", op);
        return;
    }
    add_setup(m, bound, out);
    if (g == GRADIENT_KERNEL)
        add_kernel_gradient(m, b, bound, has_reference, out);
    else if (g == GRADIENT_EAGER)
        strbuf_adds(
            out, "def _gradient(ctx, *grads):\n"
                 "    result = _eager_gradients(ctx.saved_tensors, ctx.needs_input_grad, grads)\n"
                 "    return (*result, *(None for _ in ctx.rest))\n\n\n");
    else
        strbuf_adds(out, "def _gradient(ctx, *grads):\n    raise RuntimeError(_NO_GRADIENT)\n\n\n");
    strbuf_addf(out,
                "if _new:\n    torch.library.register_autograd(\"hone::%s\", _gradient, "
                "setup_context=_setup, lib=_library)\n\n\n",
                op);
}

static void add_define(struct export_model *m, const char *op, const char *variable,
                       struct strbuf *out)
{
    strbuf_addf(out, "%s = _define(\"%s\", \"(", variable, op);
    torch_text_params(m, true, out);
    strbuf_adds(out, ")");
    torch_text_returns(m, out);
    strbuf_addf(out, "\", _%s_cuda, _%s_fake)\n", m->ident, m->ident);
}

static void add_function(struct export_model *m, const char *op, struct strbuf *out)
{
    struct strbuf params = STRBUF_INIT(64 << 10);
    torch_text_params(m, false, &params);
    strbuf_addf(out, "_operator = torch.ops.hone.%s.default\n\n\ndef %s(%s):\n    \"\"\"%s\n\n", op,
                m->ident, params.buf, about_title(m));
    vec_each (const struct task_tensor, x, &m->in.task->tensors)
        strbuf_addf(out, "    %s: %s%s\n", name_in(LANG_PYTHON, x->name, &m->arena),
                    export_tensor_text(m, x),
                    x->is_input ? (x->is_output ? ", updated in place" : "") : ", returned");
    strbuf_addf(out, "    \"\"\"\n    return _operator(%s)\n\n", params.buf);
    strbuf_release(&params);
}

static void add_operator(struct export_model *m, struct export_model *b,
                         const struct binding *bound, enum gradient g, bool has_reference,
                         struct strbuf *out)
{
    const char *op = torch_text_op(m, b);
    strbuf_addf(out,
                "_NO_GRADIENT = (_NAME + \": %s Call it under torch.no_grad(), or detach its "
                "inputs.\")\n\n",
                g == GRADIENT_IN_PLACE
                    ? "the operator updates tensors in place and has no gradient."
                    : "the export has no gradient: the task has no PyTorch "
                      "expression, and there was no --backward.");
    if (b) {
        add_define(b, torch_text_op(b, NULL), "_new", out);
        strbuf_addf(out, "if _new:\n    _no_gradient(\"%s\")\n", torch_text_op(b, NULL));
    }
    add_define(m, op, "_new", out);
    strbuf_adds(out, "\n\n");
    add_gradient(m, b, bound, g, has_reference, out);
    add_function(m, op, out);
}

static const char *usage(struct export_model *m, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *module = arena_strdup(&m->arena, slash ? slash + 1 : path);
    struct strbuf sb = STRBUF_INIT(64 << 10);
    size_t n = strlen(module);
    if (str_ends(module, ".py"))
        module[n - 3] = '\0';
    strbuf_addf(&sb, "    from %s import %s\n    ", module, m->ident);
    size_t outputs = 0;
    vec_each (const struct task_tensor, x, &m->in.task->tensors)
        if (x->is_output && !x->is_input)
            strbuf_addf(&sb, "%s%s", outputs++ ? ", " : "",
                        name_in(LANG_PYTHON, x->name, &m->arena));
    strbuf_addf(&sb, "%s%s(", outputs ? " = " : "", m->ident);
    torch_text_params(m, false, &sb);
    strbuf_adds(&sb, ")");
    const char *text = arena_strdup(&m->arena, sb.buf);
    strbuf_release(&sb);
    return text;
}

static int check_task(struct export_model *m, struct err *err)
{
    size_t inputs = 0;
    vec_each (const struct task_tensor, x, &m->in.task->tensors)
        inputs += x->is_input;
    if (!inputs)
        return err_set(err, ERR_UNSUPPORTED,
                       "task '%s' has no input tensor, so an operator would not know its device",
                       m->in.task->name);
    return 0;
}

static int write(struct export_job *job, struct err *err)
{
    struct export_model *m = job->model, *b = job->backward;
    struct binding bound = {0};
    if (check_task(m, err) < 0 || (b && check_task(b, err) < 0))
        return -1;
    if (b && str_eq(b->ident, m->ident))
        b->ident = arena_printf(&b->arena, "%s_backward", b->ident);
    if (b && bind(m, b, &bound, err) < 0)
        return err_prefix(err, "--backward, task '%s'", b->in.task->name);
    struct strbuf about = STRBUF_INIT(1 << 20), facts = STRBUF_INIT(1 << 20),
                  runtime = STRBUF_INIT(1 << 20), kernels = STRBUF_INIT(16 << 20),
                  reference = STRBUF_INIT(1 << 20), operator= STRBUF_INIT(1 << 20),
                  module = STRBUF_INIT(4 << 20), headers = STRBUF_INIT(1 << 20),
                  data = STRBUF_INIT(TEMPLATE_MAX), out = STRBUF_INIT(TEMPLATE_MAX);
    bool has_reference = torch_text_reference(m, &reference);
    enum gradient g = torch_text_in_place(m) ? GRADIENT_IN_PLACE
                      : b                    ? GRADIENT_KERNEL
                      : has_reference        ? GRADIENT_EAGER
                                             : GRADIENT_NONE;
    about_text(m, "", &about);
    json_t *j = about_json(m);
    if (b)
        json_object_set_new(j, "backward", about_json(b));
    torch_text_json(&facts, j);
    json_decref(j);
    template_fill(&runtime, "torch_checks.py.in", NULL, 0);
    strbuf_adds(&runtime, "\n\n");
    template_fill(&runtime, "torch_runtime.py.in", NULL, 0);
    torch_text_kernel(m, m->ident, &kernels);
    torch_text_headers(&headers);
    torch_text_data(m, m->ident, &data);
    if (b) {
        torch_text_kernel(b, b->ident, &kernels);
        torch_text_data(b, b->ident, &data);
    }
    add_operator(m, b, &bound, g, has_reference, &operator);
    const char *class = NULL;
    int rc = origin_class(m, &class, err);
    if (rc == 0 && class && has_reference)
        origin_module(m, class, m->ident, &module);
    else
        class = NULL;
    const char *exports =
        arena_printf(&m->arena, "%s%s%s%s", has_reference ? ", \"reference\"" : "",
                     class ? ", \"" : "", class ? class : "", class ? "\"" : "");
    struct template_slot slots[] = {
        {"title", about_title(m)}, {"about", about.buf}, {"usage", usage(m, job->out)},
        {"op", torch_text_op(m, b)}, {"gradient_note", gradient_note(g)}, {"ident", m->ident},
        {"exports", exports}, {"facts", facts.buf}, {"runtime", runtime.buf},
        {"kernels", kernels.buf}, {"reference", reference.buf},
        {"operator", operator.buf },
         {"module", module.buf},
         {"headers", headers.buf},
         {"data", data.buf}};
    if (rc == 0) {
        template_fill(&out, "torch_file.py.in", slots, ARRAY_LEN(slots));
        rc = export_write(job, job->out, &out, err);
    }
    struct strbuf *all[] = {&about,   &facts, &runtime, &kernels, &reference, &operator, & module,
                            &headers, &data,  &out};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        strbuf_release(all[i]);
    return rc;
}

const struct export_format export_torch = {
    "torch", "one Python file with a PyTorch operator; needs nothing but PyTorch", write};
