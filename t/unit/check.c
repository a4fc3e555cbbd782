/*
 * Tests every detector on facts that the test makes. A detector must lower the verdict if its fact
 * is among them, and only then. If the detector is switched off, the verdict must change.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "check/case_order.h"
#include "check/decide_verdict.h"

struct facts {
    struct task task;
    struct job_buffer buffers[2];
    struct job_call jcalls[5];
    struct job_case jc;
    struct job job;
    struct result_compare cmp[5];
    struct result_call calls[5];
    struct result_case rc;
    struct result_finding finding;
    struct result result;
    struct check_case info;
};

/* Makes facts in which all five calls are right:
 * 0. a verified call;
 * 1. one with other data;
 * 2. one with the data of call 1, in a fresh module;
 * 3. one with a perturbed input element;
 * 4. a timed call. */
static void good(struct facts *f)
{
    memset(f, 0, sizeof *f);
    f->buffers[0] =
        (struct job_buffer){.name = "x", .role = JOB_INPUT, .dtype = DT_F32, .elems = 99};
    f->buffers[1] = (struct job_buffer){.name = "y",
                                        .role = JOB_OUTPUT,
                                        .dtype = DT_F32,
                                        .elems = 99,
                                        .rank = 1,
                                        .dims = {99},
                                        .budget = 8};
    static const uint32_t flags[] = {
        JOB_CALL_VERIFY, JOB_CALL_VERIFY | JOB_CALL_KEEP_STATE, JOB_CALL_VERIFY | JOB_CALL_REPEAT,
        JOB_CALL_VERIFY | JOB_CALL_KEEP_STATE, JOB_CALL_TIMED | JOB_CALL_VERIFY};
    for (int k = 0; k < 5; k++) {
        f->jcalls[k] = (struct job_call){.flags = flags[k], .perturb_buffer = k == 3 ? 0 : -1};
        f->cmp[k] = (struct result_compare){
            .buffer = 1, .n = 990, .max_ratio = 0.5, .rms_ratio = 1, .zero_ratio = 1e6};
        f->calls[k] = (struct result_call){.flags = flags[k],
                                           .time_ns = -1,
                                           .inputs_intact = true,
                                           .guards_intact = true,
                                           .globals_intact = true,
                                           .repeat_equal = true,
                                           .most_written = 1,
                                           .damage = "",
                                           .ncompares = flags[k] & JOB_CALL_VERIFY ? 1 : 0,
                                           .compares = &f->cmp[k]};
    }
    f->jc = (struct job_case){
        .name = "check:0", .nbuffers = 2, .buffers = f->buffers, .ncalls = 5, .calls = f->jcalls};
    f->job = (struct job){.ncases = 1, .cases = &f->jc};
    f->rc = (struct result_case){5, f->calls};
    f->finding = (struct result_finding){
        .kind = FIND_RACE, .kernel = "k", .file = "", .object = "", .text = "t", .other = ""};
    f->result = (struct result){.ncases = 1, .cases = &f->rc, .findings = &f->finding};
    f->info = (struct check_case){.role = ROLE_CHECK, .shape = "N=99"};
}

static struct verdict judge(struct facts *f, const char *off)
{
    const char *offs[] = {off, NULL};
    struct verdict v = {.kind = V_PASS};
    check_facts(&v, &(struct check_input){.task = &f->task,
                                          .job = &f->job,
                                          .result = &f->result,
                                          .cases = &f->info,
                                          .off = off ? offs : NULL});
    return v;
}

static void expect(struct facts *f, enum verdict_kind kind, const char *detector)
{
    struct verdict v = judge(f, NULL);
    assert_string_equal(verdict_kind_name(v.kind), verdict_kind_name(kind));
    assert_string_equal(v.detector, detector);
    assert_true(v.summary && *v.summary);
    struct verdict blind = judge(f, detector);
    assert_true(blind.kind != kind || !blind.detector || !str_eq(blind.detector, detector));
    verdict_release(&v);
    verdict_release(&blind);
}

static void expect_pass(struct facts *f)
{
    struct verdict v = judge(f, NULL);
    assert_string_equal(verdict_kind_name(v.kind), "pass");
    verdict_release(&v);
}

static void honest_candidate_passes(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    struct verdict v = judge(&f, NULL);
    assert_int_equal(v.kind, V_PASS);
    assert_int_equal(v.workloads.n, 1);
    assert_true(v.workloads.items[0].ok);
    assert_int_equal(v.warnings.n, 0);
    verdict_release(&v);
}

static void a_baseline_is_judged_by_its_calls(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    f.jc.nprograms = 2;
    f.jc.name = "time:0";
    f.info.role = ROLE_TIME;
    struct check_input in = {
        .program = 1, .task = &f.task, .job = &f.job, .result = &f.result, .cases = &f.info};
    struct verdict none = {.kind = V_PASS};
    assert_false(check_baseline(&none, &in)); /* it made no call */
    verdict_release(&none);

    f.calls[0].program = f.jcalls[0].program = 1;
    struct verdict right = {.kind = V_PASS};
    assert_true(check_baseline(&right, &in));
    assert_int_equal(right.kind, V_PASS);
    verdict_release(&right);

    f.cmp[0].bad = 7;
    f.cmp[0].max_ratio = 12;
    struct verdict wrong = {.kind = V_PASS};
    assert_true(check_baseline(&wrong, &in));
    assert_int_equal(wrong.kind, V_MISMATCH);
    verdict_release(&wrong);
    struct verdict candidate = judge(&f, NULL); /* the candidate is not blamed */
    assert_int_equal(candidate.kind, V_PASS);
    verdict_release(&candidate);
}

static void a_workload_says_what_was_verified(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    struct verdict v = judge(&f, NULL);
    assert_string_equal(v.workloads.items[0].verified, "whole");
    verdict_release(&v);
    f.rc.ncalls = 1;
    f.buffers[1].elems = 9900;
    f.calls[0].flags |= JOB_CALL_BLOCK_SAMPLE;
    v = judge(&f, NULL);
    assert_string_equal(v.workloads.items[0].verified, "sample");
    assert_true(v.workloads.items[0].verified_pct == 10);
    verdict_release(&v);
    f.calls[0].ncompares = 0;
    v = judge(&f, NULL);
    assert_string_equal(v.workloads.items[0].verified, "none");
    verdict_release(&v);
}

static void wrong_outputs(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    f.cmp[0].bad = 3;
    f.cmp[0].max_ratio = 7;
    expect(&f, V_MISMATCH, "compare");
    good(&f);
    f.cmp[0].max_ratio = NAN; /* the comparison must fail for NaN */
    expect(&f, V_MISMATCH, "compare");
    good(&f);
    f.cmp[0].rms_ratio = 12; /* 12.07 are allowed for 990 elements */
    expect_pass(&f);
    f.cmp[0].rms_ratio = 12.1;
    expect(&f, V_MISMATCH, "budget");
    f.cmp[0].n = 255; /* too few elements for a budget */
    expect_pass(&f);
    good(&f);
    f.cmp[0].n = f.buffers[1].elems = 100000;
    f.cmp[0].rms_ratio = 8.3;
    expect_pass(&f);
    f.cmp[0].rms_ratio = 8.5;
    expect(&f, V_MISMATCH, "budget");
    good(&f);
    f.cmp[0].rms_ratio = NAN;
    expect(&f, V_MISMATCH, "budget");
    good(&f);
    f.cmp[3].rms_ratio = 13; /* the budget holds for the perturbed call too */
    expect(&f, V_MISMATCH, "budget");
    good(&f);
    f.cmp[0].unwritten = 1;
    expect(&f, V_MISMATCH, "unwritten");
    good(&f);
    f.info.role = ROLE_HELDOUT;
    f.cmp[0].bad = 1;
    f.cmp[0].max_ratio = 2;
    expect(&f, V_MISMATCH, "heldout");
}

static void answers_that_depend_on_the_call(void **state)
{
    (void)state;
    static const struct {
        int call;
        const char *detector;
    } all[] = {{1, "state"}, {3, "perturb"}, {4, "timed-sample"}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct facts f;
        good(&f);
        f.calls[2].repeat_equal = all[i].call != 1; /* if call 1 is wrong, call 2 is still right */
        f.cmp[all[i].call].bad = 1;
        f.cmp[all[i].call].max_ratio = INFINITY;
        f.cmp[all[i].call].stale = 1;
        expect(&f, V_CHEAT, all[i].detector);
    }
}

/* The output is wrong in a fresh module too, so kept state is not the cause. */
static void answers_that_depend_on_the_data(void **state)
{
    (void)state;
    /* in the first pass, calls 1 and 2 give different results on the same data */
    for (int bits = 0; bits < 2; bits++) {
        struct facts f;
        good(&f);
        f.task.nondeterministic_ok = true;
        f.calls[2].repeat_equal = bits;
        for (int k = 1; k <= 2; k++) {
            f.cmp[k].bad = 1;
            f.cmp[k].max_ratio = 2;
        }
        expect(&f, V_MISMATCH, "compare");
    }
}

/* When an input element changed, the output changed too, but not by exactly the right amount. That
 * is no cheat. */
static void answers_that_follow_badly(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    f.cmp[3].bad = 1;
    f.cmp[3].max_ratio = 1.01;
    expect(&f, V_MISMATCH, "compare");
}

/* The kernel ignores an input by mistake. Call 0 is right by chance, for example because the
 * ignored element is 0. */
static void answers_that_ignore_an_input_by_mistake(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    for (int k = 1; k <= 3; k++) { /* call 2, in a fresh module, is wrong too, and so is call 3 */
        f.cmp[k].bad = 1;
        f.cmp[k].max_ratio = 2;
    }
    f.cmp[3].stale = 1;
    expect(&f, V_MISMATCH, "compare");
}

static void damage(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    f.calls[1].inputs_intact = false;
    expect(&f, V_CHEAT, "input-hash");
    good(&f);
    f.calls[1].guards_intact = false;
    expect(&f, V_FAULT, "guard");
    good(&f);
    f.calls[2].globals_intact = false;
    expect(&f, V_CHEAT, "device-state");
    good(&f);
    f.calls[2].repeat_equal = false;
    expect(&f, V_UNSAFE, "determinism");
    struct verdict v = judge(&f, NULL);
    assert_non_null(strstr(v.summary, "atomics that add in no fixed order"));
    assert_non_null(strstr(v.summary, "the flag nondeterministic_ok"));
    verdict_release(&v);
    f.task.nondeterministic_ok = true;
    v = judge(&f, NULL);
    assert_int_equal(v.kind, V_PASS);
    verdict_release(&v);
}

static void findings_and_statuses(void **state)
{
    (void)state;
    static const struct {
        enum finding_kind find;
        enum verdict_kind kind;
    } finds[] = {{FIND_OOB, V_FAULT},     {FIND_MISALIGNED, V_FAULT},  {FIND_RACE, V_UNSAFE},
                 {FIND_UNINIT, V_UNSAFE}, {FIND_BARRIER, V_UNSAFE},    {FIND_ASYNC, V_UNSAFE},
                 {FIND_DEADLOCK, V_HANG}, {FIND_UNWRITTEN, V_MISMATCH}};
    for (size_t i = 0; i < ARRAY_LEN(finds); i++) {
        struct facts f;
        good(&f);
        f.result.nfindings = 1;
        f.finding.kind = finds[i].find;
        expect(&f, finds[i].kind, "sanitizer");
    }
    static const struct {
        enum result_status status;
        enum verdict_kind kind;
    } ends[] = {{RESULT_FAULT, V_FAULT},
                {RESULT_HANG, V_HANG},
                {RESULT_OOM, V_OOM},
                {RESULT_PLAN, V_PLAN_ERROR}};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct facts f;
        good(&f);
        f.result.status = ends[i].status;
        expect(&f, ends[i].kind, "status");
    }
}

static void a_race_leads_over_its_wrong_result(void **state)
{
    struct facts f;
    (void)state;
    good(&f);
    f.result.nfindings = 1;
    f.finding.line = 7;
    for (int k = 0; k < 5; k++) {
        f.cmp[k].bad = 9;
        f.cmp[k].max_ratio = 50;
    }
    struct verdict v = judge(&f, NULL);
    assert_int_equal(v.kind, V_UNSAFE);
    assert_string_equal(v.detector, "sanitizer");
    assert_non_null(strstr(v.summary, "race at line 7"));
    assert_non_null(strstr(v.summary, "so the result is wrong on check:0"));
    assert_false(v.workloads.items[0].ok);
    verdict_release(&v);
    f.finding.kind = FIND_NOTE; /* a note is no cause */
    v = judge(&f, NULL);
    assert_int_equal(v.kind, V_MISMATCH);
    verdict_release(&v);
}

/* Blocks that read a shared variable too late leave elements unwritten: the race is the cause. */
static void a_race_leads_over_what_it_left_unwritten(void **state)
{
    struct facts f;
    (void)state;
    good(&f);
    struct result_finding both[2] = {f.finding, f.finding};
    both[0].kind = FIND_UNWRITTEN;
    both[0].line = 20;
    both[1].line = 7;
    f.result.findings = both;
    f.result.nfindings = 2;
    f.cmp[0].unwritten = 3;
    struct verdict v = judge(&f, NULL);
    assert_int_equal(v.kind, V_UNSAFE);
    assert_non_null(strstr(v.summary, "race at line 7"));
    assert_non_null(strstr(v.summary, "so the result is wrong on check:0"));
    assert_int_equal(v.findings.n, 2);
    verdict_release(&v);
    f.result.nfindings = 1; /* without a race, the unwritten elements lead */
    v = judge(&f, NULL);
    assert_int_equal(v.kind, V_MISMATCH);
    assert_string_equal(v.detector, "sanitizer");
    verdict_release(&v);
}

/* There is a race in one workload, and a wrong result in another. If the sanitizer watched the
 * second one too and found nothing, the race is not the cause. If it did not watch, because the
 * call was sampled, the race counts as the cause. */
static void a_race_leads_over_wrong_timed_results(void **state)
{
    (void)state;
    for (int sampled = 0; sampled < 2; sampled++) {
        struct facts f, timed;
        good(&f);
        good(&timed);
        timed.jc.name = "time:0";
        timed.cmp[0].bad = 9;
        timed.cmp[0].max_ratio = 50;
        timed.calls[0].flags |= sampled ? JOB_CALL_BLOCK_SAMPLE : 0;
        timed.rc.ncalls = 1;
        struct job_case jc[2] = {f.jc, timed.jc};
        struct result_case rc[2] = {f.rc, timed.rc};
        struct check_case info[2] = {f.info, {.role = ROLE_TIME, .shape = "N=99"}};
        f.job = (struct job){.ncases = 2, .cases = jc};
        f.result =
            (struct result){.ncases = 2, .cases = rc, .nfindings = 1, .findings = &f.finding};
        struct verdict v = {.kind = V_PASS};
        check_facts(&v, &(struct check_input){
                            .task = &f.task, .job = &f.job, .result = &f.result, .cases = info});
        assert_int_equal(v.kind, sampled ? V_UNSAFE : V_MISMATCH);
        assert_int_equal(!!strstr(v.summary, "so the result is wrong on time:0"), sampled);
        verdict_release(&v);
    }
}

/* A kernel that forgets to clear its workspace is right by chance in the first call of one
 * workload. It is no cheat if it is wrong in fresh calls elsewhere. */
static void a_workspace_that_is_not_cleared_is_a_mistake(void **state)
{
    (void)state;
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        struct facts f, fresh;
        good(&f);
        good(&fresh);
        f.finding.kind = FIND_UNINIT;
        f.cmp[1].bad = 9; /* a call after another one */
        f.cmp[1].max_ratio = 50;
        f.rc.ncalls = 2;
        fresh.jc.name = "check:1";
        fresh.cmp[0].bad = elsewhere ? 9 : 0;
        fresh.cmp[0].max_ratio = elsewhere ? 50 : 0.5;
        fresh.rc.ncalls = 1;
        struct job_case jc[2] = {f.jc, fresh.jc};
        struct result_case rc[2] = {f.rc, fresh.rc};
        struct check_case info[2] = {f.info, f.info};
        f.job = (struct job){.ncases = 2, .cases = jc};
        f.result =
            (struct result){.ncases = 2, .cases = rc, .nfindings = 1, .findings = &f.finding};
        struct verdict v = {.kind = V_PASS};
        check_facts(&v, &(struct check_input){
                            .task = &f.task, .job = &f.job, .result = &f.result, .cases = info});
        assert_int_equal(v.kind, elsewhere ? V_MISMATCH : V_CHEAT);
        assert_string_equal(v.detector, elsewhere ? "compare" : "state");
        verdict_release(&v);
    }
}

static void machine_failures_are_not_the_candidates(void **state)
{
    (void)state;
    struct facts f;
    static const enum result_status ends[] = {RESULT_MACHINE, RESULT_UNSUPPORTED, RESULT_NOT_RUN};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        good(&f);
        f.result.status = ends[i];
        f.result.message = "the machine is on fire";
        struct verdict v = judge(&f, NULL);
        assert_int_equal(v.kind, V_UNJUDGED);
        assert_string_equal(v.summary, "the machine is on fire");
        assert_int_equal(v.workloads.n, 1);
        verdict_release(&v);
    }
}

static void an_early_end_hides_no_error(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    f.result.status = RESULT_UNSUPPORTED;
    f.result.message = "ran past its limit";
    f.cmp[0].bad = 1;
    struct verdict wrong = judge(&f, NULL);
    assert_int_equal(wrong.kind, V_MISMATCH);
    assert_int_equal(wrong.warnings.n, 1);
    assert_non_null(strstr(wrong.warnings.items[0], "ran past its limit"));
    assert_false(wrong.workloads.items[0].ok);
    verdict_release(&wrong);

    good(&f);
    f.result.status = RESULT_MACHINE;
    f.finding.kind = FIND_OOB;
    f.result.nfindings = 1;
    struct verdict fault = judge(&f, NULL);
    assert_int_equal(fault.kind, V_FAULT);
    verdict_release(&fault);
}

static void printing_is_limited(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    f.result.printf_text = "hello";
    f.job.limits.printf_bytes = 6;
    expect_pass(&f);
    f.job.limits.printf_bytes = 5;
    expect(&f, V_REJECTED, "printf");
    struct verdict v = judge(&f, NULL);
    assert_string_equal(v.summary,
                        "the kernel prints too much (Hone kept the first 5 bytes): remove printf");
    verdict_release(&v);
}

static void lowest_kind_wins(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    f.result.nfindings = 1; /* unsafe */
    f.cmp[0].bad = 1;       /* mismatch */
    f.cmp[0].max_ratio = 3;
    f.calls[0].inputs_intact = false; /* cheat */
    struct verdict v = judge(&f, NULL);
    assert_int_equal(v.kind, V_CHEAT);
    verdict_release(&v);
}

static void heldout_shapes_stay_hidden(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    f.info = (struct check_case){.role = ROLE_HELDOUT, .shape = "N=424242"};
    f.cmp[0].bad = 1;
    f.cmp[0].max_ratio = 2;
    f.cmp[0].worst_elem = 87;
    f.cmp[0].pattern = "every 424242th element";
    struct verdict v = judge(&f, NULL);
    assert_null(strstr(v.summary, "424242"));
    assert_null(strstr(v.workloads.items[0].note, "424242"));
    assert_non_null(strstr(v.workloads.items[0].note, "every #th element")); /* without numbers */
    verdict_release(&v);
}

static void heldout_stories_have_no_numbers(void **state)
{
    (void)state;
    for (int what = 0; what < 6; what++) {
        struct facts f;
        good(&f);
        f.info = (struct check_case){.role = ROLE_HELDOUT, .shape = "N=424242"};
        f.result.message = "kernel 'k2': y[424242] is outside";
        f.calls[1].damage = "memory was written 424242 bytes past the end of 'y'";
        f.finding.text = f.finding.other = "y[424242]";
        f.cmp[0].n = 424242;
        f.cmp[0].pattern = "rows 424242..424242";
        f.cmp[0].unwritten = what == 0 ? 424242 : 0;
        f.calls[1].inputs_intact = what != 1;
        f.calls[1].guards_intact = what != 2;
        f.result.nfindings = what == 3;
        f.result.status = what == 4 ? RESULT_FAULT : RESULT_OK;
        f.cmp[0].rms_ratio = what == 5 ? 424242 : 1;
        struct verdict v = judge(&f, NULL);
        assert_int_not_equal(v.kind, V_PASS);
        assert_null(strstr(v.summary, "4242"));
        assert_null(strstr(v.workloads.items[0].note, "4242"));
        verdict_release(&v);
    }
}

/* If the same finding occurs at a workload that the task lists and at a held-out one, the verdict
 * names the listed one. */
static void findings_carry_their_workload(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    struct job_case jc[2] = {f.jc, f.jc};
    struct result_case rc[2] = {f.rc, f.rc};
    jc[0].name = "heldout:0";
    jc[1].name = "time:0";
    struct check_case info[2] = {{.role = ROLE_HELDOUT, .shape = "N=424242"},
                                 {.role = ROLE_TIME, .shape = "N=99"}};
    struct result_finding found[3] = {f.finding, f.finding, f.finding};
    found[0].count = 5;
    found[1].case_index = 1;
    found[1].count = 2;
    found[2].line = 7; /* only at the held-out shape */
    f.job = (struct job){.ncases = 2, .cases = jc};
    f.result = (struct result){.ncases = 2, .cases = rc, .nfindings = 3, .findings = found};
    struct verdict v = {.kind = V_PASS};
    check_facts(&v, &(struct check_input){
                        .task = &f.task, .job = &f.job, .result = &f.result, .cases = info});
    assert_int_equal(v.findings.n, 2);
    assert_string_equal(v.findings.items[0].workload, "time:0");
    assert_int_equal(v.findings.items[0].count, 2);
    assert_string_equal(v.findings.items[1].role, "heldout");
    assert_true(verdict_hidden(v.findings.items[1].role));
    verdict_release(&v);
}

static void unverified_is_unjudged(void **state)
{
    (void)state;
    struct facts f;
    for (int k = 0; k < 5; k++) {
        good(&f);
        f.calls[k].ncompares = 0;
        struct verdict v = judge(&f, NULL);
        assert_int_equal(v.kind, f.jcalls[k].flags & JOB_CALL_VERIFY ? V_UNJUDGED : V_PASS);
        verdict_release(&v);
    }
    good(&f);
    f.calls[0].ncompares = 0;
    f.calls[0].inputs_intact = false; /* a known cheat still counts */
    expect(&f, V_CHEAT, "input-hash");
    good(&f);
    f.calls[4].ncompares = 0;
    f.calls[4].status = RESULT_FAULT;
    f.result.status = RESULT_FAULT;
    expect(&f, V_FAULT, "status");
}

static void weak_data_is_reported(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    f.cmp[0].zero_ratio = 0.3;
    struct verdict v = judge(&f, NULL);
    assert_int_equal(v.warnings.n, 1);
    verdict_release(&v);
}

/* Returns the number of warnings in the verdict. The check workload launches the kernel `checked`,
 * the timed one `timed`. `sampled`: the timed call ran only a sample of its blocks. `verified`: its
 * outputs were compared with the truth. */
static size_t warnings_when(const char *checked, const char *timed, bool sampled, bool verified)
{
    struct facts f;
    good(&f);
    struct job_launch l[2] = {{.kernel = checked}, {.kernel = timed}};
    struct job_program p[2] = {{.nlaunches = 1, .launches = &l[0]},
                               {.nlaunches = 1, .launches = &l[1]}};
    struct job_case jc[2] = {f.jc, f.jc};
    struct result_case rc[2] = {f.rc, f.rc};
    for (int i = 0; i < 2; i++) {
        jc[i].programs = &p[i];
        jc[i].nprograms = 1;
    }
    jc[1].name = "time:0";
    struct check_case info[2] = {{.role = ROLE_CHECK, .shape = "N=1"},
                                 {.role = ROLE_TIME, .shape = "N=99"}};
    struct result_call call = f.calls[4];
    call.flags |= sampled ? JOB_CALL_BLOCK_SAMPLE : 0;
    call.ncompares = verified;
    rc[1] = (struct result_case){1, &call};
    f.job = (struct job){.ncases = 2, .cases = jc};
    f.result = (struct result){.ncases = 2, .cases = rc};
    struct verdict v = {.kind = V_PASS};
    check_facts(&v, &(struct check_input){
                        .task = &f.task, .job = &f.job, .result = &f.result, .cases = info});
    size_t n = v.warnings.n;
    verdict_release(&v);
    return n;
}

static void unverified_times_are_named(void **state)
{
    (void)state;
    assert_int_equal(warnings_when("k", "k", true, true), 0);
    assert_int_equal(warnings_when("k", "k", true, false), 1);
    assert_int_equal(warnings_when("k", "fast", true, true), 0);
    assert_int_equal(warnings_when("k", "fast", true, false), 1);
    assert_int_equal(warnings_when("k", "fast", false, true), 0);
}

/* Calls that ran a sample of their blocks are judged too. Their error budget is larger. */
static void samples_are_judged(void **state)
{
    (void)state;
    struct facts f;
    good(&f);
    f.calls[0].flags |= JOB_CALL_BLOCK_SAMPLE | JOB_CALL_TIMED;
    f.cmp[0].rms_ratio = 12;
    f.cmp[0].zero_ratio = 0.3;
    f.calls[0].sample.blocks = 10000;
    f.calls[0].sample.ran = 400;
    f.calls[0].sample.verified = 300;
    f.calls[0].sample.unseen = 0.96;
    struct verdict v = judge(&f, NULL);
    assert_int_equal(v.kind, V_PASS);
    assert_int_equal(v.warnings.n, 0);
    const struct verdict_workload *w = &v.workloads.items[0];
    assert_non_null(strstr(w->note, "400 of 10000 blocks ran, 300 of them were verified (990 of"));
    assert_non_null(strstr(w->note, "no block that ran wrote 96% of the outputs"));
    assert_non_null(strstr(w->note, "an error in 1% of the blocks is found with probability 95"));
    assert_true(w->blocks == 10000 && w->blocks_ran == 400 && w->blocks_verified == 300);
    assert_true(fabs(w->unseen_pct - 96) < 1e-9 && w->found_pct > 95 && w->found_pct < 95.5);
    verdict_release(&v);
    f.calls[0].sample.verified = 9000; /* the probability is almost 1, but not rounded to 100% */
    v = judge(&f, NULL);
    assert_null(strstr(v.workloads.items[0].note, "probability 100%"));
    verdict_release(&v);
    f.calls[0].sample.verified = 300;
    f.cmp[0].rms_ratio = 17;
    expect(&f, V_MISMATCH, "budget");
    f.cmp[0].bad = 1;
    f.cmp[0].max_ratio = 2;
    expect(&f, V_MISMATCH, "compare");
    v = judge(&f, NULL);
    assert_non_null(
        strstr(v.summary, "of 990 elements of 'y' that a sample of blocks wrote are wrong"));
    verdict_release(&v);
    good(&f);
    f.calls[0].flags |= JOB_CALL_BLOCK_SAMPLE;
    f.calls[0].most_written = 0.985; /* right values may equal the poison in the other 1.5% */
    v = judge(&f, NULL);
    assert_int_equal(v.kind, V_PASS);
    verdict_release(&v);
    f.calls[0].sample.blocks = f.calls[0].sample.ran = 100; /* all blocks ran */
    expect(&f, V_MISMATCH, "unwritten");
    f.calls[0].sample.ran = 99;
    f.calls[0].most_written = 0.97;
    expect(&f, V_MISMATCH, "unwritten");
    f.cmp[1].n = 98; /* call 1 compared 98 of 99 elements: the truth lacks one element */
    v = judge(&f, NULL);
    assert_int_equal(v.kind, V_PASS);
    verdict_release(&v);
    good(&f);
    f.calls[0].flags |= JOB_CALL_BLOCK_SAMPLE;
    f.calls[0].ncompares = 0; /* a sampled call need not be verified */
    v = judge(&f, NULL);
    assert_int_equal(v.kind, V_PASS);
    verdict_release(&v);
}

/* The summary names the smallest failing shape among those whose buffers have aligned addresses. */
static void the_smallest_plain_shape_is_named(void **state)
{
    (void)state;
    enum { N = 6 };
    static const struct {
        int64_t axis;
        bool misaligned, right;
    } rows[N] = {{8192, true, false}, {4096, false, true}, {9000, false, false},
                 {4097, true, false}, {100, false, true},  {4100, false, false}};
    struct facts f;
    good(&f);
    struct task_axis axis = {.name = "C"};
    f.task.axes.items = &axis;
    f.task.axes.n = 1;
    struct job_buffer buffers[N][2];
    struct job_case cases[N];
    struct result_compare bad = f.cmp[0];
    struct result_call wrong = f.calls[0], right = f.calls[0];
    struct result_case results[N];
    struct check_case info[N];
    bad.bad = 1;
    bad.max_ratio = 3;
    wrong.compares = &bad;
    for (int i = 0; i < N; i++) {
        memcpy(buffers[i], f.buffers, sizeof f.buffers);
        buffers[i][1].bytes = (uint64_t)rows[i].axis;
        cases[i] = f.jc;
        cases[i].name = "smoke:0";
        cases[i].buffers = buffers[i];
        cases[i].naxes = 1;
        cases[i].axes = (int64_t *)&rows[i].axis;
        results[i] = (struct result_case){1, rows[i].right ? &right : &wrong};
        info[i] = (struct check_case){.role = ROLE_SMOKE,
                                      .shape = rows[i].axis == 4100 ? "C=4100" : "other",
                                      .misaligned = rows[i].misaligned};
    }
    struct job job = {.ncases = N, .cases = cases};
    struct result result = {.ncases = N, .cases = results};
    struct check_input in = {.task = &f.task, .job = &job, .result = &result, .cases = info};
    struct verdict v = {.kind = V_PASS};
    check_facts(&v, &in);
    assert_int_equal(v.workloads.n, N);
    assert_true(v.workloads.items[1].ok && !v.workloads.items[0].ok);
    assert_non_null(strstr(v.summary, "wrong on smoke:0 (C=4100)"));
    assert_string_equal(case_separation(&v, &in),
                        "all 4 failing shapes have C >= 4097; all with C <= 4096 pass");
    info[0].role = info[3].role = ROLE_HELDOUT; /* held-out shapes do not count */
    assert_string_equal(case_separation(&v, &in),
                        "all 2 failing shapes have C >= 4100; all with C <= 4096 pass");
    cases[4].axes = cases[5].axes;
    assert_string_equal(case_separation(&v, &in), "");
    verdict_release(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_candidate_passes),
        cmocka_unit_test(a_baseline_is_judged_by_its_calls),
        cmocka_unit_test(a_workload_says_what_was_verified),
        cmocka_unit_test(wrong_outputs),
        cmocka_unit_test(answers_that_depend_on_the_call),
        cmocka_unit_test(answers_that_depend_on_the_data),
        cmocka_unit_test(answers_that_follow_badly),
        cmocka_unit_test(answers_that_ignore_an_input_by_mistake),
        cmocka_unit_test(damage),
        cmocka_unit_test(findings_and_statuses),
        cmocka_unit_test(a_race_leads_over_its_wrong_result),
        cmocka_unit_test(machine_failures_are_not_the_candidates),
        cmocka_unit_test(an_early_end_hides_no_error),
        cmocka_unit_test(printing_is_limited),
        cmocka_unit_test(lowest_kind_wins),
        cmocka_unit_test(a_race_leads_over_what_it_left_unwritten),
        cmocka_unit_test(a_race_leads_over_wrong_timed_results),
        cmocka_unit_test(a_workspace_that_is_not_cleared_is_a_mistake),
        cmocka_unit_test(the_smallest_plain_shape_is_named),
        cmocka_unit_test(heldout_shapes_stay_hidden),
        cmocka_unit_test(heldout_stories_have_no_numbers),
        cmocka_unit_test(findings_carry_their_workload),
        cmocka_unit_test(unverified_times_are_named),
        cmocka_unit_test(samples_are_judged),
        cmocka_unit_test(unverified_is_unjudged),
        cmocka_unit_test(weak_data_is_reported),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
