/* Library baselines: which tasks are products of matrices, and the PyTorch programs of a job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "eval/bundle_files.h"
#include "eval/library.h"

static struct task *find(const char *name)
{
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_find(name, &problems);
    if (!t)
        fail_msg("%s: %s", name, problems.n ? problems.items[0].text : "?");
    return t;
}

static void expect(const char *task, const char *want)
{
    struct task *t = find(task);
    struct arena a = ARENA_INIT;
    struct library_gemm g;
    bool is = library_gemm_of(t, &g);
    if (want)
        assert_string_equal(is ? library_spec(t, &g, &a) : "none", want);
    else
        assert_false(is);
    arena_release(&a);
    task_free(t);
}

static void products_are_recognised_by_their_axes(void **state)
{
    (void)state;
    expect("matmul_f16", "gemm n t float16 float16 f32 none");
    expect("matmul_f32", "gemm n n float32 float32 f32 none");
    expect("matmul_bias_relu_bf16", "gemm n t bfloat16 bfloat16 f32 relu_bias");
    expect("softmax", NULL);
    expect("mlp_swiglu", NULL);
    expect("layernorm_matmul_residual", NULL);
}

static void torch_programs_know_their_names(void **state)
{
    (void)state;
    struct task *t = find("rmsnorm");
    char *spec = library_torch_spec(t, true);
    assert_string_equal(spec, "axes R C\nscalars eps\nmode compile\ntf32 0\n\n"
                              "torch.nn.functional.rms_norm(x, (x.shape[-1],), w, eps)");
    free(spec);
    task_free(t);
}

static void a_product_at_a_shape(void **state)
{
    (void)state;
    struct task *t = find("matmul_bias_relu_bf16");
    int64_t axes[] = {10, 20, 30}, m, n, k, batch;
    struct shape s = {.task = t, .axes = axes};
    struct arena a = ARENA_INIT;
    struct job_program p = {0};
    struct library_gemm g;
    assert_true(library_gemm_of(t, &g));
    library_program(&g, &s, &p, &a);
    const struct job_launch *l = p.launches;
    assert_int_equal(l->nargs, 8);
    memcpy(&m, l->args[3].bytes, 8);
    memcpy(&n, l->args[4].bytes, 8);
    memcpy(&k, l->args[5].bytes, 8);
    memcpy(&batch, l->args[6].bytes, 8);
    assert_true(m == 10 && n == 20 && k == 30 && batch == 1);
    assert_int_equal(l->args[2].index, 3);
    assert_int_equal(l->args[7].index, 2);
    arena_release(&a);
    task_free(t);
}

static void gathers(const struct task *t, enum eval_baselines which, bool emu, const char *want)
{
    struct eval_config cfg = EVAL_CONFIG_INIT;
    struct strbuf source = STRBUF_INIT(1 << 20), got = STRBUF_INIT(256);
    struct bundle_files p = {.items = NULL};
    struct err err = ERR_INIT;
    cfg.baselines = which;
    /* So the baseline "naive" has the same text. */
    assert_int_equal(task_simple_kernel(t, &source, &err), 0);
    struct bundle_files_request rq = {.task = t, .cfg = &cfg, .source = source.buf, .emu = emu};
    if (bundle_files_baselines(&p, &rq, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < p.n; i++)
        strbuf_addf(&got, "%s ", p.items[i].name);
    assert_string_equal(got.buf, want);
    assert_int_equal(p.notes.n, 0);
    bundle_files_release(&p);
    strbuf_release(&source);
    strbuf_release(&got);
}

static void processes_of_their_own_are_asked_for(void **state)
{
    (void)state;
    struct task *t = find("matmul_f16");
    gathers(t, BASELINES_ALL, false, "torch torch.compile cublaslt ");
    gathers(t, BASELINES_HERE, false, "cublaslt ");
    gathers(t, BASELINES_NONE, false, "");
    gathers(t, BASELINES_ALL, true, "");
    task_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_recognised_by_their_axes),
        cmocka_unit_test(torch_programs_know_their_names),
        cmocka_unit_test(a_product_at_a_shape),
        cmocka_unit_test(processes_of_their_own_are_asked_for),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
