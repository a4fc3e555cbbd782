/*
 * Tests tolerances in sigmas (docs/tolerance.md): runs tolerance_prove() on tasks, and on
 * expressions that the model of rounding errors could get wrong.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "graph/tolerance/generated_task.h"
#include "graph/tolerance/prove.h"
#include "sys/file.h"
#include "task/check_result.h"
#include "task/oracle.h"
#include "task/oracle_trial.h"
#include "torch/task.h"

#define NORMAL "{\"dist\": \"normal\", \"mean\": 0, \"std\": 1}"
#define UNIT "{\"dist\": \"uniform\", \"min\": 0, \"max\": 1}"
#define FAR "{\"dist\": \"normal\", \"mean\": 100, \"std\": 1}"

static void must(int rc, const struct err *err)
{
    if (rc < 0)
        fail_msg("%s", err->msg);
}

static struct task *load(const char *name)
{
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_find(name, &problems);
    if (!t)
        fail_msg("%s", problems.items[0].text);
    return t;
}

/* Returns a task that computes one expression of x[R, C], y[R, C] and w[C, C]. Its reference is not
 * used. `rows` and `columns` are the sizes of its smoke workload. */
static struct task *task_of(const char *torch, const char *dtype, const char *shape,
                            const char *init, int rows, int columns)
{
    char *text = xasprintf(
        "{\"name\": \"t\", \"description\": \"A task of a test.\", \"class\": \"elementwise\","
        "\"axes\": {\"R\": {\"type\": \"var\"}, \"C\": {\"type\": \"var\"}},"
        "\"inputs\": {\"x\": {\"shape\": [\"R\", \"C\"], \"dtype\": \"%s\"},"
        "             \"y\": {\"shape\": [\"R\", \"C\"], \"dtype\": \"%s\"},"
        "             \"w\": {\"shape\": [\"C\", \"C\"], \"dtype\": \"%s\"}},"
        "\"outputs\": {\"z\": {\"shape\": %s, \"dtype\": \"%s\"}},"
        "\"constraints\": [\"R >= 1\"], \"compute\": \"float32\","
        "\"flops\": \"R*C\", \"bytes\": \"4\","
        "\"tolerance\": {\"z\": {\"sigmas\": 8, \"why\": \"by the model\"}},"
        "\"init\": {\"x\": %s, \"y\": %s, \"w\": %s},"
        "\"oracle\": {\"phases\": [{\"fn\": \"reference\", \"units\": \"R*C\"}]},"
        "\"baselines\": [], \"torch\": \"%s\","
        "\"workloads\": [{\"role\": \"smoke\", \"axes\": {\"R\": %d, \"C\": %d}},"
        "{\"role\": \"check\", \"axes\": {\"R\": 2, \"C\": 2}},"
        "{\"role\": \"time\", \"axes\": {\"R\": 2, \"C\": 3}},"
        "{\"role\": \"heldout\", \"axes\": {\"R\": [1, 5], \"C\": [1, 5]}}]}",
        dtype, dtype, dtype, shape, dtype, init, init, init, torch, rows, columns);
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_parse(text, strlen(text), "t", "#include \"hone_ref.h\"\n", &problems);
    if (!t)
        fail_msg("%s", problems.items[0].text);
    free(text);
    return t;
}

static int prove_as(const struct task *t, bool tf32, size_t most, struct tolerance_report *r,
                    struct err *err)
{
    struct arena a = ARENA_INIT;
    struct graph g;
    struct shape shapes[4];
    size_t n = 0;
    if (torch_read_task(&g, t, err) < 0)
        fail_msg("%s", err->msg);
    for (size_t i = 0; i < t->workloads.n && n < most; i++)
        if (t->workloads.items[i].role == ROLE_SMOKE &&
            shape_resolve(&shapes[n], t, &t->workloads.items[i], 1, &a, err) == 0)
            n++;
    struct reference_mode mode = {.tf32_products = tf32, .tf32_convs = tf32};
    int rc = tolerance_prove(&g, mode, t, NULL, shapes, n, r, err);
    if (rc < 0)
        fail_msg("%s: %s", t->name, err->msg);
    rc = tolerance_accept(r, err);
    graph_release(&g);
    arena_release(&a);
    return rc;
}

static int prove(const struct task *t, size_t most, struct tolerance_report *r, struct err *err)
{
    return prove_as(t, false, most, r, err);
}

/* ---- right ----------------------------------------------------------------------------------- */

static void must_accept(const struct task *t, size_t shapes, const char *name)
{
    struct tolerance_report r;
    struct err err = ERR_INIT;
    if (prove(t, shapes, &r, &err) < 0)
        fail_msg("%s: %s", name, err.msg);
    for (size_t i = 0; i < r.n; i++)
        assert_true(r.outputs[i].undecided <= TOLERANCE_UNDECIDED_SAY);
    tolerance_report_release(&r);
}

static bool is_quick(void)
{
    const char *tier = getenv("TIER");
    return tier && str_eq(tier, "quick");
}

static void tasks(void **state)
{
    static const char *const names[] = {"layernorm",
                                        "attention_f16",
                                        "softmax",
                                        "matmul_f16",
                                        "conv3x3_bn_relu",
                                        "cumsum",
                                        "fused_add_rmsnorm",
                                        "gelu_tanh",
                                        "matvec_f32",
                                        "mlp_swiglu",
                                        "merge_attn_states",
                                        "segment_mean",
                                        "triplet_margin_loss",
                                        "layernorm_matmul_residual",
                                        "matmul_bias_relu_bf16",
                                        "t/cases/playbooks/masked_scores",
                                        "t/cases/playbooks/log_probs",
                                        "t/cases/playbooks/column_stats",
                                        "t/cases/playbooks/row_scale",
                                        "t/cases/playbooks/squared_error"};
    for (size_t i = 0; i < (is_quick() ? 1 : ARRAY_LEN(names)); i++) {
        struct task *t = load(names[i]);
        must_accept(t, 2, names[i]);
        task_free(t);
    }
}

static void expressions(void **state)
{
    static const struct {
        const char *torch, *dtype, *shape, *init;
        int rows, columns;
    } all[] = {
        {"x @ w", "float32", "[\"R\", \"C\"]", UNIT, 8, 2500},
        {"x.sum()", "float32", "[]", UNIT, 64, 1000},
        {"x.sum(-1)", "float32", "[\"R\"]", UNIT, 16, 5000},
        {"x.sum(-1)", "float32", "[\"R\"]", NORMAL, 16, 5000},
        {"x.cumsum(-1)", "float32", "[\"R\", \"C\"]", UNIT, 8, 3000},
        {"x.cumsum(-1)", "bfloat16", "[\"R\", \"C\"]", UNIT, 8, 3000},
        {"torch.softmax(x @ w, -1)", "float16", "[\"R\", \"C\"]", NORMAL, 64, 64},
        {"torch.relu(x + y) * torch.sigmoid(x * y)", "bfloat16", "[\"R\", \"C\"]", NORMAL, 64, 64},
        {"((x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)).mean(0)", "float32", "[\"C\"]",
         FAR, 256, 64},
        {"((x - x.mean()) * torch.rsqrt(x.var() + 1e-5)).mean(-1)", "float32", "[\"R\"]", FAR, 16,
         4096},
        {"((x - x.mean()) * torch.rsqrt(x.var() + 1e-5)) @ w", "float32", "[\"R\", \"C\"]", FAR, 16,
         256},
        {"((x - x.mean()) * torch.rsqrt(x.var() + 1e-5)) @ w", "float32", "[\"R\", \"C\"]", UNIT,
         16, 256},
        {"torch.nn.functional.layer_norm(x, (C,)) @ w", "float32", "[\"R\", \"C\"]", FAR, 16, 256},
        {"(x * x.sum()).sum(-1)", "float32", "[\"R\"]", UNIT, 16, 1024},
        {"(x / x.norm()).sum(-1)", "float32", "[\"R\"]", UNIT, 16, 1024},
        {"torch.softmax(x, -1) @ w", "float32", "[\"R\", \"C\"]", UNIT, 64, 256},
        {"torch.where(x @ w > 1.5, x, y)", "float32", "[\"R\", \"C\"]", NORMAL, 64, 64},
        {"torch.where(x @ w > 1.5, x, y)", "bfloat16", "[\"R\", \"C\"]", NORMAL, 64, 64},
        {"torch.where(x + y > 0, x + y, 0.1 * (x + y))", "bfloat16", "[\"R\", \"C\"]", NORMAL, 64,
         64},
        {"torch.logsumexp(x @ w, -1)", "float32", "[\"R\"]", NORMAL, 64, 64},
        {"torch.amax(x @ w, -1)", "float32", "[\"R\"]", NORMAL, 64, 64},
        {"torch.amin(torch.abs(x @ w), -1)", "float32", "[\"R\"]", NORMAL, 64, 64},
        {"x - x.mean(-1, keepdim=True)", "float32", "[\"R\", \"C\"]", FAR, 64, 64},
        {"torch.exp(x - y) * torch.exp(y - x)", "float32", "[\"R\", \"C\"]", NORMAL, 64, 64},
        {"(x + y) - x", "float32", "[\"R\", \"C\"]", NORMAL, 64, 64},
        {"torch.sqrt((x - x.mean(-1, keepdim=True)) ** 2)", "float32", "[\"R\", \"C\"]", NORMAL, 64,
         64},
        {"(x @ w) @ w", "float16", "[\"R\", \"C\"]", UNIT, 64, 64},
        {"torch.tanh(x @ w) * (x @ w)", "float32", "[\"R\", \"C\"]", NORMAL, 64, 64},
        {"((x * y).sum() / (x * x).sum())", "float32", "[]", UNIT, 64, 64},
        {"torch.mean((x - y) ** 2)", "float32", "[]", NORMAL, 64, 640},
        {"x.cumprod(-1)", "float32", "[\"R\", \"C\"]", UNIT, 32, 300}, /* becomes subnormal */
        /* The softmax has few terms. So a weight near 1/2 shares much of its error with the sum by
         * which it is divided. */
        {"torch.softmax((x @ w)[:, :9], -1) @ w[:9, :]", "float32", "[\"R\", \"C\"]", NORMAL, 1600,
         16},
    };
    for (size_t i = is_quick() ? 6 : 0; i < ARRAY_LEN(all); i += is_quick() ? 12 : 1) {
        struct task *t = task_of(all[i].torch, all[i].dtype, all[i].shape, all[i].init, all[i].rows,
                                 all[i].columns);
        must_accept(t, 1, all[i].torch);
        task_free(t);
    }
}

/* The errors of a product's elements may all have the same sign, and then they add up in a sum over
 * these elements. */
static void sums_of_products(void **state)
{
    static const struct {
        const char *torch, *dtype, *shape, *init;
        int rows;
    } all[] = {{"(x @ w * 2).mean(0)", "float32", "[\"C\"]", UNIT, 400},
               {"(x @ w).mean(0)", "float32", "[\"C\"]", NORMAL, 5000},
               {"torch.relu(x @ w).sum(-1)", "float32", "[\"R\"]", UNIT, 64},
               {"torch.sigmoid(x @ w).sum()", "float32", "[]", NORMAL, 200},
               {"(x @ w).mean(0)", "float16", "[\"C\"]", UNIT, 400},
               {"torch.softmax(x @ w, 0)", "float32", "[\"R\", \"C\"]", NORMAL, 100},
               {"(x @ w - (x @ w).mean(0)) / torch.sqrt((x @ w).var(0) + 1e-5)", "float32",
                "[\"R\", \"C\"]", UNIT, 300}};
    for (size_t i = 0; i < (is_quick() ? 1 : ARRAY_LEN(all)); i++) {
        struct task *t =
            task_of(all[i].torch, all[i].dtype, all[i].shape, all[i].init, all[i].rows, 40);
        must_accept(t, 1, all[i].torch);
        task_free(t);
    }
}

static void tf32(void **state)
{
    struct task *t = task_of("x @ w", "float32", "[\"R\", \"C\"]", UNIT, 32, 128);
    struct tolerance_report r, exact;
    struct err err = ERR_INIT;
    assert_int_equal(prove_as(t, true, 1, &r, &err), 0);
    assert_int_equal(prove(t, 1, &exact, &err), 0);
    assert_true(r.outputs[0].noise > 20 * exact.outputs[0].noise);
    tolerance_report_release(&r);
    tolerance_report_release(&exact);
    task_free(t);
}

/* All rows of a product in TF32 share the errors of the rounded weights, and later sums add these
 * errors up. The reference draws such errors at random, eight times.
 * - The second product has only two terms. Their errors must not cancel in any of its 400 columns.
 * - In the last graph, the weights lie just above a power of two, where random rounding has the
 *   largest errors. In some of its 760 columns, all eight draws are near the truth by chance. The
 *   tolerance must be large enough there too. */
static void tf32_errors_in_sums(void **state)
{
    static const struct {
        const char *torch, *shape;
        int columns;
    } all[] = {{"torch.sigmoid(x @ w).mean(0)", "[\"C\"]", 24},
               {"(x[:, :2] @ w[:2, :]).mean(0)", "[\"C\"]", 400},
               {"torch.softmax((x @ w).sum(0) / C, -1)", "[\"C\"]", 24},
               {"(torch.relu(x @ w) @ w).sum(-1)", "[\"R\"]", 24},
               {"torch.maximum(x[:, :18] @ (1 + w[:18, :] / 8), y[:, :18] @ (1 + w[:18, :] / 8))"
                ".mean(0)",
                "[\"C\"]", 760}};
    for (size_t i = 0; i < (is_quick() ? 2 : ARRAY_LEN(all)); i++) {
        struct task *t = task_of(all[i].torch, "float32", all[i].shape, UNIT, 200, all[i].columns);
        struct tolerance_report r;
        struct err err = ERR_INIT;
        if (prove_as(t, true, 1, &r, &err) < 0)
            fail_msg("%s: %s", all[i].torch, err.msg);
        tolerance_report_release(&r);
        task_free(t);
    }
}

/* Each layer of the network is a product and then a norm over eight elements. The norm removes a
 * quarter of the errors. */
static void deep_networks(void **state)
{
    for (int tf32 = 0; tf32 < 2; tf32++) {
        int layers = tf32 ? 12 : 6;
        struct strbuf sb = STRBUF_INIT(4096);
        for (int i = 0; i < layers; i++)
            strbuf_adds(&sb, "torch.nn.functional.layer_norm(");
        strbuf_adds(&sb, "x");
        for (int i = 0; i < layers; i++)
            strbuf_adds(&sb, " @ w, (C,))");
        struct task *t = task_of(sb.buf, "float32", "[\"R\", \"C\"]", NORMAL, 64, 8);
        struct tolerance_report r;
        struct err err = ERR_INIT;
        if (prove_as(t, tf32, 1, &r, &err) < 0)
            fail_msg("%s: %s", tf32 ? "TF32" : "float32", err.msg);
        tolerance_report_release(&r);
        task_free(t);
        strbuf_release(&sb);
    }
}

/* The model does not know that the errors in h * 10 - h * 9 nearly cancel. So in each layer its
 * variance becomes 181 times too large (10 * 10 + 9 * 9). Errors drawn at random must limit the
 * variance in every layer. */
static void variances_are_limited_in_layers(void **state)
{
    enum { LAYERS = 5 };
    char *h = xstrdup("(x @ w)");
    for (int i = 0; i < LAYERS; i++) {
        char *next = xasprintf("((%s * 10 - %s * 9 + %s.mean(0)) @ w)", h, h, h);
        free(h);
        h = next;
    }
    struct task *t = task_of(h, "float32", "[\"R\", \"C\"]", NORMAL, 32, 8);
    struct tolerance_report r;
    struct err err = ERR_INIT;
    if (prove_as(t, true, 1, &r, &err) < 0)
        fail_msg("%s", err.msg);
    tolerance_report_release(&r);
    task_free(t);
    free(h);
}

/* ---- units ----------------------------------------------------------------------------------- */

static int64_t most_units(const struct task *t)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct graph g;
    struct graph_reference ref;
    struct shape s;
    int64_t most = 0;
    must(torch_read_task(&g, t, &err), &err);
    must(graph_write_reference_as(&g, (struct reference_mode){.kind = REFERENCE_SIGMA}, &ref, &err),
         &err);
    must(shape_resolve(&s, t, &t->workloads.items[0], 1, &a, &err), &err);
    for (size_t i = 0; i < ref.phases.n; i++) {
        int64_t n;
        assert_true(dim_eval(ref.phases.items[i].units, s.axes, &n));
        most = MAX(most, n);
    }
    graph_reference_release(&ref);
    graph_release(&g);
    arena_release(&a);
    return most;
}

/* If each of a few results combines many elements of a product, a phase of the reference computes
 * the product, with a unit for each of these elements. */
static void products_have_units(void **state)
{
    static const struct {
        const char *torch, *shape;
    } all[] = {{"((x @ w) / 2).sum(-1) * 1.5", "[\"R\"]"},
               {"torch.relu(x @ w).amax(-1)", "[\"R\"]"},
               {"torch.sigmoid(x @ w).mean(0)", "[\"C\"]"}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct task *t = task_of(all[i].torch, "float32", all[i].shape, UNIT, 64, 256);
        if (most_units(t) < 64 * 256)
            fail_msg("%s: at most %lld units", all[i].torch, (long long)most_units(t));
        task_free(t);
    }
}

/* ---- wrong ----------------------------------------------------------------------------------- */

static int run_as(struct oracle_trial *x, struct shape *s, const struct task *t, const char *torch,
                  struct reference_mode mode, struct arena *a, struct err *err)
{
    struct task named = *t, *copy = arena_alloc(a, sizeof *copy);
    struct temp_dir dir = TEMP_DIR_INIT;
    struct graph g;
    struct graph_reference ref;
    named.torch_src = torch;
    must(torch_read_task(&g, &named, err), err);
    must(graph_write_reference_as(&g, mode, &ref, err), err);
    must(generated_task_init(copy, t, &ref, a, err), err);
    must(temp_dir_make(&dir, err), err);
    char *so = arena_printf(a, "%s/x.so", dir.path);
    must(oracle_build(copy, so, err), err);
    s->task = copy;
    must(oracle_trial_init(x, s, 1, err), err);
    x->noise_seed = 12345;
    must(oracle_trial_run(x, so, ORACLE_IN_ORDER, err), err);
    temp_dir_release(&dir);
    generated_task_release(copy);
    graph_reference_release(&ref);
    graph_release(&g);
    return 0;
}

/* Computes the expression `got` with random rounding, and `torch` exactly. Returns the largest
 * error divided by the allowance that `torch` gives. */
static double error_of(const struct task *t, const char *torch, const char *got, bool tf32)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct shape s, s2;
    struct oracle_trial x, y;
    double worst = 0;
    must(shape_resolve(&s, t, &t->workloads.items[0], 1, &a, &err), &err);
    s2 = s;
    run_as(&x, &s, t, torch, (struct reference_mode){.kind = REFERENCE_SIGMA}, &a, &err);
    run_as(&y, &s2, t, got, (struct reference_mode){.kind = REFERENCE_NOISY, .tf32_products = tf32},
           &a, &err);
    size_t out = t->tensors.n - 1;
    for (uint64_t k = 0; k < s.elems[out]; k++)
        worst = fmax(worst, check_ratio(&t->tensors.items[out], y.value[out][k], x.value[out][k],
                                        x.mag[out][k]));
    oracle_trial_release(&x);
    oracle_trial_release(&y);
    arena_release(&a);
    return worst;
}

static void wrong_answers(void **state)
{
    static const struct {
        const char *right, *wrong, *init;
        bool tf32;
    } all[] = {
        {"x @ w", "x @ w", NORMAL, true},
        {"x @ w", "x @ w", UNIT, true},
        {"x @ w", "(x.half() @ w.half()).float()", UNIT, false},
        {"x @ w", "x @ w - x[:, 5:6] @ w[5:6, :]", UNIT, false}, /* a term is missing */
        {"torch.softmax(x, -1)", "torch.softmax(x.half(), -1).float()", NORMAL, false},
        {"torch.nn.functional.layer_norm(x, (C,), eps=1e-5)",
         "torch.nn.functional.layer_norm(x, (C,), eps=3e-5)", NORMAL, false},
        {"x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)",
         "x * torch.rsqrt((x * x).sum(-1, keepdim=True) / (C - 1) + 1e-6)", NORMAL, false},
        {"(x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True) + 1e-5)",
         "(x - x.mean(-1, keepdim=True)) * torch.rsqrt((x * x).mean(-1, keepdim=True) - "
         "x.mean(-1, keepdim=True) ** 2 + 1e-5)",
         FAR, false},
        {"torch.relu(x + y)", "torch.relu(x.bfloat16() + y.bfloat16()).float()", NORMAL, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i += is_quick() ? 4 : 1) {
        struct task *t = task_of(all[i].right, "float32", "[\"R\", \"C\"]", all[i].init, 32, 256);
        double wrong = error_of(t, all[i].right, all[i].wrong, all[i].tf32);
        double right = error_of(t, all[i].right, all[i].right, false);
        if (!(right <= 1) || !(wrong > 1))
            fail_msg("%s is off by %.3g, %s%s by %.3g", all[i].right, right, all[i].wrong,
                     all[i].tf32 ? " in TF32" : "", wrong);
        task_free(t);
    }
}

/* ---- one-sided errors ------------------------------------------------------------------------ */

/* Returns v rounded to float32 towards zero. */
static double cut_off(double v)
{
    float f = (float)v;
    return fabs((double)f) > fabs(v) ? (double)nextafterf(f, 0) : (double)f;
}

static float to_tf32(float v)
{
    union {
        float f;
        uint32_t u;
    } x = {v};
    x.u = (x.u + 0x1000) & 0xffffe000u;
    return x.f;
}

/* Returns the sum over k < n of |x[k]| * w[k * stride], as a tensor core computes it with three
 * TF32 products: it cuts off low bits after every 8 terms, and adds the result to a float32 after
 * every 32 terms. */
static double tensor_core_sum(const float *x, const float *w, int n, int stride)
{
    float sum = 0;
    for (int k = 0; k < n; k += 32) {
        double part = 0;
        for (int k8 = k; k8 < k + 32 && k8 < n; k8 += 8) {
            double eight[3] = {0};
            for (int i = k8; i < k8 + 8 && i < n; i++) {
                float a = fabsf(x[i]), b = w[i * stride], a_hi = to_tf32(a), b_hi = to_tf32(b);
                eight[0] += (double)to_tf32(a - a_hi) * (double)b_hi;
                eight[1] += (double)a_hi * (double)to_tf32(b - b_hi);
                eight[2] += (double)a_hi * (double)b_hi;
            }
            for (int product = 0; product < 3; product++)
                part = cut_off(part + eight[product]);
        }
        sum += (float)part;
    }
    return (double)sum;
}

/* Computes the mean of each column of x.abs() @ w. Only the products have errors: those of tensor
 * cores, and with `tf32` also those of weights rounded to TF32. Returns the largest error of a
 * mean, divided by the allowance. */
static double error_of_means(const struct task *t, bool tf32)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct shape s;
    struct oracle_trial x;
    double worst = 0;
    must(shape_resolve(&s, t, &t->workloads.items[0], 1, &a, &err), &err);
    run_as(&x, &s, t, t->torch_src, (struct reference_mode){.kind = REFERENCE_SIGMA}, &a, &err);
    int rows = (int)s.axes[0], n = (int)s.axes[1];
    const float *in = x.in[0], *w = x.in[2];
    float *weight = xcalloc((size_t)n * (size_t)n, sizeof *weight);
    for (int i = 0; i < n * n; i++)
        weight[i] = tf32 ? to_tf32(w[i]) : w[i];
    size_t out = t->tensors.n - 1;
    for (int c = 0; c < n; c++) {
        double mean = 0;
        for (int r = 0; r < rows; r++)
            mean += tensor_core_sum(in + (size_t)r * (size_t)n, weight + c, n, n) / rows;
        worst =
            fmax(worst, check_ratio(&t->tensors.items[out], mean, x.value[out][c], x.mag[out][c]));
    }
    free(weight);
    oracle_trial_release(&x);
    arena_release(&a);
    return worst;
}

/* Tensor cores cut off low bits. In a column, all these errors have the same sign, so they do not
 * cancel in a mean over the rows. The tolerance must allow them, but not the errors of TF32. */
static void one_sided_errors(void **state)
{
    static const char *const all[] = {"(x.abs() @ w).mean(0)", "(x.abs() @ w * 2).mean(0) / 2"};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct task *t = task_of(all[i], "float32", "[\"C\"]", NORMAL, 12000, 64);
        double right = error_of_means(t, false), wrong = error_of_means(t, true);
        print_message("# %s: %.3g, in TF32 %.3g\n", all[i], right, wrong);
        assert_true(right <= 1);
        assert_true(wrong > 1);
        task_free(t);
    }
}

static void undecided(void **state)
{
    struct task *t =
        task_of("torch.round(20 * (x + y))", "bfloat16", "[\"R\", \"C\"]", NORMAL, 32, 64);
    struct tolerance_report r;
    struct err err = ERR_INIT;
    assert_int_equal(prove(t, 1, &r, &err), -1);
    assert_true(r.outputs[0].undecided > TOLERANCE_UNDECIDED_MOST);
    assert_non_null(strstr(err.msg, "comparisons"));
    tolerance_report_release(&r);
    task_free(t);
}

static void ill_conditioned(void **state)
{
    struct task *t = task_of("(x + 10000) - x.mean() - 10000", "float32", "[\"R\", \"C\"]",
                             "{\"dist\": \"uniform\", \"min\": 0, \"max\": 0.001}", 32, 64);
    struct tolerance_report r;
    struct err err = ERR_INIT;
    assert_int_equal(prove(t, 1, &r, &err), 0);
    assert_true(tolerance_is_ill(&r.outputs[0]));
    tolerance_report_release(&r);
    task_free(t);
}

static void limits(void **state)
{
    assert_true(fabs(tolerance_least(8) - 0.0485) < 0.001);
    assert_true(tolerance_least(1000000) == TOLERANCE_LEAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_networks),       cmocka_unit_test(variances_are_limited_in_layers),
        cmocka_unit_test(expressions),         cmocka_unit_test(tasks),
        cmocka_unit_test(wrong_answers),       cmocka_unit_test(undecided),
        cmocka_unit_test(ill_conditioned),     cmocka_unit_test(limits),
        cmocka_unit_test(products_have_units), cmocka_unit_test(sums_of_products),
        cmocka_unit_test(one_sided_errors),    cmocka_unit_test(tf32),
        cmocka_unit_test(tf32_errors_in_sums)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
