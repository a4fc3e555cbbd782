/* Tests processes that share the pieces of a job: each piece is done once, failures are reported,
 * and no child process stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "sys/pool.h"

enum { PIECES = 500 };

struct job {
    uint32_t *turns; /* shared: how often a child took each piece */
    pid_t *worked;   /* shared: who did the piece */
    uint32_t told[PIECES];
    uint32_t spoilt; /* a child fails at this piece */
    int how;         /* its exit status, or -(signal) */
};

static int work(struct pool_turn *turn, void *ctx)
{
    struct job *j = ctx;
    for (uint32_t i; pool_next(turn, &i);) {
        __atomic_fetch_add(&j->turns[i], 1, __ATOMIC_SEQ_CST);
        j->worked[i] = getpid();
        if (i == j->spoilt && j->how < 0)
            kill(getpid(), -j->how);
        if (i == j->spoilt)
            return j->how;
        usleep(200);
        pool_done(turn, i);
    }
    return 0;
}

static void on_done(uint32_t i, void *ctx)
{
    ((struct job *)ctx)->told[i]++;
}

static struct job make_job(void)
{
    size_t bytes = PIECES * (sizeof(uint32_t) + sizeof(pid_t));
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    return (struct job){
        .turns = shared, .worked = (pid_t *)((uint32_t *)shared + PIECES), .spoilt = UINT32_MAX};
}

static int run(struct job *j, uint32_t jobs, uint32_t pieces, struct err *err)
{
    return pool_run(
        &(struct pool){.jobs = jobs, .pieces = pieces, .work = work, .on_done = on_done, .ctx = j},
        err);
}

static void assert_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void test_each_piece_once(void **state)
{
    struct job j = make_job();
    struct err err = ERR_INIT;
    bool several = false;
    assert_int_equal(run(&j, 4, PIECES, &err), 0);
    for (uint32_t i = 0; i < PIECES; i++) {
        assert_int_equal(j.turns[i], 1);
        assert_int_equal(j.told[i], 1);
        assert_int_not_equal(j.worked[i], getpid());
        several |= j.worked[i] != j.worked[0];
    }
    assert_true(several);
    assert_no_child();
    munmap(j.turns, PIECES * (sizeof(uint32_t) + sizeof(pid_t)));
}

static void test_more_jobs_than_pieces(void **state)
{
    struct job j = make_job();
    struct err err = ERR_INIT;
    assert_int_equal(run(&j, 64, 2, &err), 0);
    assert_int_equal(j.told[0] + j.told[1], 2);
    assert_int_equal(run(&j, 0, 1, &err), 0); /* at least one process runs */
    assert_int_equal(j.told[0], 2);
    assert_int_equal(run(&j, 3, 0, &err), 0);
    assert_no_child();
    munmap(j.turns, PIECES * (sizeof(uint32_t) + sizeof(pid_t)));
}

static void test_failures(void **state)
{
    for (int how = 3; how != 0; how = how > 0 ? -SIGKILL : 0) {
        struct job j = make_job();
        struct err err = ERR_INIT;
        j.spoilt = 7;
        j.how = how;
        assert_int_equal(run(&j, 2, PIECES, &err), -1);
        assert_non_null(strstr(err.msg, how > 0 ? "status 3" : "signal 9"));
        assert_int_equal(j.told[7], 0);
        assert_int_equal(j.told[PIECES - 1], 1); /* the other child did the rest */
        assert_no_child();
        munmap(j.turns, PIECES * (sizeof(uint32_t) + sizeof(pid_t)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_piece_once),
        cmocka_unit_test(test_more_jobs_than_pieces),
        cmocka_unit_test(test_failures),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
