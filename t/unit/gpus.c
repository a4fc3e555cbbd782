/*
 * Tests a machine with several GPUs. The emulator plays each GPU. Hone starts a script in place of
 * hone-worker. The script makes GPU 1 10% slower. In place of GPU 2's worker it takes a bundle and
 * kills itself. On the other GPUs it starts the real worker. GPU 3 is busy: the test holds its
 * lock.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/gpulock.h"
#include "base/util.h"
#include "eval/eval.h"
#include "sys/file.h"
#include "task/task.h"

static struct temp_dir dir;
static char *worker; /* the path of the real hone-worker */
static struct task *task;
static struct strbuf source;
static struct strbuf said; /* what Hone printed */

static int setup(void **state)
{
    (void)state;
    struct problem_vec problems = VEC_INIT;
    struct strbuf self = STRBUF_INIT(4096);
    if (temp_dir_make(&dir, NULL) < 0 || self_dir(&self, NULL) < 0)
        return -1;
    worker = xasprintf("%s/../hone-worker", self.buf);
    strbuf_release(&self);
    char *build = xasprintf("cc -std=gnu17 -shared -fPIC -o %s/libnvidia-ml.so.1 "
                            "t/fake/libnvidia-ml.c",
                            dir.path);
    int rc = system(build);
    free(build);
    if (rc != 0)
        return -1;
    setenv("LD_LIBRARY_PATH", dir.path, 1); /* for the workers */
    setenv("HONE_WORKER", worker, 1);
    setenv("HONE_GPU_LOCK_DIR", dir.path, 1);
    setenv("HONE_CACHE_DIR", dir.path, 1);
    task = task_find("t/cases/gpus", &problems);
    strbuf_init(&source, 4096);
    strbuf_init(&said, 1 << 20);
    for (size_t i = 0; i < problems.n; i++)
        print_message("# %s\n", problems.items[i].text);
    return task && file_read("t/cases/gpus/naive.cu", 4096, &source, NULL) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    task_free(task);
    strbuf_release(&source);
    strbuf_release(&said);
    free(worker);
    temp_dir_release(&dir);
    return 0;
}

/* Sets HONE_WORKER to a script that runs `body` and then the real worker. In `body`, `$gpu` is the
 * number of the GPU, and `$spool` the path of the spool. */
static void use_script(const char *body)
{
    char *path = xasprintf("%s/worker.sh", dir.path);
    char *text = xasprintf("#!/bin/sh\nworker='%s' spool=$2 gpu=$4\n%s\nexec \"$worker\" \"$@\"\n",
                           worker, body);
    assert_int_equal(file_write_mode(path, text, strlen(text), 0755, NULL), 0);
    setenv("HONE_WORKER", path, 1);
    free(text);
    free(path);
}

static struct evaluator *open_on(const char *on)
{
    struct evaluator *e;
    struct err err = ERR_INIT;
    struct eval_options o = {.device = "emu", .on = on, .cache_dir = dir.path};
    if (evaluator_open(&e, &o, &err) < 0)
        fail_msg("%s", err.msg);
    return e;
}

/* Submits n candidates. A comment makes each source different. */
static void submit(struct evaluator *e, unsigned n)
{
    static unsigned number;
    struct eval_config cfg = EVAL_CONFIG_INIT;
    struct err err = ERR_INIT;
    for (unsigned i = 0; i < n; i++) {
        uint64_t ticket;
        char *text = xasprintf("%s// %u\n", source.buf, ++number);
        if (eval_submit(e, task, text, strlen(text), &cfg, &ticket, &err) < 0)
            fail_msg("%s", err.msg);
        free(text);
    }
}

/* Waits for `n` verdicts, which must all be `pass`, and calls look() for each. */
static void take(struct evaluator *e, unsigned n, void (*look)(const struct verdict *v))
{
    struct err err = ERR_INIT;
    uint64_t ticket, until = now_ns() + UINT64_C(300000000000);
    while (n) {
        struct verdict v;
        int rc = eval_wait(e, 200000000u, &ticket, &v, &err);
        if (rc < 0 || now_ns() > until)
            fail_msg("%s", rc < 0 ? err.msg : "no verdict in 5 minutes");
        if (rc == 0)
            continue;
        if (v.kind != V_PASS)
            fail_msg("%s: %s", verdict_kind_name(v.kind), v.summary);
        look(&v);
        verdict_release(&v);
        n--;
    }
}

static unsigned on_gpu[4];
static bool ten_percent, died;
static unsigned comparisons, apart; /* apart: how often candidate and baseline times differed */

static void look_at_gpu(const struct verdict *v)
{
    const char *at = strstr(v->device, "pretend GPU ");
    assert_non_null(at);
    unsigned gpu = (unsigned)strtoul(at + strlen("pretend GPU "), NULL, 10);
    assert_in_range(gpu, 0, 3);
    on_gpu[gpu]++;
    /* The candidate is the baseline, so their times on one GPU are equal. */
    vec_each (const struct verdict_time, t, &v->times)
        if (str_eq(t->who, "naive")) {
            comparisons++;
            apart += !(t->ratio > 0.999 && t->ratio < 1.001);
        }
    for (size_t i = 0; i < v->warnings.n; i++) {
        const char *runs = strstr(v->warnings.items[i], " runs the baselines ");
        int pct = runs ? atoi(runs + strlen(" runs the baselines ")) : 0;
        ten_percent = ten_percent || (pct >= 7 && pct <= 11);
    }
}

/* ---- four GPUs ------------------------------------------------------------------------------- */

static void set_users(const char *text)
{
    char *path = xasprintf("%s/users", dir.path);
    assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
    setenv("FAKE_NVML_USERS", path, 1);
    free(path);
}

static void begin_to_listen(int *was)
{
    setenv("HONE_LOG", "warn", 1);
    char *path = xasprintf("%s/said", dir.path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    *was = dup(2);
    dup2(fd, 2);
    close(fd);
    free(path);
}

static bool has_said(const char *words)
{
    char *path = xasprintf("%s/said", dir.path);
    strbuf_clear(&said);
    assert_int_equal(file_read(path, 1 << 20, &said, NULL), 0);
    free(path);
    return strstr(said.buf, words) != NULL;
}

static void end_to_listen(int was)
{
    setenv("HONE_LOG", "error", 1);
    dup2(was, 2);
    close(was);
}

/* Submits candidates until GPUs 0 and 1 have both run some, and Hone has said that one of them is
 * slower. The next four tests check what happened here. */
static void every_bundle_of_four_gpus_gets_a_verdict(void **state)
{
    (void)state;
    /* GPU 2 claims the first bundle, and its worker dies. The other workers wait for that. */
    use_script(
        "if [ $gpu = 2 ]; then\n"
        "    while [ ! -e $spool/died ]; do\n"
        "        for b in $(ls $spool/todo); do\n"
        "            mv -T $spool/todo/$b $spool/claimed/$b.vm-$$-1 && echo $b >$spool/died\n"
        "            break\n"
        "        done\n"
        "        sleep 0.05\n"
        "    done\n"
        "    kill -9 $$\n"
        "fi\n"
        "while [ ! -e $spool/died ]; do sleep 0.05; done\n"
        "[ $gpu = 1 ] && export HONE_EMU_CLOCK=0.909");
    int lock = pretend_gpu_lock(3);
    assert_true(lock >= 0);
    setenv("TMPDIR", dir.path, 1); /* for the spool */
    struct evaluator *e = open_on("local:0,1,2,3");
    for (int i = 0; i < 20 && !(on_gpu[0] && on_gpu[1] && ten_percent); i++) {
        submit(e, 6);
        take(e, 6, look_at_gpu);
    }
    char *command = xasprintf("cat %s/*/spool/died >/dev/null", dir.path);
    died = system(command) == 0;
    free(command);
    evaluator_close(e);
    gpu_unlock(lock);
    assert_true(on_gpu[0] && on_gpu[1]);
}

static void a_comparison_stays_on_one_gpu(void **state)
{
    (void)state;
    assert_true(comparisons > 0);
    assert_int_equal(apart, 0);
}

static void a_slower_gpu_is_shown(void **state)
{
    (void)state;
    assert_true(ten_percent);
}

static void bundles_of_a_dead_gpu_are_judged_elsewhere(void **state)
{
    (void)state;
    assert_true(died);
    assert_int_equal(on_gpu[2], 0);
}

static void a_gpu_that_hone_uses_is_left_alone(void **state)
{
    (void)state;
    assert_int_equal(on_gpu[3], 0);
}

/* Hone leaves a GPU alone while another process uses it. GPU 1 is used too, but only one slice (MIG
 * instance) of it, which does not count. */
static void a_gpu_that_others_use_is_left_alone(void **state)
{
    (void)state;
    char *users = xasprintf("pretend:0 %d -1\npretend:1 %d 3\n", (int)getpid(), (int)getpid());
    int was;
    memset(on_gpu, 0, sizeof on_gpu);
    setenv("HONE_WORKER", worker, 1);
    set_users(users);
    begin_to_listen(&was);
    struct evaluator *e = open_on("local:0,1");
    char *words = xasprintf("GPU 0 is in use by process %d (gpus)", (int)getpid());
    for (int i = 0; i < 40 && !has_said(words); i++) {
        submit(e, 6);
        take(e, 6, look_at_gpu);
    }
    unsigned while_in_use = on_gpu[0];
    set_users("");
    for (int i = 0; i < 40 && !on_gpu[0]; i++) {
        submit(e, 6);
        take(e, 6, look_at_gpu);
    }
    evaluator_close(e);
    end_to_listen(was);
    free(users);
    assert_int_equal(while_in_use, 0);
    assert_true(on_gpu[0] > 0);
    if (!strstr(said.buf, words) || strstr(said.buf, "GPU 1 is"))
        fail_msg("'%s' is not in: %s", words, said.buf);
    free(words);
}

static pid_t start_worker(const char *spool)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    char *log = xasprintf("%s/log", dir.path);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, 2);
    setenv("HONE_LOG", "worker:info", 1);
    execl(worker, "hone-worker", "--spool", spool, "--pretend-gpu", "0", "--threads", "1",
          (char *)NULL);
    _exit(3);
}

static void nothing(const struct verdict *v)
{
    (void)v;
}

/* Two workers of one GPU must not run jobs at the same time. Their common log says when each job
 * begins and ends. */
static void two_workers_of_one_gpu_take_turns(void **state)
{
    (void)state;
    char *spool = xasprintf("%s/spool", dir.path), *on = xasprintf("spool:%s", spool);
    struct evaluator *e = open_on(on);
    pid_t pids[2] = {start_worker(spool), start_worker(spool)};
    submit(e, 8);
    take(e, 8, nothing);
    evaluator_close(e);
    for (int i = 0; i < 2; i++) {
        kill(pids[i], SIGTERM);
        waitpid(pids[i], NULL, 0);
    }
    struct strbuf log = STRBUF_INIT(1 << 20);
    char *path = xasprintf("%s/log", dir.path), id[200];
    assert_int_equal(file_read(path, 1 << 20, &log, NULL), 0);
    struct {
        uint64_t from, to;
    } jobs[64];
    size_t n = 0;
    for (char *p = strstr(log.buf, "begins "); p; p = strstr(p + 1, "begins ")) {
        assert_true(n < 64);
        assert_int_equal(sscanf(p, "begins %199s at %" SCNu64, id, &jobs[n].from), 2);
        char *end = xasprintf("ends %s at ", id), *q = strstr(log.buf, end);
        assert_non_null(q);
        jobs[n++].to = strtoull(q + strlen(end), NULL, 10);
        free(end);
    }
    assert_true(n >= 8);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(jobs[i].to <= jobs[k].from || jobs[k].to <= jobs[i].from);
    strbuf_release(&log);
    free(path);
    free(on);
    free(spool);
}

static void lists_of_gpus_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *on, *says;
    } bad[] = {{"local:", "unknown place"},
               {"local:x", "not a list of GPUs"},
               {"local:0,", "not a list of GPUs"},
               {"local:-1", "not a list of GPUs"},
               {"local:0,0", "twice"},
               {"local:0 1", "not a list of GPUs"}};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct evaluator *e;
        struct err err = ERR_INIT;
        struct eval_options o = {.device = "emu", .on = bad[i].on, .cache_dir = dir.path};
        assert_int_equal(evaluator_open(&e, &o, &err), -1);
        if (!strstr(err.msg, bad[i].says))
            fail_msg("%s: %s", bad[i].on, err.msg);
    }
}

static void when_all_workers_die_the_run_says_so(void **state)
{
    (void)state;
    use_script("echo 'the node is on fire' >&2; kill -9 $$");
    struct evaluator *e = open_on("local:0,1");
    struct err err = ERR_INIT;
    struct verdict v;
    uint64_t ticket;
    int rc = 0;
    submit(e, 1);
    while (rc == 0)
        rc = eval_wait(e, 200000000u, &ticket, &v, &err);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(err.msg, "no worker is left"));
    assert_non_null(strstr(err.msg, "on fire"));
    evaluator_close(e);
}

static void when_slurm_takes_no_job_the_run_says_so(void **state)
{
    (void)state;
    char *command = xasprintf("mkdir %s/bin && for p in sbatch squeue scancel; do ln -s "
                              "$PWD/t/fake/slurm %s/bin/$p; done && echo refuses >%s/play",
                              dir.path, dir.path, dir.path);
    assert_int_equal(system(command), 0);
    char *path = xasprintf("%s/bin:%s", dir.path, getenv("PATH")),
         *on = xasprintf("slurm:dir=%s/places", dir.path);
    setenv("PATH", path, 1);
    setenv("FAKE_SLURM", dir.path, 1);
    setenv("HONE_SLURM_POLL_MS", "100", 1);
    setenv("HONE_WORKER", worker, 1);
    struct evaluator *e = open_on(on);
    struct err err = ERR_INIT;
    struct verdict v;
    uint64_t ticket, until = now_ns() + UINT64_C(60000000000);
    int rc = 0;
    submit(e, 1);
    while (rc == 0 && now_ns() < until)
        rc = eval_wait(e, 200000000u, &ticket, &v, &err);
    evaluator_close(e);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(err.msg, "invalid partition specified"));
    free(command);
    free(path);
    free(on);
}

int main(void)
{
    setenv("HONE_LOG", "error", 1); /* the tests provoke warnings */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_gpus_are_checked),
        cmocka_unit_test(every_bundle_of_four_gpus_gets_a_verdict),
        cmocka_unit_test(a_comparison_stays_on_one_gpu),
        cmocka_unit_test(a_slower_gpu_is_shown),
        cmocka_unit_test(bundles_of_a_dead_gpu_are_judged_elsewhere),
        cmocka_unit_test(a_gpu_that_hone_uses_is_left_alone),
        cmocka_unit_test(a_gpu_that_others_use_is_left_alone),
        cmocka_unit_test(two_workers_of_one_gpu_take_turns),
        cmocka_unit_test(when_all_workers_die_the_run_says_so),
        cmocka_unit_test(when_slurm_takes_no_job_the_run_says_so),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
