/*
 * as_kernelbench.c - writes a kernel as a Python file with a class ModelNew, for KernelBench's
 * evaluation.
 *
 * The file has two forms. The source form contains the source of the kernel and of its launch code;
 * PyTorch's load_inline compiles them. The cubin form contains the verified machine code.
 */
#include <string.h>

#include "base/util.h"
#include "export/about.h"
#include "export/c_text.h"
#include "export/export.h"
#include "export/origin.h"
#include "export/template.h"
#include "export/torch_text.h"
#include "source/token.h"

static void add_function(void *ctx, size_t i, const struct sig *kernel)
{
    strbuf_addf(ctx, "%s(const void *)&::%s", i ? ", " : "", kernel->kernel);
}

static void add_set(struct export_model *m, struct strbuf *out)
{
    const struct task *t = m->in.task;
    size_t k = 0;
    for (size_t i = 0; i < t->tensors.n; i++)
        strbuf_addf(out, "    args.%s = tensors[%zu];\n",
                    name_in(LANG_C, t->tensors.items[i].name, &m->arena), i);
    for (size_t i = 0; i < t->names.n; i++)
        if (m->lo[i] != m->hi[i])
            strbuf_addf(out, "    args.%s = sizes[%zu];\n",
                        name_in(LANG_C, t->names.items[i], &m->arena), i);
    vec_each (const struct task_scalar, x, &t->scalars)
        if (!x->has_value && dtype_is_float(x->dtype))
            strbuf_addf(out, "    args.%s = scalars[%zu];\n", name_in(LANG_C, x->name, &m->arena),
                        k++);
}

/* Returns whether the text contains a word that KernelBench's static check bans. The check bans
 * these words everywhere, even in comments. */
static bool has_banned_word(const char *text)
{
    static const char *const words[] = {"except", "pass", "try"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t n = strlen(words[i]);
        for (const char *p = text; (p = strstr(p, words[i])); p += n)
            if ((p == text || !token_is_word_char(p[-1])) && !token_is_word_char(p[n]))
                return true;
    }
    return false;
}

static void add_candidate(struct export_model *m, struct strbuf *out)
{
    const char *text = m->in.text;
    bool strip = has_banned_word(text);
    struct token_reader r = {.src = text, .len = strlen(text)};
    for (size_t from = 0; from < r.len; from = r.pos) {
        struct token t = token_next_part(&r);
        if (strip && t.kind == TOK_COMMENT)
            strbuf_addc(out, ' ');
        else
            strbuf_add(out, text + from, r.pos - from);
    }
}

static void add_cuda_source(struct export_model *m, struct strbuf *out)
{
    struct strbuf plan = STRBUF_INIT(4 << 20), args = STRBUF_INIT(1 << 20),
                  functions = STRBUF_INIT(1 << 20), set = STRBUF_INIT(1 << 20);
    c_text_plan(m, &plan);
    c_text_args(m, &args);
    c_text_each_kernel(m, add_function, &functions);
    add_set(m, &set);
    add_candidate(m, out);
    struct template_slot slots[] = {{"ident", m->ident},
                                    {"args", args.buf},
                                    {"plan_code", plan.buf},
                                    {"functions", functions.buf},
                                    {"set", set.buf}};
    template_fill(out, "kernelbench_launch.cu.in", slots, ARRAY_LEN(slots));
    strbuf_release(&plan);
    strbuf_release(&args);
    strbuf_release(&functions);
    strbuf_release(&set);
}

static void add_cpp_source(struct export_model *m, struct strbuf *out)
{
    strbuf_addf(out,
                "#include <c10/cuda/CUDAGuard.h>\n#include <c10/cuda/CUDAStream.h>\n\n"
                "extern \"C\" const char *%s_launch(void *const *, const int64_t *, const double "
                "*, void *, "
                "size_t *, int, void *);\n\n"
                "void run(std::vector<torch::Tensor> tensors, std::vector<int64_t> sizes, "
                "std::vector<double> scalars)\n{\n"
                "    std::vector<void *> pointers;\n"
                "    for (const torch::Tensor &t : tensors) {\n"
                "        TORCH_CHECK(t.is_cuda() && t.device() == tensors[0].device(), \"%s: all "
                "tensors must "
                "be on one CUDA device\");\n"
                "        pointers.push_back(t.data_ptr());\n    }\n"
                "    c10::cuda::CUDAGuard guard(tensors[0].device());\n"
                "    void *stream = c10::cuda::getCurrentCUDAStream().stream();\n"
                "    torch::Tensor space;\n    size_t bytes = 0;\n    const char *why = nullptr;\n",
                m->ident, m->ident);
    if (m->in.plan->workspaces.n)
        strbuf_addf(out,
                    "    why = %s_launch(pointers.data(), sizes.data(), scalars.data(), nullptr, "
                    "&bytes, 0, stream);\n"
                    "    TORCH_CHECK(!why, why);\n"
                    "    if (bytes)\n        space = torch::empty({(int64_t)bytes}, "
                    "tensors[0].options().dtype(torch::kUInt8));\n",
                    m->ident);
    strbuf_addf(out,
                "    why = %s_launch(pointers.data(), sizes.data(), scalars.data(), "
                "bytes ? space.data_ptr() : nullptr, &bytes, 1, stream);\n"
                "    TORCH_CHECK(!why, why);\n}\n",
                m->ident);
}

/* Appends the class ModelNew, whose forward() calls _call(). If the task was imported from a
 * PyTorch module, ModelNew has the parameters (weights) and buffers of that module. */
static int add_model(struct export_model *m, struct strbuf *out, struct err *err)
{
    const char *class = NULL;
    if (origin_class(m, &class, err) < 0)
        return -1;
    if (class && torch_text_reference(m, out)) {
        origin_module(m, "ModelNew", "_call", out);
        return 0;
    }
    struct strbuf params = STRBUF_INIT(64 << 10);
    torch_text_params(m, false, &params);
    strbuf_addf(out,
                "class ModelNew(nn.Module):\n"
                "    def __init__(self, *args, **kwargs):\n        super().__init__()\n\n"
                "    def forward(self, %s):\n        return _call(%s)\n",
                params.buf, params.buf);
    strbuf_release(&params);
    return 0;
}

/* Appends the source form's _call(), which runs the kernel through the compiled extension. */
static void add_source_call(struct export_model *m, struct strbuf *out)
{
    const struct task *t = m->in.task;
    struct strbuf params = STRBUF_INIT(64 << 10), values = STRBUF_INIT(64 << 10),
                  names = STRBUF_INIT(64 << 10);
    torch_text_params(m, false, &params);
    torch_text_values(m, &values);
    strbuf_addf(out, "def _call(%s):\n    %s%s = _%s_sizes(%s)\n", params.buf, values.buf,
                strchr(values.buf, ',') ? "" : ",", m->ident, params.buf);
    torch_text_outputs(m, out, &names);
    strbuf_adds(out, "    _extension.run([");
    vec_each (const struct task_tensor, x, &t->tensors)
        strbuf_addf(out, "%s%s, ", name_in(LANG_PYTHON, x->name, &m->arena),
                    x->is_output ? "" : ".contiguous()");
    strbuf_adds(out, "], [");
    for (size_t i = 0; i < t->names.n; i++)
        strbuf_addf(out, "%s, ", name_in(LANG_PYTHON, t->names.items[i], &m->arena));
    strbuf_adds(out, "], [");
    vec_each (const struct task_scalar, x, &t->scalars)
        if (!x->has_value && dtype_is_float(x->dtype))
            strbuf_addf(out, "%s, ", name_in(LANG_PYTHON, x->name, &m->arena));
    strbuf_addf(out, "])\n    return %s\n\n\n", names.len ? names.buf : "None");
    strbuf_release(&params);
    strbuf_release(&values);
    strbuf_release(&names);
}

static void add_source_form(struct export_model *m, struct strbuf *kernels)
{
    struct strbuf cuda = STRBUF_INIT(64 << 20), cpp = STRBUF_INIT(1 << 20);
    const char *sm = strchr(m->in.code->arch, '_');
    torch_text_sizes(m, m->ident, kernels);
    add_cuda_source(m, &cuda);
    add_cpp_source(m, &cpp);
    strbuf_adds(kernels, "_CUDA = ");
    torch_text_literal(kernels, cuda.buf);
    strbuf_adds(kernels, "\n\n_CPP = ");
    torch_text_literal(kernels, cpp.buf);
    strbuf_addf(kernels,
                "\n\n_extension = load_inline(\n    name=\"hone_%s\", cpp_sources=[_CPP], "
                "cuda_sources=[_CUDA], functions=[\"run\"],\n"
                "    extra_cuda_cflags=[\"-gencode=arch=compute_%s,code=%s\", \"-O3\", "
                "\"--expt-relaxed-constexpr\",\n"
                "                       \"-U__CUDA_NO_HALF_OPERATORS__\", "
                "\"-U__CUDA_NO_HALF_CONVERSIONS__\",\n"
                "                       \"-U__CUDA_NO_HALF2_OPERATORS__\", "
                "\"-U__CUDA_NO_BFLOAT16_CONVERSIONS__\"],\n"
                "    extra_ldflags=[\"-ldl\"])\n\n\n",
                torch_text_op(m, NULL), sm ? sm + 1 : "90a", m->in.code->arch);
    add_source_call(m, kernels);
    strbuf_release(&cuda);
    strbuf_release(&cpp);
}

static void add_cubin_form(struct export_model *m, struct strbuf *kernels, struct strbuf *data)
{
    struct strbuf params = STRBUF_INIT(64 << 10);
    torch_text_params(m, false, &params);
    template_fill(kernels, "torch_runtime.py.in", NULL, 0);
    strbuf_adds(kernels, "\n\n");
    torch_text_kernel(m, m->ident, kernels);
    strbuf_addf(kernels, "def _call(%s):\n    return _%s_cuda(%s)\n\n\n", params.buf, m->ident,
                params.buf);
    strbuf_adds(data, "_HEADERS = json.loads(");
    torch_text_headers(data);
    strbuf_adds(data, ")\n\n");
    torch_text_data(m, m->ident, data);
    strbuf_release(&params);
}

static int write(struct export_job *job, struct err *err)
{
    struct export_model *m = job->model;
    bool cubin = job->cubin_form;
    if (!cubin && (strstr(m->in.text, "<cute/") || strstr(m->in.text, "<cutlass/")))
        return err_set(err, ERR_UNSUPPORTED,
                       "the kernel includes CuTe, whose headers KernelBench's machines lack; use "
                       "--cubin-form");
    struct strbuf about = STRBUF_INIT(1 << 20), checks = STRBUF_INIT(1 << 20),
                  kernels = STRBUF_INIT(TEMPLATE_MAX), model = STRBUF_INIT(1 << 20),
                  data = STRBUF_INIT(TEMPLATE_MAX), out = STRBUF_INIT(TEMPLATE_MAX);
    about_text(m, "", &about);
    template_fill(&checks, "torch_checks.py.in", NULL, 0);
    if (cubin)
        add_cubin_form(m, &kernels, &data);
    else
        add_source_form(m, &kernels);
    int rc = add_model(m, &model, err);
    struct template_slot slots[] = {
        {"title", about_title(m)},
        {"about", about.buf},
        {"form_note", cubin
                          ? "The file holds the machine code that was verified."
                          : "nvcc compiles the kernel again when this file is loaded; the verdict "
                            "is about the machine code of the\ncompiler named above."},
        {"imports", cubin ? "import base64\nimport ctypes\nimport json\nimport os\nimport struct\n"
                            "import sys\nimport threading\nimport warnings\n"
                          : ""},
        {"more_imports", cubin ? "" : "from torch.utils.cpp_extension import load_inline\n"},
        {"ident", m->ident},
        {"settings", cubin ? "OTHER_GPUS = \"refuse\"\n" : ""},
        {"checks", checks.buf},
        {"kernels", kernels.buf},
        {"model", model.buf},
        {"data", data.buf}};
    if (rc == 0) {
        template_fill(&out, "kernelbench.py.in", slots, ARRAY_LEN(slots));
        rc = export_write(job, job->out, &out, err);
    }
    struct strbuf *all[] = {&about, &checks, &kernels, &model, &data, &out};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        strbuf_release(all[i]);
    return rc;
}

const struct export_format export_kernelbench = {
    "kernelbench", "a Python file with ModelNew, for KernelBench's evaluation", write};
