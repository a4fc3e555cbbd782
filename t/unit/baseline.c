/*
 * Tests baselines: Hone says whether the result of a baseline was right, a wrong baseline has no
 * times, and Hone keeps the verdicts of baselines that are kernels.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "eval/baseline_states.h"
#include "eval/baseline_verdict.h"
#include "measure/timing.h"
#include "sys/file.h"

enum { PROGRAMS = 4, CALLS = 2 * PROGRAMS };

/* Facts about a timed case with four programs: the candidate and the baselines naive, torch and
 * cublaslt. Each program made one verified call and one timed call. */
struct facts {
    struct task task;
    struct job_buffer buffer;
    struct job_program programs[PROGRAMS];
    struct job_module modules[PROGRAMS];
    struct job_case jc;
    struct job job;
    struct result_compare cmp[PROGRAMS];
    struct result_call calls[CALLS];
    struct result_case rc;
    struct result_module mods[PROGRAMS];
    struct result result;
    struct check_case info;
    struct check_input in;
    struct verdict v;
    struct rejected_baseline_vec rejected;
    bool left_out[JOB_MAX_PROGRAMS];
};

static void good(struct facts *f)
{
    static const char *const names[] = {"candidate", "naive", "torch", "cublaslt"};
    static const enum job_module_kind kinds[] = {JOB_MODULE_KERNEL, JOB_MODULE_KERNEL,
                                                 JOB_MODULE_TORCH, JOB_MODULE_LIBRARY};
    memset(f, 0, sizeof *f);
    f->buffer = (struct job_buffer){.name = "y",
                                    .role = JOB_OUTPUT,
                                    .dtype = DT_F32,
                                    .elems = 1000,
                                    .rank = 1,
                                    .dims = {1000},
                                    .budget = 4};
    for (uint32_t p = 0; p < PROGRAMS; p++) {
        f->programs[p].module = p;
        f->modules[p] = (struct job_module){.name = names[p], .kind = kinds[p]};
        f->mods[p].message = "";
        f->cmp[p] = (struct result_compare){
            .n = 1000, .max_ratio = 0.5, .rms_ratio = 1, .zero_ratio = 1e6, .pattern = ""};
        struct result_call call = {.program = p,
                                   .flags = JOB_CALL_VERIFY,
                                   .time_ns = -1,
                                   .inputs_intact = true,
                                   .guards_intact = true,
                                   .globals_intact = true,
                                   .repeat_equal = true,
                                   .most_written = 1,
                                   .damage = "",
                                   .ncompares = 1,
                                   .compares = &f->cmp[p]};
        f->calls[p] = call;
        call.flags = JOB_CALL_TIMED;
        call.ncompares = 0;
        call.time_ns = 1000 * (p + 1);
        f->calls[PROGRAMS + p] = call;
    }
    f->jc = (struct job_case){.name = "time:0",
                              .nbuffers = 1,
                              .buffers = &f->buffer,
                              .nprograms = PROGRAMS,
                              .programs = f->programs};
    f->job = (struct job){
        .ncases = 1, .cases = &f->jc, .nmodules = PROGRAMS, .modules = f->modules, .seed = 1};
    f->rc = (struct result_case){CALLS, f->calls};
    f->result =
        (struct result){.ncases = 1, .cases = &f->rc, .nmodules = PROGRAMS, .modules = f->mods};
    f->info = (struct check_case){.role = ROLE_TIME, .shape = "N=1000"};
    f->in = (struct check_input){
        .task = &f->task, .job = &f->job, .result = &f->result, .cases = &f->info};
    f->v.kind = V_PASS;
}

static void states(struct facts *f)
{
    baseline_states(&f->v, &f->in, &f->rejected, f->left_out);
}

static const struct verdict_baseline *state_of(const struct facts *f, const char *who)
{
    vec_each (struct verdict_baseline, b, &f->v.baselines)
        if (str_eq(b->who, who))
            return b;
    fail_msg("no baseline '%s'", who);
    return NULL;
}

static void all_are_right(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    states(&f);
    assert_int_equal(f.v.baselines.n, 3);
    vec_each (struct verdict_baseline, b, &f.v.baselines)
        assert_string_equal(b->state, "right");
    const char *shape = "N=1000";
    struct measure_input mi = {
        .job = &f.job, .result = &f.result, .shapes = &shape, .left_out = f.left_out};
    measure_times(&f.v, &mi);
    assert_int_equal(f.v.times.n, PROGRAMS);
    assert_string_equal(f.v.speedup_over, "naive");
    assert_true(f.v.speedup == 2);
    verdict_release(&f.v);
}

/* Hone times some variants of PyTorch only *beside* the baselines (job/torch_variants.h). Such a
 * variant has a time and a ratio, but the candidate is not compared with it. For the variant
 * `high`, Hone does not compare the result with the truth, so the result may be wrong. */
static void a_variant_beside_is_no_baseline(void **state)
{
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        struct facts f;
        struct verdict_ratio r;
        good(&f);
        f.modules[1] = (struct job_module){.name = "torch.high", .kind = JOB_MODULE_TORCH};
        f.cmp[1].bad = 900;
        f.cmp[1].max_ratio = 300;
        f.mods[1].message = "PyTorch 2.9, high";
        if (alone)
            f.mods[2].status = f.mods[3].status = RESULT_LOAD_FAILED;
        states(&f);
        assert_string_equal(state_of(&f, "torch.high")->state, "unverified");
        assert_non_null(strstr(state_of(&f, "torch.high")->text, "only its time is taken"));
        assert_false(f.left_out[1]);
        const char *shape = "N=1000";
        struct measure_input mi = {
            .job = &f.job, .result = &f.result, .shapes = &shape, .left_out = f.left_out};
        measure_times(&f.v, &mi);
        assert_int_equal(f.v.times.n, alone ? 2 : PROGRAMS);
        assert_string_equal(f.v.times.items[1].who, "torch.high");
        assert_true(f.v.times.items[1].ratio == 2 && f.v.times.items[1].ratio_lo > 0);
        assert_string_equal(f.v.speedup_over, alone ? "" : "torch");
        assert_true(fabs(f.v.speedup - (alone ? 0 : 3)) < 1e-9);
        assert_true(verdict_ratio(&f.v, &r) == !alone);
        if (!alone)
            assert_string_equal(r.who, "torch");
        verdict_release(&f.v);
    }
}

/* The variant channels-last changes the layout of its inputs. If its result is wrong, it counts as
 * wrong like any other baseline. */
static void a_judged_variant_must_be_right(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    f.modules[1] = (struct job_module){.name = "torch.channels-last", .kind = JOB_MODULE_TORCH};
    f.mods[1].message = "PyTorch 2.9, channels-last";
    f.cmp[1].bad = 10;
    f.cmp[1].max_ratio = 7;
    states(&f);
    assert_string_equal(state_of(&f, "torch.channels-last")->state, "wrong");
    assert_true(f.left_out[1]);
    verdict_release(&f.v);
}

/* A user's program is judged like PyTorch: a wrong answer gives no time and no ratio. */
static void a_wrong_program_does_not_count(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        struct facts f;
        good(&f);
        f.modules[1] = (struct job_module){.name = "own.py", .kind = JOB_MODULE_TORCH};
        f.mods[1].message = "PyTorch 2.9, eager";
        f.cmp[1].bad = wrong ? 10 : 0;
        f.cmp[1].max_ratio = wrong ? 7 : 0.5;
        states(&f);
        assert_string_equal(state_of(&f, "own.py")->state, wrong ? "wrong" : "right");
        assert_int_equal(f.left_out[1], wrong);
        const char *shape = "N=1000";
        struct measure_input mi = {
            .job = &f.job, .result = &f.result, .shapes = &shape, .left_out = f.left_out};
        measure_times(&f.v, &mi);
        assert_int_equal(f.v.times.n, PROGRAMS - wrong);
        assert_string_equal(f.v.speedup_over, wrong ? "torch" : "own.py");
        verdict_release(&f.v);
    }
}

/* A worker of an older version does not know the variant and runs PyTorch eager instead. Hone must
 * not take the time of this run for the time of the variant. */
static void an_old_worker_has_no_variants(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    f.modules[1] = (struct job_module){.name = "torch.max-autotune", .kind = JOB_MODULE_TORCH};
    f.mods[1].message = "PyTorch 2.9, eager";
    states(&f);
    assert_string_equal(state_of(&f, "torch.max-autotune")->state, "failed");
    assert_true(f.left_out[1]);
    verdict_release(&f.v);
}

/* If the L2 is warm, a kernel may find inputs there, so the floor is lower. In this test the
 * candidate takes 1000 ns, and DRAM moves 1000 bytes in a nanosecond. */
static void a_warm_l2_lowers_the_floor(void **state)
{
    (void)state;
    static const struct {
        double min_bytes;
        bool warm, too_fast;
    } cases[] = {
        {0.9e6, false, false}, {1.15e6, false, true}, {1.15e6, true, false}, {1.3e6, true, true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct facts f;
        good(&f);
        f.job.gpu = (struct job_gpu){.name = "", .dram_gbps = 1000, .l2_bytes = 100000};
        f.jc.min_bytes = cases[i].min_bytes;
        f.jc.timing.warm_l2 = cases[i].warm;
        struct measure_input mi = {.job = &f.job, .result = &f.result};
        double got, floor;
        assert_int_equal(measure_below_floor(&mi, &got, &floor), cases[i].too_fast ? 0 : -1);
        verdict_release(&f.v);
    }
}

/* If PyTorch's result is wrong, PyTorch has neither times nor a ratio, and the candidate is not
 * blamed. */
static void a_wrong_library_gives_no_ratio(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    f.cmp[2].bad = 10;
    f.cmp[2].max_ratio = 7;
    f.mods[1] = (struct result_module){RESULT_OOM, "too large"};
    states(&f);
    assert_string_equal(state_of(&f, "naive")->state, "failed");
    assert_string_equal(state_of(&f, "torch")->state, "wrong");
    assert_non_null(strstr(state_of(&f, "torch")->text, "mismatch: wrong on time:0 (N=1000): 1%"));
    assert_string_equal(state_of(&f, "cublaslt")->state, "right");
    assert_true(f.left_out[1] && f.left_out[2] && !f.left_out[3]);
    assert_int_equal(f.v.kind, V_PASS);
    const char *shape = "N=1000";
    struct measure_input mi = {
        .job = &f.job, .result = &f.result, .shapes = &shape, .left_out = f.left_out};
    measure_times(&f.v, &mi);
    assert_int_equal(f.v.times.n, 2);
    assert_string_equal(f.v.speedup_over, "cublaslt");
    assert_true(f.v.speedup == 4);
    verdict_release(&f.v);
}

/* If the errors of PyTorch or a library exceed the error budget, the baseline keeps its ratio, and
 * the verdict calls it `imprecise`. A baseline that is a kernel is `wrong` with such errors, and
 * has no ratio. */
static void precision_and_coverage(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    f.cmp[1].rms_ratio = f.cmp[2].rms_ratio = 9;
    f.calls[3].ncompares = 0;
    states(&f);
    assert_string_equal(state_of(&f, "naive")->state, "wrong");
    assert_string_equal(state_of(&f, "torch")->state, "imprecise");
    assert_string_equal(state_of(&f, "cublaslt")->state, "unverified");
    assert_true(f.left_out[1] && !f.left_out[2] && !f.left_out[3]);
    verdict_release(&f.v);
}

/* PyTorch or a library may add more terms in one chain than a candidate. So an error of 1.5 times
 * the tolerance makes it only `imprecise`. A much larger error, or an element that it did not
 * write, makes it `wrong`. */
static void a_library_may_add_in_long_chains(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    for (int p = 1; p <= 3; p++) {
        f.cmp[p].bad = 2;
        f.cmp[p].max_ratio = p == 3 ? 30 : 1.5;
    }
    states(&f);
    assert_string_equal(state_of(&f, "naive")->state, "wrong");
    assert_string_equal(state_of(&f, "torch")->state, "imprecise");
    assert_non_null(strstr(state_of(&f, "torch")->text, "1.5 times the allowed error"));
    assert_string_equal(state_of(&f, "cublaslt")->state, "wrong");
    assert_true(f.left_out[1] && !f.left_out[2] && f.left_out[3]);
    verdict_release(&f.v);
    good(&f);
    f.cmp[2].bad = f.cmp[2].unwritten = 1;
    f.cmp[2].max_ratio = 1.5;
    states(&f);
    assert_string_equal(state_of(&f, "torch")->state, "wrong");
    verdict_release(&f.v);
}

static void a_rejected_baseline_is_listed(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    *vec_push(&f.rejected) =
        (struct rejected_baseline){xstrdup("mine.cu"), xstrdup("fault: line 3"), false};
    f.v.kind = V_MISMATCH; /* the candidate failed: its baselines may not have run */
    states(&f);
    assert_int_equal(f.v.baselines.n, 1);
    assert_string_equal(state_of(&f, "mine.cu")->state, "wrong");
    rejected_baselines_release(&f.rejected);
    verdict_release(&f.v);
}

/* A fault of a baseline destroys the CUDA context. Then Hone runs the job again without this
 * baseline. */
static void a_baseline_may_break_the_job(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    assert_int_equal(baseline_that_broke_the_job(&f.result, &f.job), 0);
    f.mods[2].status = RESULT_FAULT;
    assert_int_equal(baseline_that_broke_the_job(&f.result, &f.job), 0); /* the job went on */
    f.result.status = RESULT_MACHINE;
    assert_int_equal(baseline_that_broke_the_job(&f.result, &f.job), 2);
    f.mods[2].status = RESULT_OK;
    assert_int_equal(baseline_that_broke_the_job(&f.result, &f.job), 0);
}

static struct verdict a_verdict(enum verdict_kind kind)
{
    struct verdict v = {.kind = kind, .stage = "check", .detector = "compare"};
    v.summary = arena_strdup(&v.arena, "wrong on smoke:0");
    v.detail = "kernel.cu:12: error: odd";
    *vec_push(&v.counters) = (struct verdict_counter){.kernel = "k"};
    return v;
}

static void verdicts_are_kept(void **state)
{
    (void)state;
    struct temp_dir dir = TEMP_DIR_INIT;
    struct err err = ERR_INIT;
    struct baseline_verdicts b;
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_find("softmax", &problems), *other = task_find("rmsnorm", &problems);
    struct baseline_place emu = {.device = "emu"}, cuda = {.device = "cuda"};
    char key[HASH_HEX], keys[3][HASH_HEX];
    assert_int_equal(temp_dir_make(&dir, &err), 0);
    baseline_verdicts_open(&b, dir.path);
    baseline_key(&b, &emu, t, "a kernel", key);
    baseline_key(&b, &cuda, t, "a kernel", keys[0]);
    baseline_key(&b, &emu, other, "a kernel", keys[1]);
    baseline_key(&b, &emu, t, "another", keys[2]);
    for (int i = 0; i < 3; i++)
        assert_string_not_equal(key, keys[i]);
    assert_true(baseline_seed(t, "a kernel") == baseline_seed(t, "a kernel"));
    assert_true(baseline_seed(t, "a kernel") != baseline_seed(other, "a kernel"));

    assert_null(baseline_verdict_get(&b, key));
    struct verdict v = a_verdict(V_MISMATCH), odd = a_verdict(V_UNJUDGED);
    baseline_verdict_put(&b, key, &v);
    baseline_verdict_put(&b, keys[0], &odd);
    assert_non_null(baseline_verdict_get(&b, keys[0]));
    baseline_verdicts_close(&b);

    baseline_verdicts_open(&b, dir.path); /* as another process would */
    const struct verdict *got = baseline_verdict_get(&b, key);
    assert_non_null(got);
    assert_int_equal(got->kind, V_MISMATCH);
    assert_string_equal(got->summary, "wrong on smoke:0");
    /* An `unjudged` verdict is not kept: next time, the machine may be able to run the baseline. */
    assert_null(baseline_verdict_get(&b, keys[0]));
    baseline_verdicts_close(&b);
    task_free(t);
    task_free(other);
    vec_release(&problems);
    temp_dir_release(&dir);
}

static void a_verdict_names_a_line(void **state)
{
    (void)state;
    struct verdict v = a_verdict(V_COMPILE_ERROR);
    assert_int_equal(baseline_verdict_line(&v), 12);
    v.kind = V_MISMATCH;
    assert_int_equal(baseline_verdict_line(&v), 0);
    *vec_push(&v.findings) = (struct verdict_finding){.line = 0};
    *vec_push(&v.findings) = (struct verdict_finding){.line = 7};
    assert_int_equal(baseline_verdict_line(&v), 7);
    verdict_release(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_right),
        cmocka_unit_test(a_variant_beside_is_no_baseline),
        cmocka_unit_test(a_judged_variant_must_be_right),
        cmocka_unit_test(a_wrong_program_does_not_count),
        cmocka_unit_test(an_old_worker_has_no_variants),
        cmocka_unit_test(a_warm_l2_lowers_the_floor),
        cmocka_unit_test(a_wrong_library_gives_no_ratio),
        cmocka_unit_test(precision_and_coverage),
        cmocka_unit_test(a_library_may_add_in_long_chains),
        cmocka_unit_test(a_rejected_baseline_is_listed),
        cmocka_unit_test(a_baseline_may_break_the_job),
        cmocka_unit_test(verdicts_are_kept),
        cmocka_unit_test(a_verdict_names_a_line),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
