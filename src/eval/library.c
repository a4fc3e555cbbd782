/* library.c - recognises matrix products, and writes the specs of library and PyTorch baselines.
 * See library.h. */
#include "eval/library.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"

/* If a shape entry is just one axis, returns the axis, else -1. */
static int axis_of(const struct task *t, const struct expr *e)
{
    for (size_t i = 0; i < t->axes.n; i++)
        if (str_eq(expr_text(e), t->axes.items[i].name))
            return (int)i;
    return -1;
}

static bool matrix(const struct task *t, size_t i, int *rows, int *cols)
{
    const struct task_tensor *x = &t->tensors.items[i];
    if (x->rank != 2)
        return false;
    *rows = axis_of(t, x->shape[0]);
    *cols = axis_of(t, x->shape[1]);
    return *rows >= 0 && *cols >= 0 && *rows != *cols;
}

static bool has_relu_bias(const struct task *t)
{
    return t->tensors.n == 4 && t->tensors.items[2].is_input && t->tensors.items[2].rank == 1 &&
           t->torch_src && str_starts(t->torch_src, "torch.relu(torch.nn.functional.linear(");
}

bool library_gemm_of(const struct task *t, struct library_gemm *g)
{
    int ar, ac, br, bc, m, n;
    bool bias = has_relu_bias(t);
    size_t d = bias ? 3 : 2;
    if (t->class != CLASS_GEMM || t->tensors.n != d + 1 || t->scalars.n ||
        !t->tensors.items[0].is_input || !t->tensors.items[1].is_input ||
        t->tensors.items[d].is_input || !matrix(t, 0, &ar, &ac) || !matrix(t, 1, &br, &bc) ||
        !matrix(t, d, &m, &n) || t->tensors.items[0].dtype != t->tensors.items[1].dtype)
        return false;
    if (bias && axis_of(t, t->tensors.items[2].shape[0]) != n)
        return false;
    bool ta = ac == m, tb = br == n;
    int k = ta ? ar : ac;
    if ((ta ? ac : ar) != m || (tb ? br : bc) != n || (tb ? bc : br) != k)
        return false;
    *g = (struct library_gemm){0, 1, d, (size_t)m, (size_t)n, (size_t)k, ta, tb, bias};
    return true;
}

const char *library_spec(const struct task *t, const struct library_gemm *g, struct arena *a)
{
    enum dtype in = t->tensors.items[g->a].dtype;
    const char *compute = in == DT_F64                    ? "f64"
                          : in == DT_I8                   ? "i32"
                          : in == DT_F32 && t->allow_tf32 ? "tf32"
                                                          : "f32";
    return arena_printf(a, "gemm %c %c %s %s %s %s", g->ta ? 't' : 'n', g->tb ? 't' : 'n',
                        dtype_name(in), dtype_name(t->tensors.items[g->d].dtype), compute,
                        g->relu_bias ? "relu_bias" : "none");
}

static struct job_arg number(int64_t v)
{
    struct job_arg x = {.kind = JOB_ARG_BYTES, .size = 8};
    for (int i = 0; i < 8; i++)
        x.bytes[i] = (uint8_t)((uint64_t)v >> (8 * i));
    return x;
}

void library_program(const struct library_gemm *g, const struct shape *s, struct job_program *out,
                     struct arena *a)
{
    struct job_launch *l = arena_alloc(a, sizeof *l);
    const size_t tensors[] = {g->a, g->b, g->d};
    const size_t axes[] = {g->m, g->n, g->k};
    *l = (struct job_launch){.kernel = "gemm",
                             .grid = {1, 1, 1},
                             .block = {1, 1, 1},
                             .cluster = {1, 1, 1},
                             .nargs = g->relu_bias ? 8 : 7};
    l->args = arena_alloc(a, sizeof *l->args * 8);
    for (uint32_t i = 0; i < 3; i++) {
        l->args[i] =
            (struct job_arg){.kind = JOB_ARG_BUFFER, .index = (uint32_t)tensors[i], .size = 8};
        l->args[3 + i] = number(s->axes[axes[i]]);
    }
    l->args[6] = number(1);
    if (g->relu_bias)
        l->args[7] = (struct job_arg){.kind = JOB_ARG_BUFFER, .index = 2, .size = 8};
    out->nlaunches = 1;
    out->launches = l;
}

static void add_weights(const struct task *t, struct strbuf *out)
{
    strbuf_adds(out, "\nweights");
    vec_each (const struct task_tensor, x, &t->tensors)
        if (x->is_weight)
            strbuf_addf(out, " %s", x->name);
}

static char *spec_of(const struct task *t, const char *program, const char *mode, bool weights)
{
    struct strbuf sb = STRBUF_INIT(JOB_MAX_SPEC);
    strbuf_adds(&sb, "axes");
    vec_each (const struct task_axis, x, &t->axes)
        strbuf_addf(&sb, " %s", x->name);
    strbuf_adds(&sb, "\nscalars");
    vec_each (const struct task_scalar, x, &t->scalars)
        strbuf_addf(&sb, " %s", x->name);
    if (weights)
        add_weights(t, &sb);
    strbuf_addf(&sb, "\nmode %s\ntf32 %s\n\n%s", mode,
                t->allow_tf32         ? "1"
                : t->allow_tf32_convs ? "convs"
                                      : "0",
                program);
    return strbuf_detach(&sb, NULL);
}

char *library_torch_spec(const struct task *t, const struct torch_variant *v)
{
    return spec_of(t, t->torch_src, v->mode, v->by_weights);
}

char *library_program_spec(const struct task *t, const char *source)
{
    return spec_of(t, source, "eager", false);
}

char *library_reference_spec(const struct task *t)
{
    return spec_of(t, t->reference_py, "eager", false);
}
