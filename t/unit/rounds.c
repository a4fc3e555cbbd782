/*
 * The worker's adaptive timing: who is called when, which calls are verified, in how many contexts.
 */
#include "run_rig.h"

static void rounds_interleave_and_verify_a_sample(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    b.c.timing = (struct job_timing){6, 40, 3, 0.01, 77};
    b.job.limits.measure_ns = 5000000000u;
    run(&b);
    const struct result_case *c = &b.res.cases[0];
    assert_true(c->ncalls >= 1 + 2 * 6);
    unsigned verified = 0;
    for (uint32_t i = 1; i < c->ncalls; i++) {
        assert_true(c->calls[i].time_ns >= 1000);
        static const uint32_t order[] = {0, 1, 1, 0};
        assert_int_equal(c->calls[i].program, order[(i - 1) % 4]);
        assert_int_equal(c->calls[i].ncompares, !!(c->calls[i].flags & JOB_CALL_VERIFY));
        verified += c->calls[i].ncompares;
        if (c->calls[i].ncompares)
            assert_int_equal(c->calls[i].compares[0].bad, 0);
    }
    assert_int_equal(verified, 3);
    teardown(&b);
}

/* Wrong and fast in most calls, right and slow in the others, by what the data happens to be: the
 * fast ones are verified. */
static void the_fast_calls_are_verified(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct bench b;
        setup(&b, "sometimes");
        b.c.ncalls = 0;
        b.c.timing = (struct job_timing){25, 25, 1, 0, seed};
        b.job.limits.measure_ns = 5000000000u;
        run(&b);
        const struct result_case *c = &b.res.cases[0];
        unsigned verified = 0, right = 0;
        for (uint32_t i = 0; i < c->ncalls; i++) {
            right += c->calls[i].program == 0 && c->calls[i].time_ns >= 1000;
            if (!c->calls[i].ncompares)
                continue;
            verified++;
            assert_true(c->calls[i].time_ns < 1000);
            assert_int_equal(c->calls[i].compares[0].bad, 1);
        }
        assert_int_equal(verified, 1);
        assert_in_range(right, 1, 24);
        teardown(&b);
    }
}

/* Modules whose variables are watched stay loaded, and change places every seven rounds. */
static void timed_modules_stay_and_change_places(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    b.c.ncalls = 0;
    b.c.timing = (struct job_timing){21, 21, 0, 0, 77};
    b.job.limits.measure_ns = 1000000000;
    fake_sealed = true;
    run(&b);
    assert_int_equal(b.res.cases[0].ncalls, 42);
    assert_string_equal(last->order, "cbbccb"); /* three blocks of seven rounds */
    teardown(&b);

    fake_sealed = false; /* nobody knows what it carries: loaded afresh for every call */
    setup(&b, "good");
    b.c.ncalls = 0;
    b.c.timing = (struct job_timing){21, 21, 0, 0, 77};
    b.job.limits.measure_ns = 1000000000;
    run(&b);
    assert_int_equal(last->loads, 42);
    teardown(&b);
}

/* A baseline whose call takes over 50 ms is timed once; the candidate goes on. */
static void slow_baselines_are_timed_once(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    b.c.ncalls = 0;
    b.launch[1].kernel = "ages";
    b.c.timing = (struct job_timing){9, 9, 0, 0, 77};
    b.job.limits.measure_ns = 1000000000;
    run(&b);
    unsigned of[2] = {0, 0};
    for (uint32_t k = 0; k < b.res.cases[0].ncalls; k++)
        of[b.res.cases[0].calls[k].program] += b.res.cases[0].calls[k].time_ns > 0;
    assert_int_equal(of[0], 9);
    assert_int_equal(of[1], 1);
    teardown(&b);
}

/* A budget that is spent (by PyTorch compiling, say) still leaves min_calls of a short kernel. */
static void a_spent_budget_leaves_enough_calls(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    b.c.ncalls = 0;
    b.c.timing = (struct job_timing){11, 40, 0, 0, 77};
    b.job.limits.measure_ns = 1;
    run(&b);
    assert_int_equal(b.res.cases[0].ncalls, 22);
    teardown(&b);
}

/* A short kernel is timed as often in each of three contexts; what is verified is drawn from all.
 */
static void short_kernels_sit_in_several_contexts(void **state)
{
    (void)state;
    unsigned verified[3] = {0};
    fake_sealed = fake_renews = true;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct bench b;
        setup(&b, "good");
        b.c.ncalls = 0;
        b.c.timing = (struct job_timing){7, 7, 2, 0, seed};
        b.job.limits.measure_ns = 1000000000;
        run(&b);
        const struct result_case *c = &b.res.cases[0];
        unsigned of[3] = {0}, both = 0;
        for (uint32_t i = 0; i < c->ncalls; i++) {
            if (c->calls[i].time_ns <= 0)
                continue; /* warming up */
            unsigned sitting = (unsigned)(1002 - c->calls[i].time_ns) / 100;
            assert_in_range(sitting, 0, 2);
            of[sitting]++;
            verified[sitting] += c->calls[i].ncompares;
            both += c->calls[i].ncompares;
        }
        assert_int_equal(last->renewals, 2);
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(of[k], 14);
        assert_int_equal(both, 2);
        teardown(&b);
    }
    assert_true(verified[1] && verified[2]);
    fake_sealed = fake_renews = false;
}

static void long_kernels_sit_once(void **state)
{
    (void)state;
    struct bench b;
    fake_renews = true;
    setup(&b, "ages");
    b.c.ncalls = 0;
    b.c.timing = (struct job_timing){3, 3, 0, 0, 77};
    b.job.limits.measure_ns = 1000000000;
    run(&b);
    assert_int_equal(last->renewals, 0);
    assert_int_equal(b.res.cases[0].ncalls, 6);
    teardown(&b);
    fake_renews = false;
}

/* PyTorch closes the memory of a context before it goes. */
static void a_torch_baseline_forgets_what_goes(void **state)
{
    (void)state;
    struct bench b;
    fake_sealed = fake_renews = true;
    setup(&b, "good");
    use_python(&b, "ok 1234.5");
    b.c.ncalls = 0;
    b.c.timing = (struct job_timing){3, 3, 0, 0, 77};
    b.job.limits.measure_ns = 1000000000;
    run(&b);
    char *asked;
    size_t len;
    assert_int_equal(bundle_read(b.dir, "asked", 1 << 20, &asked, &len, NULL), 0);
    unsigned opened = 0, forgot = 0, calls[3] = {0};
    for (char *save, *line = strtok_r(asked, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        opened += !!strstr(line, "\"open\"");
        forgot += !!strstr(line, "\"forget\"");
        assert_in_range(forgot, 0, 2);
        calls[forgot] += !!strstr(line, "\"call\"");
    }
    free(asked);
    assert_int_equal(opened, 1); /* the process stays */
    assert_int_equal(forgot, 2);
    assert_int_equal(calls[0], 3);
    assert_int_equal(calls[1], 4); /* with the one that warms up */
    assert_int_equal(calls[2], 4);
    assert_int_equal(b.res.modules[1].status, RESULT_OK);
    drop_python(&b);
    teardown(&b);
    fake_sealed = fake_renews = false;
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as hone-worker does */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_interleave_and_verify_a_sample),
        cmocka_unit_test(the_fast_calls_are_verified),
        cmocka_unit_test(timed_modules_stay_and_change_places),
        cmocka_unit_test(slow_baselines_are_timed_once),
        cmocka_unit_test(a_spent_budget_leaves_enough_calls),
        cmocka_unit_test(short_kernels_sit_in_several_contexts),
        cmocka_unit_test(long_kernels_sit_once),
        cmocka_unit_test(a_torch_baseline_forgets_what_goes),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    free(last);
    return rc;
}
