/*
 * Tests how the worker runs a job, call by call: the result must contain the right facts.
 */
#include <poll.h>

#include "base/gpulock.h"
#include "run_rig.h"
#include "worker/watchdog.h"

static const struct result_call *judge(struct bench *b, const char *kernel)
{
    setup(b, kernel);
    return run(b);
}

static void an_honest_kernel(void **state)
{
    (void)state;
    struct bench b;
    const struct result_call *k = judge(&b, "good");
    assert_int_equal(b.res.status, RESULT_OK);
    assert_string_equal(b.res.device, "fake");
    assert_string_equal(b.res.printf_text, "said\n");
    assert_int_equal(b.res.ncounters, 1);
    assert_true(b.res.job_hash != 0);
    assert_int_equal(b.res.nonce, 4711);
    assert_int_equal(k->status, RESULT_OK);
    assert_true(k->inputs_intact && k->guards_intact && k->globals_intact);
    assert_int_equal(k->ncompares, 1);
    assert_int_equal(k->compares[0].n, N);
    assert_int_equal(k->compares[0].bad, 0);
    assert_true(k->compares[0].rms_ratio < 2);
    teardown(&b);
}

static void vices_become_facts(void **state)
{
    (void)state;
    struct bench b;
    const struct result_call *k = judge(&b, "past_end");
    assert_false(k->guards_intact);
    assert_non_null(strstr(k->damage, "past the end of 'y'"));
    teardown(&b);
    k = judge(&b, "before");
    assert_false(k->guards_intact);
    assert_non_null(strstr(k->damage, "1 bytes before the start of 'y'"));
    teardown(&b);
    k = judge(&b, "write_input");
    assert_false(k->inputs_intact);
    assert_non_null(strstr(k->damage, "'x'"));
    teardown(&b);
    k = judge(&b, "stateful");
    assert_false(k->globals_intact);
    assert_non_null(strstr(k->damage, "counter"));
    teardown(&b);
    k = judge(&b, "partial");
    assert_int_equal(k->compares[0].unwritten, 5);
    assert_non_null(strstr(k->compares[0].pattern, "the last 5 of 96"));
    teardown(&b);
    k = judge(&b, "constant");
    assert_true(k->compares[0].bad > N / 2);
    teardown(&b);
}

static void a_fault_ends_the_job_and_says_where(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "fault");
    b.c.ncalls = 2;
    b.calls[1] = b.calls[0];
    run(&b);
    assert_int_equal(b.res.status, RESULT_FAULT);
    assert_non_null(strstr(b.res.message, "kernel 'fault'"));
    assert_int_equal(b.res.cases[0].ncalls, 1);
    teardown(&b);
}

static void repeats_and_state(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "noisy");
    b.c.ncalls = 2;
    b.calls[1] = (struct job_call){0, JOB_CALL_REPEAT, 1, 3, -1, 0};
    const struct result_call *k = run(&b);
    assert_false(k[1].repeat_equal);
    teardown(&b);

    setup(&b, "good");
    b.c.ncalls = 2;
    b.calls[1] = (struct job_call){0, JOB_CALL_REPEAT, 1, 3, -1, 0};
    assert_true(run(&b)[1].repeat_equal);
    assert_int_equal(last->loads, 2); /* each call has a fresh module */
    teardown(&b);

    /* This kernel is right in a fresh module, and wrong if the module has made a call before. */
    setup(&b, "first_only");
    b.c.ncalls = 3;
    b.calls[1] = (struct job_call){0, JOB_CALL_VERIFY, 5, 3, -1, 0};
    b.calls[2] = (struct job_call){0, JOB_CALL_VERIFY | JOB_CALL_KEEP_STATE, 6, 3, -1, 0};
    k = run(&b);
    assert_int_equal(k[1].compares[0].bad, 0);
    assert_int_equal(k[2].compares[0].bad, 1);
    teardown(&b);
}

static void a_perturbed_call_has_its_own_truth(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    b.c.ncalls = 2;
    b.calls[1] = b.calls[0];
    b.calls[1].perturb_buffer = 0;
    b.calls[1].perturb_elem = 40;
    const struct result_call *k = run(&b);
    assert_int_equal(k[0].compares[0].bad + k[1].compares[0].bad, 0);
    assert_int_equal(last->truths, 2);
    teardown(&b);
}

static void data_from_a_file_and_a_dump(void **state)
{
    (void)state;
    struct bench b;
    float x[3] = {1, 2, 3}, y[N];
    setup(&b, "good");
    b.buffers[0].file = "x.bin";
    b.calls[0].flags = JOB_CALL_DUMP;
    bundle_write(b.dir, "x.bin", x, sizeof x, false, NULL);
    assert_int_equal(run(&b)->status, RESULT_OK);
    char *data;
    size_t len;
    assert_int_equal(bundle_read(b.dir, "dump.0.0.y.bin", sizeof y, &data, &len, NULL), 0);
    assert_int_equal(len, sizeof y);
    memcpy(y, data, sizeof y);
    free(data);
    assert_true(y[0] == 2 && y[2] == 4 && y[3] == 1 && y[N - 1] == 1);
    char *p = bundle_path(b.dir, "x.bin"), *q = bundle_path(b.dir, "dump.0.0.y.bin");
    unlink(p);
    unlink(q);
    free(p);
    free(q);
    teardown(&b);
}

static void a_missing_baseline_is_a_fact(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    b.modules[1].name = "missing";
    b.c.timing = (struct job_timing){4, 4, 0, 0.01, 77, false};
    b.job.limits.measure_ns = 1000000000u;
    run(&b);
    assert_int_equal(b.res.status, RESULT_OK);
    assert_int_equal(b.res.modules[1].status, RESULT_LOAD_FAILED);
    assert_string_equal(b.res.modules[1].message, "no such module");
    teardown(&b);
}

/* The result has counters only of the candidate, not of a baseline's call. The counters name their
 * case. They contain nothing of earlier calls that did not ask for counters. */
static void counters_are_the_candidates(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    b.c.ncalls = 3;
    b.calls[1] = (struct job_call){1, JOB_CALL_COUNT, 5, 3, -1, 0};
    b.calls[2] = (struct job_call){0, 0, 6, 3, -1, 0};
    struct job_case cases[2] = {b.c, b.c};
    struct job_call counted = {0, JOB_CALL_COUNT, 7, 3, -1, 0};
    cases[1].name = "smoke:1";
    cases[1].ncalls = 1;
    cases[1].calls = &counted;
    b.job.ncases = 2;
    b.job.cases = cases;
    run(&b);
    assert_int_equal(b.res.ncounters, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(b.res.counters[i].case_index, i);
        assert_true(b.res.counters[i].value == 5);
    }
    teardown(&b);
}

/* The worker can verify the outputs of a baseline, as it does for the candidate. */
static void a_baseline_is_verified(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    b.launch[1].kernel = "partial";
    b.c.ncalls = 2;
    b.calls[1] = (struct job_call){1, JOB_CALL_VERIFY, 5, 3, -1, 0};
    run(&b);
    assert_int_equal(b.res.status, RESULT_OK);
    assert_int_equal(b.res.cases[0].calls[0].compares[0].unwritten, 0);
    assert_int_equal(b.res.cases[0].calls[1].ncompares, 1);
    assert_int_equal(b.res.cases[0].calls[1].compares[0].unwritten, 5);
    teardown(&b);
}

/* With programmatic dependent launch (pdl), a launch may overlap with the one before it. The worker
 * allows this for a baseline, but not for a candidate. */
static void only_baselines_launch_early(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    b.launch[0].pdl = true;
    run(&b);
    assert_int_equal(b.res.status, RESULT_OK);
    assert_int_equal(last->pdl, 0);
    teardown(&b);
    setup(&b, "good");
    b.launch[0].pdl = b.launch[1].pdl = true;
    b.c.ncalls = 2;
    b.calls[1] = (struct job_call){1, JOB_CALL_VERIFY, 5, 3, -1, 0};
    run(&b);
    assert_int_equal(b.res.status, RESULT_OK);
    assert_int_equal(last->pdl, 1);
    teardown(&b);
}

static void a_torch_baseline_answers_in_lock_step(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    use_python(&b, "ok 4321.5");
    const struct result_call *k = run(&b);
    assert_int_equal(b.res.status, RESULT_OK);
    assert_int_equal(b.res.modules[1].status, RESULT_OK);
    assert_string_equal(b.res.modules[1].message, "Fake 1.0");
    assert_true(k[1].time_ns == 4321.5);
    char *asked;
    size_t len;
    assert_int_equal(bundle_read(b.dir, "asked", 1 << 16, &asked, &len, NULL), 0);
    assert_non_null(strstr(asked, "\"source\": \"x + \\\"1\\\"\", \"mode\": \"eager\""));
    assert_non_null(strstr(asked, "\"axes\": {\"N\": 96}, \"scalars\": {\"eps\": 0.5}"));
    assert_non_null(strstr(asked, "\"role\": \"output\", \"dtype\": \"float32\", \"shape\": [96]"));
    assert_non_null(strstr(asked, "\"offset\": 512"));
    free(asked);
    drop_python(&b);
    teardown(&b);
}

/* The sidecar runs the variant that the job's spec names as its mode. A spec without a header has
 * no mode; then the name of the baseline decides. */
static void a_torch_variant_has_its_mode(void **state)
{
    (void)state;
    static const struct {
        const char *name, *spec, *want;
    } cases[] = {
        {"torch.high", "axes N\nscalars eps\nmode high\ntf32 0\n\nx",
         "\"mode\": \"high\", \"tf32\""},
        {"torch.max-autotune", "x", "\"mode\": \"max-autotune\", \"tf32\""},
        {"other", "x", "\"mode\": \"eager\", \"tf32\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct bench b;
        char *asked;
        size_t len;
        setup(&b, "good");
        use_python(&b, "ok 4321.5");
        b.modules[1].name = cases[i].name;
        b.modules[1].spec = cases[i].spec;
        run(&b);
        assert_int_equal(b.res.modules[1].status, RESULT_OK);
        assert_int_equal(bundle_read(b.dir, "asked", 1 << 16, &asked, &len, NULL), 0);
        if (!strstr(asked, cases[i].want))
            fail_msg("no '%s' in: %s", cases[i].want, asked);
        free(asked);
        drop_python(&b);
        teardown(&b);
    }
}

static void a_torch_baseline_that_fails_is_a_fact(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    use_python(&b, "error NameError: no such thing");
    run(&b);
    assert_int_equal(b.res.status, RESULT_OK);
    assert_int_equal(b.res.modules[1].status, RESULT_LOAD_FAILED);
    assert_string_equal(b.res.modules[1].message, "PyTorch: NameError: no such thing");
    drop_python(&b);
    teardown(&b);
    setup(&b, "good");
    use_python(&b, "");
    setenv("HONE_PYTHON", "/nonexistent/python", 1);
    run(&b);
    assert_int_equal(b.res.status, RESULT_OK);
    assert_non_null(strstr(b.res.modules[1].message, "is there a python3 with PyTorch"));
    drop_python(&b);
    teardown(&b);
}

static void a_workspace_that_does_not_fit_is_the_candidates(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    b.c.nbuffers = 3;
    b.buffers[2] =
        (struct job_buffer){.name = "ws", .role = JOB_WORKSPACE, .bytes = 1 << 21, .align = 256};
    run(&b); /* a buffer that the program does not use is not allocated */
    assert_int_equal(b.res.status, RESULT_OK);
    teardown(&b);
    setup(&b, "good");
    b.c.nbuffers = 3;
    b.buffers[2] =
        (struct job_buffer){.name = "ws", .role = JOB_WORKSPACE, .bytes = 1 << 21, .align = 256};
    struct job_arg three[3] = {b.args[0], b.args[1], {JOB_ARG_BUFFER, 2, {0}, 8}};
    b.launch[0].nargs = 3;
    b.launch[0].args = three;
    run(&b);
    assert_int_equal(b.res.status, RESULT_OOM);
    teardown(&b);
}

static bool file_holds(const char *dir, const char *name, const char *text)
{
    char *data = NULL;
    size_t len = 0;
    bool holds = bundle_read(dir, name, RESULT_MAX_BYTES, &data, &len, NULL) == 0 &&
                 memmem(data, len, text, strlen(text));
    free(data);
    return holds;
}

/* While another process holds the GPU, the worker lets the sidecar import PyTorch, but does not use
 * the GPU. */
static void a_worker_waits_for_its_gpu(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "good");
    use_python(&b, "ok 4321.5");
    b.job.device = JOB_CUDA;
    setenv("HONE_GPU_LOCK_DIR", b.dir, 1);
    write_job(&b);
    int lock = gpu_lock(0);
    assert_true(lock >= 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(lock);
        _exit(run_bundle(b.dir, fake_open, true, NULL) < 0);
    }
    for (int i = 0; i < 3000 && !file_holds(b.dir, "progress.bin", "until the GPU is free"); i++)
        poll(NULL, 0, 10);
    assert_true(file_holds(b.dir, "asked", "\"load\""));
    assert_false(file_holds(b.dir, "asked", "\"open\""));
    assert_false(file_holds(b.dir, "result.bin", ""));
    gpu_unlock(lock);
    int st;
    assert_int_equal(waitpid(pid, &st, 0), pid);
    assert_true(WIFEXITED(st) && WEXITSTATUS(st) == 0);
    assert_true(file_holds(b.dir, "asked", "\"open\""));
    read_result(&b);
    assert_int_equal(b.res.status, RESULT_OK);
    char *path = bundle_path(b.dir, "hone-gpu-0.lock");
    unlink(path);
    free(path);
    unsetenv("HONE_GPU_LOCK_DIR");
    drop_python(&b);
    teardown(&b);
}

static void a_hang_is_written_down(void **state)
{
    (void)state;
    struct bench b;
    setup(&b, "slow");
    b.job.device = JOB_CUDA;
    b.job.limits.call_ns = 1; /* the watchdog adds some time to this */
    write_job(&b);
    uint64_t t = now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        run_bundle(b.dir, fake_open, false, NULL);
        _exit(9);
    }
    int st;
    assert_int_equal(waitpid(pid, &st, 0), pid);
    assert_true(WIFEXITED(st) && WEXITSTATUS(st) == 0);
    assert_true(now_ns() - t < 30000000000u);
    read_result(&b);
    assert_int_equal(b.res.status, RESULT_HANG);
    assert_non_null(strstr(b.res.message, "case 'smoke:0', call 0 of 'candidate'"));
    assert_non_null(strstr(b.res.message, "'slow'"));
    teardown(&b);
}

/* Starts a process with a watchdog, and gives the watchdog a snapshot that it should save later.
 * Then the process crashes, or goes on for a while. Returns its status as waitpid() gives it. */
static int with_snapshot(const char *dir, bool crash)
{
    int st;
    pid_t pid = fork();
    if (pid == 0) {
        struct watchdog *w;
        watchdog_start(&w, dir, 60000000000u, 60000000000u, NULL);
        watchdog_snapshot(w, "so far", 6, true);
        if (crash)
            raise(SIGSEGV);
        usleep(300000);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &st, 0), pid);
    return st;
}

/* AddressSanitizer handles crashes itself, so with it the test makes no crash. */
#ifdef __SANITIZE_ADDRESS__
enum { CRASHES = 1 };
#else
enum { CRASHES = 2 };
#endif

/* The watchdog does not save a snapshot at once. It saves the snapshot only if a call takes long,
 * or if the process crashes. */
static void an_unsaved_snapshot_is_saved_in_time(void **state)
{
    (void)state;
    struct bench b;
    char *data;
    size_t len;
    setup(&b, "good");
    for (int crash = 0; crash < CRASHES; crash++) {
        int st = with_snapshot(b.dir, crash);
        assert_true(crash ? WIFSIGNALED(st) && WTERMSIG(st) == SIGSEGV : WIFEXITED(st));
        assert_int_equal(bundle_read(b.dir, "progress.bin", 100, &data, &len, NULL), 0);
        assert_int_equal(len, 6);
        assert_memory_equal(data, "so far", 6);
        free(data);
        char *path = bundle_path(b.dir, "progress.bin");
        unlink(path);
        free(path);
    }
    teardown(&b);
}

static void garbage_is_no_job(void **state)
{
    (void)state;
    struct bench b;
    struct err err = ERR_INIT;
    setup(&b, "good");
    assert_int_equal(run_bundle(b.dir, fake_open, false, &err), -1);
    bundle_write(b.dir, "job.bin", "hello", 5, false, &err);
    assert_int_equal(run_bundle(b.dir, fake_open, false, &err), -1);
    assert_non_null(strstr(err.msg, "not a job"));
    teardown(&b);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as hone-worker does */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_honest_kernel),
        cmocka_unit_test(vices_become_facts),
        cmocka_unit_test(a_fault_ends_the_job_and_says_where),
        cmocka_unit_test(repeats_and_state),
        cmocka_unit_test(a_perturbed_call_has_its_own_truth),
        cmocka_unit_test(data_from_a_file_and_a_dump),
        cmocka_unit_test(a_missing_baseline_is_a_fact),
        cmocka_unit_test(counters_are_the_candidates),
        cmocka_unit_test(a_baseline_is_verified),
        cmocka_unit_test(only_baselines_launch_early),
        cmocka_unit_test(a_torch_baseline_answers_in_lock_step),
        cmocka_unit_test(a_torch_variant_has_its_mode),
        cmocka_unit_test(a_torch_baseline_that_fails_is_a_fact),
        cmocka_unit_test(a_workspace_that_does_not_fit_is_the_candidates),
        cmocka_unit_test(a_worker_waits_for_its_gpu),
        cmocka_unit_test(a_hang_is_written_down),
        cmocka_unit_test(an_unsaved_snapshot_is_saved_in_time),
        cmocka_unit_test(garbage_is_no_job),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    free(last);
    return rc;
}
