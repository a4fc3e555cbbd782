/*
 * Tolerances in sigmas (docs/tolerance.md): tolerance_prove() over tasks, and over expressions that
 * the model could get wrong. A task in which rounding decides too much is refused.
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
#include "graph/tolerance/prove.h"
#include "torch/task.h"

static struct task *load(const char *name)
{
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_find(name, &problems);
    if (!t)
        fail_msg("%s", problems.items[0].text);
    return t;
}

/* A task of one expression over x[R, C], y[R, C] and w[C]. The reference is not used. */
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

/* Proves the task at its first smoke shapes. */
static int prove(const struct task *t, size_t most, struct tolerance_report *r, struct err *err)
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
    struct reference_mode mode = {.tf32_products = t->allow_tf32, .tf32_convs = t->allow_tf32};
    int rc = tolerance_prove(&g, mode, t, shapes, n, r, err);
    if (rc < 0)
        fail_msg("%s: %s", t->name, err->msg);
    rc = tolerance_accept(r, err);
    graph_release(&g);
    arena_release(&a);
    return rc;
}

static void say(const char *name, const struct tolerance_report *r, const struct err *err, int rc)
{
    for (size_t i = 0; i < r->n; i++)
        print_message("%-60s %-4s worst %.3f of %8llu, undecided %.2g, noise %.2g %s\n", name,
                      r->outputs[i].name, r->outputs[i].worst,
                      (unsigned long long)r->outputs[i].samples, r->outputs[i].undecided,
                      r->outputs[i].noise, rc < 0 ? err->msg : "");
}

static void tasks(void **state)
{
    static const char *const names[] = {"softmax",
                                        "layernorm",
                                        "matmul_f16",
                                        "attention_f16",
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
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct task *t = load(names[i]);
        struct tolerance_report r;
        struct err err = ERR_INIT;
        int rc = prove(t, 2, &r, &err);
        say(names[i], &r, &err, rc);
        tolerance_report_release(&r);
        task_free(t);
    }
}

static void expressions(void **state)
{
    static const struct {
        const char *torch, *dtype, *shape, *init;
        int rows, columns;
    } all[] = {
#define NORMAL "{\"dist\": \"normal\", \"mean\": 0, \"std\": 1}"
#define UNIT "{\"dist\": \"uniform\", \"min\": 0, \"max\": 1}"
#define FAR "{\"dist\": \"normal\", \"mean\": 100, \"std\": 1}"
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
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct task *t = task_of(all[i].torch, all[i].dtype, all[i].shape, all[i].init, all[i].rows,
                                 all[i].columns);
        struct tolerance_report r;
        struct err err = ERR_INIT;
        char *name = xasprintf("%s %s", all[i].torch, all[i].dtype);
        int rc = prove(t, 1, &r, &err);
        say(name, &r, &err, rc);
        tolerance_report_release(&r);
        free(name);
        task_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(expressions), cmocka_unit_test(tasks)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
