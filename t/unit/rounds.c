/*
 * Tests how the worker times programs: the order of calls, how many there are, which of them it
 * verifies, and timing processes.
 */
#include "run_rig.h"

static void rounds_interleave_and_verify_a_sample(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    b.c.timing = (struct job_timing){6, 40, 3, 0.01, 77, false};
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

/* If a job asks for a warm L2, the worker does not flush the L2 before a timed call, but reads both
 * buffers. */
static void a_warm_l2_is_read_into(void **state)
{
    (void)state;
    int hashes[2];
    for (int warm = 0; warm < 2; warm++) {
        struct bench b;
        setup(&b, "good");
        b.c.ncalls = 0;
        b.c.timing = (struct job_timing){10, 10, 0, 0, 77, warm};
        b.job.limits.measure_ns = 5000000000u;
        run(&b);
        assert_int_equal(b.res.status, RESULT_OK);
        assert_int_equal(last->timed, 20);
        assert_int_equal(last->flushes, warm ? 0 : 20);
        hashes[warm] = last->hashes;
        teardown(&b);
    }
    assert_int_equal(hashes[1] - hashes[0], 20 * 2);
}

/* On some data this kernel is fast and wrong, on other data slow and right. The call that the
 * worker verifies must be a fast one. */
static void the_fast_calls_are_verified(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct bench b;
        setup(&b, "sometimes");
        b.c.ncalls = 0;
        b.c.timing = (struct job_timing){25, 25, 1, 0, seed, false};
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

/* The worker keeps copies of large outputs on the device, hidden so that no kernel can use them. If
 * the device has no room, it keeps the copies in host memory. */
static void large_outputs_stay_on_the_device(void **state)
{
    (void)state;
    uint64_t need = 4 * N + 16 * N; /* the input, and the truth's values and magnitudes */
    for (int room = 0; room < 2; room++)
        for (int wrong = 0; wrong < 2; wrong++) {
            struct bench b;
            fake_hide_from = 4 * N;
            fake_room = need - !room;
            setup(&b, wrong ? "sometimes" : "good");
            b.c.timing = (struct job_timing){25, 25, 1, 0, 3, false};
            b.job.limits.measure_ns = 5000000000u;
            run(&b);
            const struct result_case *c = &b.res.cases[0];
            unsigned verified = 0;
            for (uint32_t i = 1; i < c->ncalls; i++)
                if (c->calls[i].ncompares) {
                    verified++;
                    assert_int_equal(c->calls[i].compares[0].bad, wrong);
                    assert_int_equal(c->calls[i].compares[0].nexamples, wrong);
                }
            assert_int_equal(verified, 1);
            assert_int_equal(last->hides > 0, room);
            assert_int_equal(last->hidden, 0);
            teardown(&b);
        }
    fake_hide_from = 0;
}

/* The baseline gets the same data as the candidate, one round later. In this test both run a kernel
 * whose time depends on the data, so the times show this. */
static void all_programs_get_the_same_data(void **state)
{
    (void)state;
    struct bench b;
    double times[2][40] = {{0}};
    unsigned n[2] = {0, 0}, fast = 0;
    setup(&b, "sometimes");
    b.launch[1].kernel = "sometimes";
    b.c.ncalls = 0;
    b.c.timing = (struct job_timing){40, 40, 0, 0, 77, false};
    b.job.limits.measure_ns = 5000000000u;
    run(&b);
    const struct result_case *c = &b.res.cases[0];
    assert_int_equal(c->ncalls, 80);
    for (uint32_t i = 0; i < c->ncalls; i++)
        times[c->calls[i].program][n[c->calls[i].program]++] = c->calls[i].time_ns;
    for (uint32_t i = 0; i + 1 < 40; i++) {
        assert_int_equal(times[0][i] < 1000, times[1][i + 1] < 1000);
        fast += times[0][i] < 1000;
    }
    assert_in_range(fast, 1, 38);
    teardown(&b);
}

/* If the device watches all variables of the modules, the modules stay loaded for seven rounds.
 * Then they are loaded again in the opposite order, so that they change places. */
static void timed_modules_stay_and_change_places(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    b.c.ncalls = 0;
    b.c.timing = (struct job_timing){21, 21, 0, 0, 77, false};
    b.job.limits.measure_ns = 1000000000;
    fake_sealed = true;
    run(&b);
    assert_int_equal(b.res.cases[0].ncalls, 42);
    assert_string_equal(last->order, "cbbccb"); /* three blocks of seven rounds */
    teardown(&b);

    fake_sealed = false; /* the modules may keep state, so they are loaded for every call */
    setup(&b, "good");
    b.c.ncalls = 0;
    b.c.timing = (struct job_timing){21, 21, 0, 0, 77, false};
    b.job.limits.measure_ns = 1000000000;
    run(&b);
    assert_int_equal(last->loads, 42);
    teardown(&b);
}

/* A baseline is slow if a call takes over 50 ms, and is then timed once. */
static void slow_baselines_are_timed_once(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    b.c.ncalls = 0;
    b.launch[1].kernel = "ages";
    b.c.timing = (struct job_timing){9, 9, 0, 0, 77, false};
    b.job.limits.measure_ns = 1000000000;
    run(&b);
    unsigned of[2] = {0, 0};
    for (uint32_t k = 0; k < b.res.cases[0].ncalls; k++)
        of[b.res.cases[0].calls[k].program] += b.res.cases[0].calls[k].time_ns > 0;
    assert_int_equal(of[0], 9);
    assert_int_equal(of[1], 1);
    teardown(&b);
}

/* A short kernel gets min_calls timed calls, even if the time for measuring is used up. */
static void a_spent_budget_leaves_enough_calls(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    b.c.ncalls = 0;
    b.c.timing = (struct job_timing){11, 40, 0, 0, 77, false};
    b.job.limits.measure_ns = 1;
    run(&b);
    assert_int_equal(b.res.cases[0].ncalls, 22);
    teardown(&b);
}

/* Sets up a job with 7 rounds of the candidate and the baseline, in each of three processes. */
static void run_timing_processes(struct bench *b, const char *kernel)
{
    setup(b, kernel);
    b->c.ncalls = 0;
    b->c.timing = (struct job_timing){7, 7, 2, 0, 77, false};
    b->job.device = JOB_CUDA;
    b->job.timing_processes = 3;
    b->job.limits.measure_ns = 1000000000;
}

/* Counts the timed calls of each program: those in the first process (here), and those in further
 * timing processes (again), in which the fake device gives times below 1000 ns. */
static void count_calls(const struct bench *b, unsigned here[2], unsigned again[2])
{
    const struct result_case *c = &b->res.cases[0];
    here[0] = here[1] = again[0] = again[1] = 0;
    for (uint32_t i = 0; i < c->ncalls; i++)
        if (c->calls[i].time_ns > 0)
            (c->calls[i].time_ns >= 1000 ? here : again)[c->calls[i].program]++;
}

static void short_kernels_are_timed_in_other_processes(void **state)
{
    (void)state;
    struct bench b;
    unsigned here[2], again[2], verified = 0;
    run_timing_processes(&b, "good");
    run(&b);
    assert_int_equal(b.res.status, RESULT_OK);
    count_calls(&b, here, again);
    for (int p = 0; p < 2; p++) {
        assert_int_equal(here[p], 7);
        assert_int_equal(again[p], 14);
    }
    for (uint32_t i = 0; i < b.res.cases[0].ncalls; i++)
        verified += b.res.cases[0].calls[i].ncompares;
    assert_int_equal(verified, 6);
    assert_string_equal(b.res.printf_text, "said\n"); /* kept, although the device was closed */
    teardown(&b);
}

/* If the candidate has a fault in a further timing process, the job ends with this fault. If such a
 * process dies, only its times are missing. */
static void a_further_process_may_fail(void **state)
{
    (void)state;
    struct bench b;
    unsigned here[2], again[2];
    run_timing_processes(&b, "fault later");
    run(&b);
    assert_int_equal(b.res.status, RESULT_FAULT);
    assert_non_null(strstr(b.res.message, "illegal address"));
    assert_int_equal(b.res.where_case, 0);
    teardown(&b);

    run_timing_processes(&b, "dies later");
    run(&b);
    assert_int_equal(b.res.status, RESULT_OK);
    count_calls(&b, here, again);
    assert_int_equal(here[0], 7);
    assert_int_equal(again[0], 0);
    teardown(&b);
}

static void what_is_long_wrong_or_emulated_sits_once(void **state)
{
    (void)state;
    struct bench b;
    unsigned here[2], again[2];
    static const char *const kernels[] = {"ages", "constant"};
    for (int i = 0; i < 2; i++) {
        run_timing_processes(&b, kernels[i]);
        run(&b);
        count_calls(&b, here, again);
        assert_int_equal(here[0], 7);
        assert_int_equal(again[0] + again[1], 0);
        teardown(&b);
    }

    run_timing_processes(&b, "good");
    b.job.device = JOB_EMU;
    run(&b);
    count_calls(&b, here, again);
    assert_int_equal(here[0], 7);
    assert_int_equal(again[0] + again[1], 0);
    teardown(&b);
}

/* PyTorch takes seconds to start, so it is timed in the first process only. */
static void a_torch_baseline_sits_once(void **state)
{
    (void)state;
    struct bench b;
    unsigned here[2], again[2];
    run_timing_processes(&b, "good");
    use_python(&b, "ok 1234.5");
    b.c.ncalls = 0;
    run(&b);
    count_calls(&b, here, again);
    assert_int_equal(here[1], 7);
    assert_int_equal(again[1], 0);
    assert_int_equal(again[0], 14);
    char *asked;
    size_t len;
    assert_int_equal(bundle_read(b.dir, "asked", 1 << 20, &asked, &len, NULL), 0);
    unsigned opened = 0;
    for (char *p = asked; (p = strstr(p, "\"open\"")); p++)
        opened++;
    assert_int_equal(opened, 1);
    free(asked);
    drop_python(&b);
    teardown(&b);
}

int main(int argc, char **argv)
{
    setenv("HONE_LOG", "error", 0); /* the tests provoke warnings */
    signal(SIGPIPE, SIG_IGN);       /* as hone-worker does */
    if (argc == 2) {                /* a further timing process: this program is the worker */
        in_further_process = true;
        int rc = run_bundle(argv[1], fake_open, false, NULL) < 0 ? 3 : 0;
        free(last);
        return rc;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_interleave_and_verify_a_sample),
        cmocka_unit_test(a_warm_l2_is_read_into),
        cmocka_unit_test(the_fast_calls_are_verified),
        cmocka_unit_test(large_outputs_stay_on_the_device),
        cmocka_unit_test(all_programs_get_the_same_data),
        cmocka_unit_test(timed_modules_stay_and_change_places),
        cmocka_unit_test(slow_baselines_are_timed_once),
        cmocka_unit_test(a_spent_budget_leaves_enough_calls),
        cmocka_unit_test(short_kernels_are_timed_in_other_processes),
        cmocka_unit_test(a_further_process_may_fail),
        cmocka_unit_test(what_is_long_wrong_or_emulated_sits_once),
        cmocka_unit_test(a_torch_baseline_sits_once),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    free(last);
    return rc;
}
