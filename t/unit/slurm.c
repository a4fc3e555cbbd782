/*
 * Tests workers that are jobs of Slurm. t/fake/slurm takes the place of sbatch, squeue and scancel.
 * Each play (a test run) has at most one kind of fault. The worker is a shell script that computes
 * nothing.
 */
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

#include "base/util.h"
#include "sched/sched.h"
#include "sched/slurm_spec.h"
#include "sys/file.h"

static struct temp_dir dir;
static char *base; /* the directory of the spools */
static char *fake; /* the folder of this play, which FAKE_SLURM names */

static const char worker[] =
    "#!/bin/sh\n"
    "spool=$2; play=$(cat $FAKE_SLURM/play); idle=0\n"
    "trap 'exit 0' TERM\n"
    "echo hello from the worker\n"
    "while [ $idle -lt 100 ]; do\n"
    "    idle=$((idle + 1))\n"
    "    for b in $(ls $spool/todo 2>/dev/null); do\n"
    "        mv -T $spool/todo/$b $spool/claimed/$b.node1-$$-1 2>/dev/null || continue\n"
    "        if [ $play = preempted ] && mkdir $FAKE_SLURM/preempted 2>/dev/null; then\n"
    "            mv -T $spool/claimed/$b.node1-$$-1 $spool/todo/${b%.*}.g1f0; exit 0\n"
    "        fi\n"
    "        if [ $play = node_lost ] && mkdir $FAKE_SLURM/node_lost 2>/dev/null; then\n"
    "            kill -9 $$\n"
    "        fi\n"
    "        echo result >$spool/claimed/$b.node1-$$-1/result.bin\n"
    "        mv -T $spool/claimed/$b.node1-$$-1 $spool/done/${b%.*}\n"
    "        idle=0\n"
    "        [ $play = one_each ] && exit 0\n"
    "    done\n"
    "    sleep 0.1\n"
    "done\n";

static char *in(const char *name)
{
    return xasprintf("%s/%s", dir.path, name);
}

static void put(const char *name, const char *text, unsigned mode)
{
    char *path = in(name);
    assert_int_equal(file_write_mode(path, text, strlen(text), mode, NULL), 0);
    free(path);
}

static int setup(void **state)
{
    (void)state;
    static const char *const programs[] = {"sbatch", "squeue", "scancel", "slurmd"};
    if (temp_dir_make(&dir, NULL) < 0)
        return -1;
    char *bin = in("bin"), *path = xasprintf("%s:%s", bin, getenv("PATH")), *w = in("worker");
    char program[4096];
    assert_int_equal(dir_make(bin, NULL), 0);
    assert_non_null(realpath("t/fake/slurm", program));
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        char *link = xasprintf("%s/%s", bin, programs[i]);
        assert_int_equal(symlink(program, link), 0);
        free(link);
    }
    put("worker", worker, 0755);
    setenv("PATH", path, 1);
    setenv("HONE_WORKER", w, 1);
    setenv("HONE_SLURM_POLL_MS", "100", 1);
    setenv("HONE_SPOOL_LEASE_S", "2", 1);
    base = in("base");
    free(bin);
    free(path);
    free(w);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(base);
    free(fake);
    temp_dir_release(&dir);
    return 0;
}

/* Makes a folder for a play, and starts the fake slurmd for it. The slurmd of the previous play
 * ends because its folder is removed. */
static void set_play(const char *play)
{
    static unsigned number;
    struct strbuf text = STRBUF_INIT(100);
    if (fake)
        dir_remove(fake, NULL);
    free(fake);
    strbuf_addf(&text, "fake%u", ++number);
    fake = in(text.buf);
    assert_int_equal(dir_make(fake, NULL), 0);
    setenv("FAKE_SLURM", fake, 1);
    strbuf_adds(&text, "/play");
    put(text.buf, play, 0644);
    strbuf_release(&text);
    assert_int_equal(system("slurmd >/dev/null 2>&1 &"), 0);
}

static size_t count(const char *path)
{
    struct name_vec names = VEC_INIT;
    size_t n = dir_list(path, &names, NULL) == 0 ? names.n : 0;
    name_vec_release(&names);
    return n;
}

static struct sched *open_slurm(const char *more)
{
    struct sched *s;
    struct err err = ERR_INIT;
    char *on = xasprintf("slurm:dir=%s,max-workers=3,%s", base, more);
    if (sched_open(&s, on, 1, -1, &err) < 0)
        fail_msg("%s", err.msg);
    free(on);
    return s;
}

/* Runs a play with `bundles` bundles. `says` is a part of the error that must come, or NULL if all
 * bundles must get a result. */
static void run_play(const char *play, unsigned bundles, const char *says)
{
    struct err err = ERR_INIT;
    set_play(play);
    struct sched *s = open_slurm("partition=gpu");
    unsigned done = 0;
    for (unsigned i = 0; i < bundles; i++) {
        uint64_t ticket;
        char *name = xasprintf("bundle%u", i), *path = in(name),
             *file = xasprintf("%s/job.bin", name);
        dir_remove(path, NULL);
        assert_int_equal(dir_make(path, NULL), 0);
        put(file, "job", 0644);
        assert_int_equal(sched_submit(s, path, 0, NULL, &ticket, &err), 0);
        free(name);
        free(path);
        free(file);
    }
    int rc = 0;
    uint64_t until = now_ns() + UINT64_C(60000000000);
    while (rc >= 0 && done < bundles && now_ns() < until) {
        struct sched_done d;
        rc = sched_wait(s, 1000000000u, &d, &err);
        done += rc > 0 && d.have_result;
    }
    sched_close(s);
    if (says ? rc >= 0 || !strstr(err.msg, says) : done != bundles)
        fail_msg("%s: %u of %u bundles: %s", play, done, bundles, err.msg);
    char *jobs = xasprintf("%s/job", fake);
    if (count(jobs) || count(base))
        fail_msg("%s: %zu jobs and %zu directories are left", play, count(jobs), count(base));
    free(jobs);
}

static void plays(void **state)
{
    (void)state;
    static const char *const list[] = {
        "good",
        "banner",         /* sbatch prints a greeting before its answer */
        "other_output",   /* sbatch ignores --parsable */
        "lost_reply",     /* the job exists, but sbatch says that it failed */
        "refuses_twice",  /* sbatch fails for a while */
        "silent_failure", /* sbatch fails and says nothing */
        "killed",         /* sbatch dies */
        "slow_sbatch",
        "fewer",               /* sbatch makes a smaller array than requested */
        "limit",               /* sbatch accepts only the first jobs */
        "pending_long",        /* jobs wait before they run */
        "never_starts",        /* all jobs but one wait for ever */
        "dies_at_once",        /* the first jobs end before their worker begins */
        "squeue_fails",        /* squeue fails every other time */
        "squeue_down_then_up", /* the controller restarts */
        "squeue_empty",        /* squeue does not show new jobs yet */
        "squeue_noise",        /* squeue also prints lines that are not jobs */
        "squeue_slow",
        "odd_states",    /* squeue shows jobs that are COMPLETING */
        "preempted",     /* a worker must end, and puts its bundle back */
        "node_lost",     /* a worker dies while it has a bundle */
        "one_each",      /* every worker ends after one bundle */
        "scancel_fails", /* scancel fails twice */
    };
    /* t/README.md explains the tiers */
    const char *tier = getenv("TIER");
    for (size_t i = 0; i < ARRAY_LEN(list); i++)
        if (!tier || str_eq(tier, "all") || str_eq(tier, i % 5 ? "rest" : "quick"))
            run_play(list[i], 6, NULL);
}

static void a_cluster_that_cannot_work_is_reported(void **state)
{
    (void)state;
    run_play("refuses", 1, "invalid partition specified: nowhere");
    run_play("always_dies", 1, "no worker that Slurm started has finished a bundle");
    run_play("no_controller", 1, "error: Unable to contact slurm controller");
}

/* squeue works at first, and then fails for ever. This play takes 18 seconds. */
static void a_squeue_that_breaks_is_reported(void **state)
{
    (void)state;
    const char *tier = getenv("TIER");
    if (!tier || !str_eq(tier, "quick"))
        run_play("squeue_breaks", 1, "error: Invalid user id");
}

static void what_sbatch_gets(void **state)
{
    (void)state;
    run_play("good", 2, NULL);
    struct strbuf calls = STRBUF_INIT(1 << 20);
    char *path = xasprintf("%s/calls", fake);
    assert_int_equal(file_read(path, 1 << 20, &calls, NULL), 0);
    assert_non_null(strstr(calls.buf, "--partition=gpu"));
    assert_non_null(strstr(calls.buf, "--array=1-2")); /* no more workers than bundles */
    assert_null(strstr(calls.buf, "--gres"));          /* the emulator needs no GPU */
    assert_non_null(strstr(calls.buf, "scancel --quiet --name=hone-"));
    strbuf_release(&calls);
    free(path);
}

/* Slurm accepts no job, so no bundle can be finished. Every other listing of the spool fails. A
 * bundle that a listing does not show must not count as finished. */
static void a_failed_listing_finishes_no_bundle(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct sched *s;
    set_play("refuses");
    char *on = xasprintf("slurm:dir=%s", base);
    if (sched_share(&s, on, true, &err) < 0)
        fail_msg("%s", err.msg);
    unsetenv("HONE_SHARED_SPOOL");
    char *todo = xasprintf("%s/todo", sched_spool_dir(s)), *bundle = xasprintf("%s/a", todo),
         *away = xasprintf("%s/away", sched_spool_dir(s));
    assert_int_equal(dir_make(bundle, NULL), 0);
    int rc = 0;
    uint64_t until = now_ns() + UINT64_C(30000000000);
    for (bool there = true; rc == 0 && now_ns() < until; there = !there) {
        rc = sched_tend(s, &err);
        assert_int_equal(there ? rename(todo, away) : rename(away, todo), 0);
        usleep(10000);
    }
    sched_close(s);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(err.msg, "no worker that Slurm started has finished a bundle"));
    free(on);
    free(todo);
    free(bundle);
    free(away);
}

static void the_next_run_sweeps(void **state)
{
    (void)state;
    set_play("good");
    pid_t pid = fork();
    if (pid == 0) {
        struct sched *s = open_slurm("idle=60");
        uint64_t ticket;
        struct sched_done d;
        char *bundle = in("bundle0");
        sched_submit(s, bundle, 0, NULL, &ticket, NULL);
        sched_wait(s, UINT64_C(3000000000), &d, NULL);
        raise(SIGKILL);
    }
    waitpid(pid, NULL, 0);
    char *jobs = xasprintf("%s/job", fake);
    assert_int_equal(count(base), 1);
    assert_true(count(jobs) > 0);
    struct sched *s = open_slurm("idle=60");
    assert_int_equal(count(jobs), 0);
    assert_int_equal(count(base), 1); /* the new run's own directory */
    sched_close(s);
    assert_int_equal(count(base), 0);
    free(jobs);
}

static void a_changed_worker_is_not_run(void **state)
{
    (void)state;
    set_play("good");
    struct sched *s = open_slurm("idle=60");
    struct name_vec names = VEC_INIT;
    assert_int_equal(dir_list(base, &names, NULL), 0);
    char *cmd = xasprintf("cd %s/%s && echo evil >>bin/hone-worker-$(uname -m) && sh job.sh 2>&1 | "
                          "grep -q 'is not the program'",
                          base, names.items[0]);
    assert_int_equal(system(cmd), 0);
    free(cmd);
    name_vec_release(&names);
    sched_close(s);
}

static void keys_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"partition", "needs a value"},         {"partition=", "not a value of partition"},
        {"colour=red", "unknown key 'colour'"}, {"max-workers=0", "not a number from 1"},
        {"max-workers=x", "not a number"},      {"dir=here", "not a full path"},
        {"time=1,time=2", "given twice"},       {"partition=a;rm", "not a value"},
        {"partition=a b", "not a value"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct arena a = ARENA_INIT;
        struct err err = ERR_INIT;
        struct slurm_spec spec;
        assert_int_equal(slurm_spec_read(&spec, bad[i].text, &a, &err), -1);
        if (!strstr(err.msg, bad[i].says))
            fail_msg("%s: %s", bad[i].text, err.msg);
        arena_release(&a);
    }
    struct arena a = ARENA_INIT;
    struct slurm_spec spec;
    assert_int_equal(slurm_spec_read(&spec,
                                     "partition=a100,gres=gpu:h200:1,cpus=4,max-workers=20,"
                                     "prolog=module load cuda, gcc=13",
                                     &a, NULL),
                     0);
    assert_string_equal(spec.options[0], "--partition=a100");
    assert_string_equal(spec.options[1], "--gres=gpu:h200:1");
    assert_string_equal(spec.options[2], "--cpus-per-task=4");
    assert_int_equal(spec.most, 20);
    assert_string_equal(spec.prolog, "module load cuda, gcc=13");
    arena_release(&a);
}

int main(void)
{
    setenv("HONE_LOG", "error", 0); /* the tests provoke warnings */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_checked),
        cmocka_unit_test(what_sbatch_gets),
        cmocka_unit_test(plays),
        cmocka_unit_test(a_cluster_that_cannot_work_is_reported),
        cmocka_unit_test(a_squeue_that_breaks_is_reported),
        cmocka_unit_test(a_failed_listing_finishes_no_bundle),
        cmocka_unit_test(the_next_run_sweeps),
        cmocka_unit_test(a_changed_worker_is_not_run),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
