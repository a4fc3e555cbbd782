/* Tests library baselines: which tasks are matrix products, and what PyTorch programs a job gets.
 */
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
#include "torch/task.h"

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
    char *spec = library_torch_spec(t, torch_variant_find("torch.compile"));
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

/* Checks that `want` lists the names of the baselines that Hone adds to a job. `variants` is the
 * list of --torch-variants, or NULL. `notes` is how many contenders Hone leaves out because the
 * task lacks the inputs that they need. */
static void gathers_variants(const struct task *t, enum eval_baselines which, bool emu,
                             const char *variants, size_t notes, const char *want)
{
    struct eval_config cfg = EVAL_CONFIG_INIT;
    struct strbuf source = STRBUF_INIT(1 << 20), got = STRBUF_INIT(256);
    struct bundle_files p = {.items = NULL};
    struct err err = ERR_INIT;
    cfg.baselines = which;
    if (variants && torch_variants_parse(variants, &cfg.torch_variants, &err) < 0)
        fail_msg("%s", err.msg);
    /* The candidate has the same text as the baseline "naive", so Hone does not add that one. */
    assert_int_equal(task_simple_kernel(t, &source, &err), 0);
    struct bundle_files_request rq = {.task = t, .cfg = &cfg, .source = source.buf, .emu = emu};
    if (bundle_files_baselines(&p, &rq, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < p.n; i++)
        strbuf_addf(&got, "%s ", p.items[i].name);
    assert_string_equal(got.buf, want);
    size_t of_layout = 0;
    for (size_t i = 0; i < p.notes.n; i++)
        of_layout += strstr(p.notes.items[i], "no float input with 4 or 5 dimensions") ||
                     strstr(p.notes.items[i], "no inputs that are weights");
    assert_int_equal(of_layout, notes);
    assert_true(variants || !p.notes.n);
    bundle_files_release(&p);
    strbuf_release(&source);
    strbuf_release(&got);
}

static void gathers(const struct task *t, enum eval_baselines which, bool emu, const char *want)
{
    gathers_variants(t, which, emu, NULL, 0, want);
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

/* Variants come last in the list. Hone times them only when it times the task's own PyTorch
 * baselines. */
static void variants_are_asked_for(void **state)
{
    (void)state;
    struct task *t = find("matmul_f16"), *conv = find("conv3x3_bn_relu");
    gathers_variants(t, BASELINES_ALL, false, "high,max-autotune", 0,
                     "torch torch.compile cublaslt torch.max-autotune torch.high ");
    gathers_variants(t, BASELINES_ALL, false, "all", 3,
                     "torch torch.compile cublaslt torch.max-autotune torch.high ");
    gathers_variants(conv, BASELINES_ALL, false, "channels-last,channels-last-timed", 0,
                     "torch torch.compile torch.eager-default torch.compile-default "
                     "torch.channels-last torch.channels-last-timed ");
    gathers_variants(t, BASELINES_HERE, false, "all", 0, "cublaslt ");
    gathers_variants(t, BASELINES_ALL, true, "all", 0, "");
    char *spec = library_torch_spec(t, torch_variant_find("torch.max-autotune"));
    assert_non_null(strstr(spec, "\nmode max-autotune\n"));
    free(spec);
    task_free(t);
    task_free(conv);
}

/* The setting cudnn.benchmark may matter for a task with a convolution. For such a task, PyTorch
 * with its default settings is a baseline too. If Hone cannot make a graph of the task's PyTorch
 * text, it looks for words such as "conv" in the text. */
static void default_settings_are_timed_for_convolutions(void **state)
{
    (void)state;
    struct task *conv = find("conv3x3_bn_relu"), *t = find("softmax");
    conv->baselines.n = 3; /* naive, torch, torch.compile */
    assert_true(torch_may_convolve(conv));
    assert_false(torch_may_convolve(t));
    gathers(conv, BASELINES_ALL, false,
            "torch torch.compile torch.eager-default torch.compile-default ");
    gathers(conv, BASELINES_HERE, false, "");
    gathers(conv, BASELINES_ALL, true, "");
    gathers(t, BASELINES_ALL, false, "torch torch.compile ");
    conv->baselines.n = 2; /* naive and torch */
    gathers(conv, BASELINES_ALL, false, "torch torch.eager-default ");
    const char *own = t->torch_src;
    t->torch_src = "def run(x):\n    return MyConvNet(x)\n";
    assert_true(torch_may_convolve(t));
    t->torch_src = "def run(x):\n    return helper(x)\n";
    assert_false(torch_may_convolve(t));
    t->torch_src = own;
    assert_string_equal(torch_variant_default("torch")->mode, "eager-default");
    assert_null(torch_variant_default("naive"));
    task_free(conv);
    task_free(t);
}

/* A user's own program comes last, and is timed only on a GPU. */
static void programs_of_users_are_baselines(void **state)
{
    (void)state;
    struct task *t = find("softmax");
    struct eval_config cfg = EVAL_CONFIG_INIT;
    struct torch_program x = {"own.py", "def run(x): return x\n"};
    struct bundle_files p = {.items = NULL};
    struct err err = ERR_INIT;
    cfg.programs = (struct torch_programs){&x, 1};
    cfg.baselines = BASELINES_NONE;
    struct bundle_files_request rq = {.task = t, .cfg = &cfg, .source = ""};
    assert_int_equal(bundle_files_baselines(&p, &rq, &err), 0);
    assert_int_equal(p.n, 1);
    assert_string_equal(p.items[0].name, "own.py");
    assert_string_equal(p.items[0].spec,
                        "axes R C\nscalars\nmode eager\ntf32 0\n\ndef run(x): return x\n");
    bundle_files_release(&p);
    p = (struct bundle_files){.items = NULL};
    rq.emu = true;
    assert_int_equal(bundle_files_baselines(&p, &rq, &err), 0);
    assert_int_equal(p.n, 0);
    bundle_files_release(&p);
    /* a program is rejected if its text and the names of axes and scalars do not fit into a job */
    char *large = xmalloc(JOB_MAX_SPEC + 1);
    memset(large, 'x', JOB_MAX_SPEC);
    large[JOB_MAX_SPEC] = '\0';
    x.source = large;
    rq.emu = false;
    p = (struct bundle_files){.items = NULL};
    assert_int_equal(bundle_files_baselines(&p, &rq, &err), 0);
    assert_int_equal(p.n, 0);
    assert_true(p.rejected.n == 1 && p.rejected.items[0].failed);
    bundle_files_release(&p);
    free(large);
    task_free(t);
}

static void programs_survive_the_store(void **state)
{
    (void)state;
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    const struct torch_program x[] = {{"a.py", "def run(x): return x\n"}, {"b.py", "run = 1"}};
    struct torch_programs again;
    json_t *j = torch_programs_to_json((struct torch_programs){x, 2});
    assert_int_equal(torch_programs_from_json(j, &again, &a, &err), 0);
    assert_int_equal(again.n, 2);
    assert_string_equal(again.items[1].name, "b.py");
    assert_string_equal(again.items[0].source, x[0].source);
    json_object_set_new(json_array_get(j, 0), "name", json_string("a.cu"));
    assert_int_equal(torch_programs_from_json(j, &again, &a, &err), -1);
    assert_int_equal(torch_programs_from_json(NULL, &again, &a, &err), 0);
    assert_int_equal(again.n, 0);
    json_decref(j);
    arena_release(&a);
}

/* The variant frozen-weights prepares weights beforehand. Only this variant is told which inputs
 * are weights. */
static void weights_can_be_frozen(void **state)
{
    (void)state;
    struct task *t = find("rmsnorm");
    assert_true(str_eq(t->tensors.items[1].name, "w") && !t->tensors.items[1].is_weight);
    t->tensors.items[1].is_weight = true;
    gathers_variants(t, BASELINES_ALL, false, "frozen-weights", 0,
                     "torch torch.compile torch.frozen-weights ");
    char *spec = library_torch_spec(t, torch_variant_find("torch.frozen-weights"));
    assert_non_null(strstr(spec, "\nweights w\nmode frozen-weights\n"));
    free(spec);
    spec = library_torch_spec(t, torch_variant_find("torch.high"));
    assert_null(strstr(spec, "weights"));
    free(spec);
    assert_true(contender_is_beside("torch.frozen-weights"));
    task_free(t);
}

static void lists_of_variants(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct strbuf text = STRBUF_INIT(256);
    unsigned all, some, again;
    assert_int_equal(torch_variants_parse("all", &all, &err), 0);
    assert_int_equal(torch_variants_parse("high,max-autotune,high", &some, &err), 0);
    assert_true(some && (some & all) == some && some != all);
    torch_variants_text(some, &text);
    assert_string_equal(text.buf, "max-autotune,high");
    assert_int_equal(torch_variants_parse(text.buf, &again, &err), 0);
    assert_int_equal(again, some);
    strbuf_release(&text);
    static const char *const bad[] = {"",        ",",    "high,",         "torch",
                                      "compile", "High", "eager-default", "high,,all"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (torch_variants_parse(bad[i], &some, &err) == 0)
            fail_msg("'%s' is accepted", bad[i]);
    assert_non_null(
        strstr(err.msg, "max-autotune,high,channels-last,channels-last-timed,frozen-weights"));
    /* A contender's name says whether it is a PyTorch baseline, is only timed beside the baselines,
     * or is a user's program. */
    assert_true(baseline_is_torch("torch") && baseline_is_torch("torch.compile"));
    assert_true(baseline_is_torch("torch.max-autotune") && !baseline_is_torch("torch.high"));
    assert_true(baseline_is_torch("torch.eager-default"));
    assert_true(contender_is_beside("torch.channels-last") && !contender_is_beside("torch.c"));
    assert_false(baseline_is_torch("torch.cu"));
    assert_true(baseline_is_torch("own.py") && contender_is_program("own.py"));
    assert_false(contender_is_program("torch") || contender_is_program(".py"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_recognised_by_their_axes),
        cmocka_unit_test(torch_programs_know_their_names),
        cmocka_unit_test(a_product_at_a_shape),
        cmocka_unit_test(processes_of_their_own_are_asked_for),
        cmocka_unit_test(variants_are_asked_for),
        cmocka_unit_test(default_settings_are_timed_for_convolutions),
        cmocka_unit_test(programs_of_users_are_baselines),
        cmocka_unit_test(programs_survive_the_store),
        cmocka_unit_test(weights_can_be_frozen),
        cmocka_unit_test(lists_of_variants),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
