/* Tests the ranks of hone-gnn: their sums and means, and that all ranks end when one fails. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "gnn/comm/launch.h"
#include "sys/file.h"

/* Returns element i of rank r in call k. A sum of a few such elements is exact in float and in
 * double. */
static float element(int r, int64_t i, int k)
{
    return (float)((r + 1) * 7 + i % 13 + k);
}

static double weight(int r, int k)
{
    return (r + k) % 3; /* 0 for some ranks */
}

/* Calls comm_reduce() for n elements, and checks the sums and the means. `k` is the number of the
 * call. If something is wrong, returns an error and does not assert, because this function runs in
 * a forked process. */
static int check_call(struct comm *c, int64_t n, int k, struct err *err)
{
    int ranks = comm_ranks(c), rank = comm_rank(c);
    double sums[3] = {weight(rank, k), rank, 1}, total = 0;
    float *x = xmalloc((size_t)MAX(n, 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = weight(rank, k) > 0 ? element(rank, i, k) : (float)(0.0 / 0.0);
    int rc = comm_reduce(c, sums, 3, x, n, err);
    for (int r = 0; r < ranks; r++)
        total += weight(r, k);
    if (rc == 0 && (sums[0] != total || sums[1] != ranks * (ranks - 1) / 2.0 || sums[2] != ranks))
        rc = err_set(err, ERR_INTERNAL, "wrong sums in call %d", k);
    for (int64_t i = 0; rc == 0 && i < n; i++) {
        double want = 0;
        for (int r = 0; r < ranks; r++)
            want += weight(r, k) * (double)element(r, i, k);
        if (x[i] != (total > 0 ? (float)(want / total) : 0))
            rc = err_set(err, ERR_INTERNAL, "wrong mean of element %d in call %d", (int)i, k);
    }
    free(x);
    return rc;
}

enum { REALS = 1000 };

static int many_calls(void *ctx, struct comm *c, struct err *err)
{
    static const int64_t sizes[] = {REALS, 1, 0, 3, 17, 999};
    (void)ctx;
    for (int k = 0; k < 300; k++)
        if (check_call(c, sizes[k % ARRAY_LEN(sizes)], k, err) < 0)
            return -1;
    return 0;
}

static void all_ranks_get_the_weighted_mean(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 5; ranks++) {
        struct comm *c;
        struct err err = ERR_INIT;
        assert_int_equal(comm_open_shared(&c, ranks, REALS, &err), 0);
        if (launch_ranks(c, many_calls, NULL, &err) < 0)
            fail_msg("%d ranks: %s", ranks, err.msg);
        comm_close(c);
    }
}

static void one_process_needs_no_comm(void **state)
{
    (void)state;
    double sums[] = {2, 5};
    float x[] = {1, 2, 3};
    assert_int_equal(comm_reduce(NULL, sums, 2, x, 3, NULL), 0);
    assert_true(sums[0] == 2 && sums[1] == 5 && x[2] == 3);
    assert_int_equal(comm_rank(NULL), 0);
    assert_int_equal(comm_ranks(NULL), 1);
}

/* ---- failures -------------------------------------------------------------------------------- */

enum how { RETURNS_ERROR, IS_KILLED, EXITS };

/* Runs in each rank. Rank 1 ends in the way that `ctx` names. The other ranks wait for it in
 * comm_reduce(). */
static int one_fails(void *ctx, struct comm *c, struct err *err)
{
    double sum = 1;
    if (comm_rank(c) == 1) {
        enum how how = *(enum how *)ctx;
        if (how == IS_KILLED)
            raise(SIGKILL);
        if (how == EXITS)
            _exit(7);
        return err_set(err, ERR_INPUT, "label 9 of node 4");
    }
    return comm_reduce(c, &sum, 1, NULL, 0, err);
}

static void a_failing_rank_ends_all(void **state)
{
    (void)state;
    static const char *const want[] = {[RETURNS_ERROR] = "rank 1: label 9 of node 4",
                                       [IS_KILLED] = "rank 1 was ended by signal 9",
                                       [EXITS] = "rank 1 ended with status 7"};
    for (enum how how = RETURNS_ERROR; how <= EXITS; how++) {
        struct comm *c;
        struct err err = ERR_INIT;
        uint64_t start = now_ns();
        assert_int_equal(comm_open_shared(&c, 3, 0, &err), 0);
        assert_int_equal(launch_ranks(c, one_fails, &how, &err), -1);
        assert_non_null(strstr(err.msg, want[how]));
        assert_true(now_ns() - start < 20000000000u);
        comm_close(c);
    }
}

static int says_that_another_stopped(void *ctx, struct comm *c, struct err *err)
{
    double sum = 1;
    (void)ctx;
    int rc = comm_reduce(c, &sum, 1, NULL, 0, err);
    if (comm_rank(c) != 2)
        return rc < 0 ? rc : err_set(err, ERR_LIMIT, COMM_STOPPED);
    usleep(100000);
    return err_set(err, ERR_INPUT, "the disk is full");
}

static void the_first_cause_is_reported(void **state)
{
    (void)state;
    struct comm *c;
    struct err err = ERR_INIT;
    assert_int_equal(comm_open_shared(&c, 3, 0, &err), 0);
    assert_int_equal(launch_ranks(c, says_that_another_stopped, NULL, &err), -1);
    assert_string_equal(err.msg, "rank 2: the disk is full");
    comm_close(c);
}

/* ---- ranks of srun --------------------------------------------------------------------------- */

static struct temp_dir dir;

/* Sets the environment that srun gives to a rank, and joins the other ranks. */
static int join(struct comm **out, int rank, int ranks, struct err *err)
{
    char number[16];
    snprintf(number, sizeof number, "%d", rank);
    setenv("SLURM_PROCID", number, 1);
    snprintf(number, sizeof number, "%d", ranks);
    setenv("SLURM_STEP_NUM_TASKS", number, 1);
    setenv("SLURM_JOB_ID", "5", 1);
    setenv("SLURM_STEP_ID", "0", 1);
    if (chdir(dir.path) < 0)
        return err_errno(err, "chdir");
    return comm_wanted() ? comm_join(out, err) : err_set(err, ERR_INTERNAL, "not wanted");
}

static int calls_under_srun(void *ctx, struct comm *c, struct err *err)
{
    struct comm *joined = NULL;
    int rank = comm_rank(c);
    if (rank == 0)
        usleep(200000); /* the others look for the file of rank 0, and find an old one */
    int rc = join(&joined, rank, comm_ranks(c), err);
    rc = rc < 0 ? rc : many_calls(ctx, joined, err);
    comm_close(joined);
    return rc;
}

static void ranks_of_srun_find_each_other(void **state)
{
    (void)state;
    static const char old[] = "00000000000000000000000000000000 gone 9 127.0.0.1\n";
    char path[4096];
    assert_int_equal(temp_dir_make(&dir, NULL), 0);
    snprintf(path, sizeof path, "%s/.hone-gnn-5.0.0", dir.path);
    for (int ranks = 2; ranks <= 5; ranks++) {
        struct comm *c;
        struct err err = ERR_INIT;
        assert_int_equal(file_write(path, old, strlen(old), &err), 0);
        assert_int_equal(comm_open_shared(&c, ranks, 0, &err), 0);
        if (launch_ranks(c, calls_under_srun, NULL, &err) < 0)
            fail_msg("%d ranks: %s", ranks, err.msg);
        comm_close(c);
        assert_false(file_exists(path));
    }
    temp_dir_release(&dir);
}

/* Runs in each rank. Rank 1 ends without an error, so nobody tells the others. Ranks 0 and 2 must
 * notice it by themselves. */
static int one_ends_under_srun(void *ctx, struct comm *c, struct err *err)
{
    struct comm *joined = NULL;
    struct err why = ERR_INIT;
    double sum = 1;
    (void)ctx;
    if (join(&joined, comm_rank(c), comm_ranks(c), err) < 0)
        return -1;
    if (comm_rank(c) == 1) {
        comm_close(joined);
        return 0;
    }
    int rc = comm_reduce(joined, &sum, 1, NULL, 0, &why);
    comm_close(joined);
    return rc < 0 && strstr(why.msg, " ended") ? 0 : err_set(err, ERR_INTERNAL, "got %d", rc);
}

static void a_rank_of_srun_that_ends_stops_the_others(void **state)
{
    (void)state;
    struct comm *c;
    struct err err = ERR_INIT;
    assert_int_equal(temp_dir_make(&dir, NULL), 0);
    assert_int_equal(comm_open_shared(&c, 3, 0, &err), 0);
    if (launch_ranks(c, one_ends_under_srun, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    comm_close(c);
    temp_dir_release(&dir);
}

/* Connects to rank 0 `n` times and sends nothing. */
static int connect_silently(int n, struct err *err)
{
    char path[4096], text[1000];
    unsigned port = 0;
    snprintf(path, sizeof path, "%s/.hone-gnn-5.0.0", dir.path);
    for (int i = 0; i < 1000 && !port; i++) {
        FILE *f = fopen(path, "r");
        if (f && fgets(text, sizeof text, f))
            sscanf(text, "%*s %*s %u", &port);
        if (f)
            fclose(f);
        usleep(10000);
    }
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < n; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
            return err_errno(err, "cannot connect to rank 0");
    }
    return 0;
}

static int joins_after_strangers(void *ctx, struct comm *c, struct err *err)
{
    struct comm *joined = NULL;
    int rank = comm_rank(c), rc = 0;
    if (rank == 1)
        rc = connect_silently(20, err);
    rc = rc < 0 ? rc : join(&joined, rank, comm_ranks(c), err);
    rc = rc < 0 ? rc : many_calls(ctx, joined, err);
    comm_close(joined);
    return rc;
}

/* Connections from other programs that send nothing do not keep the ranks waiting. */
static void strangers_keep_no_rank_waiting(void **state)
{
    (void)state;
    struct comm *c;
    struct err err = ERR_INIT;
    uint64_t begun = now_ns();
    assert_int_equal(temp_dir_make(&dir, NULL), 0);
    assert_int_equal(comm_open_shared(&c, 2, 0, &err), 0);
    if (launch_ranks(c, joins_after_strangers, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    assert_true(now_ns() - begun < UINT64_C(20000000000));
    comm_close(c);
    temp_dir_release(&dir);
}

static void a_rank_must_be_a_number(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "x", "1x", "-1", "2", "99999999999999999999"};
    setenv("SLURM_STEP_NUM_TASKS", "2", 1);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct comm *c;
        struct err err = ERR_INIT;
        setenv("SLURM_PROCID", bad[i], 1);
        assert_true(comm_wanted());
        assert_int_equal(comm_join(&c, &err), -1);
        assert_non_null(strstr(err.msg, "SLURM_PROCID is '"));
    }
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_STEP_NUM_TASKS", "", 1);
    assert_false(comm_wanted());
    unsetenv("SLURM_PROCID");
    unsetenv("SLURM_STEP_NUM_TASKS");
}

static void the_script_of_sbatch_is_no_rank(void **state)
{
    (void)state;
    unsetenv("SLURM_STEP_NUM_TASKS");
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "2", 1);
    assert_false(comm_wanted());
    unsetenv("SLURM_PROCID");
    unsetenv("SLURM_NTASKS");
}

static void bad_numbers_of_ranks_are_refused(void **state)
{
    (void)state;
    struct comm *c;
    struct err err = ERR_INIT;
    assert_int_equal(comm_open_shared(&c, 0, 1, &err), -1);
    assert_int_equal(comm_open_shared(&c, COMM_MAX_RANKS + 1, 1, &err), -1);
    assert_non_null(strstr(err.msg, "1 to 1024"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_get_the_weighted_mean),
        cmocka_unit_test(one_process_needs_no_comm),
        cmocka_unit_test(a_failing_rank_ends_all),
        cmocka_unit_test(the_first_cause_is_reported),
        cmocka_unit_test(ranks_of_srun_find_each_other),
        cmocka_unit_test(a_rank_of_srun_that_ends_stops_the_others),
        cmocka_unit_test(strangers_keep_no_rank_waiting),
        cmocka_unit_test(a_rank_must_be_a_number),
        cmocka_unit_test(the_script_of_sbatch_is_no_rank),
        cmocka_unit_test(bad_numbers_of_ranks_are_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
