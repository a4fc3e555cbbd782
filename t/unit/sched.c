/*
 * Tests the scheduler: it reports the progress of a worker that runs here or takes bundles from a
 * spool, and it can start a local worker under another program, such as a profiler.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/util.h"
#include "job/result.h"
#include "sched/sched.h"
#include "sys/file.h"

static struct temp_dir dir;

static char *in(const char *name)
{
    return xasprintf("%s/%s", dir.path, name);
}

static void put(const char *name, const void *data, size_t len, unsigned mode)
{
    char *path = in(name);
    assert_int_equal(file_write_mode(path, data, len, mode, NULL), 0);
    free(path);
}

static void write_progress(const char *name, const char *message)
{
    struct strbuf sb = STRBUF_INIT(1 << 16);
    struct result r = {.status = RESULT_NOT_RUN,
                       .message = message,
                       .device = "",
                       .driver = "",
                       .printf_text = ""};
    result_write(&r, &sb);
    put(name, sb.buf, sb.len, 0644);
    strbuf_release(&sb);
}

static void expect_progress(struct sched *s, uint64_t ticket, const char *want)
{
    struct strbuf sb = STRBUF_INIT(1000);
    sched_progress(s, ticket, &sb);
    assert_string_equal(sb.buf, want);
    strbuf_release(&sb);
}

static int setup(void **state)
{
    (void)state;
    return temp_dir_make(&dir, NULL);
}

static int teardown(void **state)
{
    (void)state;
    temp_dir_release(&dir);
    return 0;
}

static void use_worker(const char *script)
{
    put("worker", script, strlen(script), 0755);
    char *path = in("worker");
    setenv("HONE_WORKER", path, 1);
    free(path);
}

static void a_local_worker_is_watched(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct sched *s;
    struct sched_done d;
    uint64_t ticket;
    char *bundle = in("bundle");
    use_worker("#!/bin/sh\ntouch $1/begun\nwhile [ ! -e $1/go ]; do sleep 0.02; done\n");
    assert_int_equal(dir_make(bundle, &err), 0);
    assert_int_equal(sched_open(&s, "local", 1, -1, &err), 0);
    assert_int_equal(sched_submit(s, bundle, 20000000000u, NULL, &ticket, &err), 0);
    expect_progress(s, ticket, ""); /* the worker has written no progress yet */
    write_progress("bundle/progress.bin", "did not finish: case 'check:1', call 2");
    expect_progress(s, ticket, ": case 'check:1', call 2");
    put("bundle/progress.bin", "torn", 4, 0644);
    expect_progress(s, ticket, "");
    expect_progress(s, ticket + 1, "");
    put("bundle/go", "", 0, 0644);
    int rc;
    while ((rc = sched_wait(s, 1000000000, &d, &err)) == 0)
        ;
    assert_int_equal(rc, 1);
    assert_int_equal(d.exit_code, 0);
    sched_close(s);
    free(bundle);
}

/* Runs a bundle on GPU 0, with a script as the worker, and waits for its end. The script writes to
 * BUNDLE/turn: a number that grows while it waits for the GPU, and the time when it got the GPU, or
 * 0. */
static struct sched_done run_on_gpu(const char *script, uint64_t wall_ns)
{
    struct err err = ERR_INIT;
    struct sched *s;
    struct sched_done d = {.ticket = 0};
    uint64_t ticket, until = now_ns() + UINT64_C(60000000000);
    char *bundle = in("bundle");
    use_worker(script);
    assert_int_equal(dir_make(bundle, &err), 0);
    assert_int_equal(sched_open(&s, "local", 1, 0, &err), 0);
    assert_int_equal(sched_submit(s, bundle, wall_ns, NULL, &ticket, &err), 0);
    int rc = 0;
    while (rc == 0 && now_ns() < until)
        rc = sched_wait(s, 1000000000, &d, &err);
    assert_int_equal(rc, 1);
    sched_close(s);
    free(bundle);
    return d;
}

/* Hone starts a worker with `--lock BUNDLE`, so $2 is the bundle. */
static void the_time_of_a_bundle_begins_with_its_gpu(void **state)
{
    (void)state;
    /* The worker waits 1 s for the GPU, and then has it for 0.2 s. */
    struct sched_done d = run_on_gpu(
        "#!/bin/sh\necho 1 0 >$2/turn\nsleep 1\n"
        "perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e "
        "'printf \"1 %d\\n\", 1e9 * clock_gettime(CLOCK_MONOTONIC)' >$2/turn\nsleep 0.2\n",
        20000000000u);
    assert_false(d.timed_out);
    assert_in_range(d.wall_ns, 100000000, 900000000);
}

static void a_stopped_worker_of_a_gpu_is_ended(void **state)
{
    (void)state;
    /* The worker got the GPU long ago and was stopped. */
    struct sched_done d = run_on_gpu("#!/bin/sh\necho 1 1 >$2/turn\nkill -STOP $$\n", 100000000);
    assert_true(d.timed_out);
    /* The worker was stopped while it waited. */
    d = run_on_gpu("#!/bin/sh\necho 1 0 >$2/turn\nkill -STOP $$\n", 500000000);
    assert_true(d.timed_out);
    assert_int_equal(d.wall_ns, 0);
    /* The worker waits for longer than its job may run, but shows that it still waits. */
    d = run_on_gpu("#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8; do echo $i 0 >$2/turn; sleep 0.2; done\n",
                   1000000000);
    assert_false(d.timed_out);
}

static void a_program_stands_around_the_worker(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct sched *s;
    struct sched_done d;
    uint64_t ticket;
    char *bundle = in("bundle"), *seen = in("bundle/under");
    use_worker("#!/bin/sh\ntouch $1/result.bin\n");
    const char *const under[] = {"/bin/sh", "-c", "touch \"$2/under\"; exec \"$@\"", "sh", NULL};
    assert_int_equal(dir_make(bundle, &err), 0);
    assert_int_equal(sched_open(&s, "local", 1, -1, &err), 0);
    assert_int_equal(sched_submit(s, bundle, 20000000000u, under, &ticket, &err), 0);
    int rc;
    while ((rc = sched_wait(s, 1000000000, &d, &err)) == 0)
        ;
    assert_int_equal(rc, 1);
    assert_true(d.have_result && file_exists(seen));
    sched_close(s);

    char *spool = xasprintf("spool:%s/spool", dir.path);
    assert_int_equal(sched_open(&s, spool, 1, -1, &err), 0);
    assert_int_equal(sched_submit(s, bundle, 0, under, &ticket, &err), -1);
    assert_non_null(strstr(err.msg, "spool"));
    sched_close(s);
    free(spool);
    free(seen);
    free(bundle);
}

static void a_spooled_bundle_is_watched(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct sched *s;
    struct name_vec names = VEC_INIT;
    uint64_t ticket;
    char *bundle = in("bundle"), *todo = in("spool/todo");
    char *spool = xasprintf("spool:%s/spool", dir.path);
    assert_int_equal(dir_make(bundle, &err), 0);
    put("bundle/job.bin", "job", 3, 0644);
    assert_int_equal(sched_open(&s, spool, 1, -1, &err), 0);
    assert_int_equal(sched_submit(s, bundle, 0, NULL, &ticket, &err), 0);
    expect_progress(s, ticket, "");
    assert_int_equal(dir_list(todo, &names, &err), 0);
    assert_int_equal(names.n, 1);
    char *from = xasprintf("%s/%s", todo, names.items[0]);
    char *to = xasprintf("%s/spool/claimed/%s.host-1", dir.path, names.items[0]);
    assert_int_equal(rename(from, to), 0);
    char *at = xasprintf("spool/claimed/%s.host-1/progress.bin", names.items[0]);
    write_progress(at, "did not finish: computing the truth");
    expect_progress(s, ticket, ": computing the truth");
    name_vec_release(&names);
    sched_close(s);
    free(at);
    free(from);
    free(to);
    free(spool);
    free(todo);
    free(bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_local_worker_is_watched, setup, teardown),
        cmocka_unit_test_setup_teardown(the_time_of_a_bundle_begins_with_its_gpu, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stopped_worker_of_a_gpu_is_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(a_program_stands_around_the_worker, setup, teardown),
        cmocka_unit_test_setup_teardown(a_spooled_bundle_is_watched, setup, teardown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
