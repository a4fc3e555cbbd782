/*
 * Tests the spool and tar files. A worker runs each bundle by executing its own program again. In
 * this test, that program is the test, which then does what the file `act` of the bundle says.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/gpulock.h"
#include "base/util.h"
#include "job/job.h"
#include "job/result.h"
#include "spool/lease.h"
#include "worker/bundle.h"
#include "worker/spool.h"
#include "worker/tar.h"

static char root[64];

/* ---- what the process of a bundle does ---- */

static int play(const char *bundle)
{
    char *act;
    size_t len;
    if (bundle_read(bundle, "act", 64, &act, &len, NULL) < 0)
        return 3;
    if (str_eq(act, "crash"))
        abort();
    if (str_eq(act, "slow"))
        usleep(60 * 1000);
    struct result res = {.status = RESULT_OK, .message = bundle, .nonce = 1};
    struct strbuf sb = STRBUF_INIT(RESULT_MAX_BYTES);
    result_write(&res, &sb);
    int rc = bundle_write(bundle, "result.bin", sb.buf, sb.len, true, NULL);
    strbuf_release(&sb);
    free(act);
    return rc < 0 ? 3 : 0;
}

/* ---- helpers ---- */

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void add_bundle(const char *id, const char *act)
{
    char path[256];
    snprintf(path, sizeof path, "%s/tmp/%s", root, id);
    assert_int_equal(mkdir(path, 0777), 0);
    char file[300];
    snprintf(file, sizeof file, "%s/act", path);
    put(file, act);
    char to[256];
    snprintf(to, sizeof to, "%s/todo/%s", root, id);
    assert_int_equal(rename(path, to), 0);
}

static int count(const char *sub)
{
    char path[256];
    int n = 0;
    snprintf(path, sizeof path, "%s/%s", root, sub);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static enum result_status status_of(const char *id, char *message, size_t max)
{
    char dir[256], *data;
    size_t len;
    struct arena a = ARENA_INIT;
    struct result r;
    struct err err = ERR_INIT;
    snprintf(dir, sizeof dir, "%s/done/%s", root, id);
    if (bundle_read(dir, "result.bin", RESULT_MAX_BYTES, &data, &len, &err) < 0 ||
        result_read(&r, data, len, &a, &err) < 0)
        fail_msg("%s", err.msg);
    if (message)
        snprintf(message, max, "%s", r.message);
    enum result_status st = r.status;
    free(data);
    arena_release(&a);
    return st;
}

static int fresh(void **state)
{
    static const char *const subs[] = {"", "tmp", "todo", "claimed", "done"};
    snprintf(root, sizeof root, "/tmp/hone-spool-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    for (size_t i = 1; i < 5; i++) {
        char p[128];
        snprintf(p, sizeof p, "%s/%s", root, subs[i]);
        mkdir(p, 0700);
    }
    setenv("HONE_SPOOL_LEASE_S", "1", 1);
    setenv("HONE_GPU_LOCK_DIR", root, 1);
    return 0;
}

static int clean(void **state)
{
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf %s", root);
    return system(cmd);
}

static void serve(void)
{
    struct err err = ERR_INIT;
    const struct spool_options once = {.once = true, .place = {.gpu = -1}};
    if (spool_serve(root, &once, &err) < 0)
        fail_msg("%s", err.msg);
}

/* ---- tests ---- */

static void bundles_are_done(void **state)
{
    add_bundle("a", "ok");
    add_bundle("b", "ok");
    serve();
    assert_int_equal(count("done"), 2);
    assert_int_equal(count("todo") + count("claimed") + count("tmp"), 0);
    assert_int_equal(status_of("a", NULL, 0), RESULT_OK);
}

static void a_bundle_that_kills_workers_gets_its_answer(void **state)
{
    add_bundle("bad", "crash");
    serve();
    char msg[200];
    assert_int_equal(status_of("bad", msg, sizeof msg), RESULT_MACHINE);
    assert_non_null(strstr(msg, "three times"));
}

/* A worker that is dead has claimed the bundle. A worker counts as alive only if the count in its
 * file (here workers/ghost-1-2) changes. The time of the file does not matter. */
static void a_dead_workers_claim_is_taken_back(void **state)
{
    char path[256], todo[256], beat[256];
    add_bundle("x", "ok");
    snprintf(path, sizeof path, "%s/claimed/x.g0f0.ghost-1-2", root);
    snprintf(todo, sizeof todo, "%s/todo/x", root);
    assert_int_equal(rename(todo, path), 0);
    snprintf(beat, sizeof beat, "%s/workers", root);
    mkdir(beat, 0700);
    snprintf(beat, sizeof beat, "%s/workers/ghost-1-2", root);
    put(beat, "7\nx.g0f0.ghost-1-2\n0\nruns\n");
    assert_int_equal(utimensat(AT_FDCWD, beat, (struct timespec[]){{1, 0}, {1, 0}}, 0), 0);
    uint64_t began = now_ns();
    serve();
    assert_true(now_ns() - began > 1000000000u); /* no worker takes it before the lease is over */
    assert_int_equal(count("claimed"), 0);
    assert_int_equal(count("workers"), 1); /* the ghost's file stays: no worker removes it */
    assert_int_equal(status_of("x", NULL, 0), RESULT_OK);
}

static void a_spool_of_others_is_refused(void **state)
{
    static const char *const folders[] = {"", "/todo", "/done"};
    const struct spool_options once = {.once = true, .place = {.gpu = -1}};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct err err = ERR_INIT;
        char path[256];
        snprintf(path, sizeof path, "%s%s", root, folders[i]);
        assert_int_equal(chmod(path, 0770), 0);
        assert_int_equal(spool_serve(root, &once, &err), -1);
        assert_non_null(strstr(err.msg, "other users can write"));
        assert_non_null(strstr(err.msg, "chmod"));
        assert_int_equal(chmod(path, 0700), 0);
        if (geteuid() == 0) {
            assert_int_equal(chown(path, 65534, 65534), 0);
            assert_int_equal(spool_serve(root, &once, &err), -1);
            assert_non_null(strstr(err.msg, "user 65534 owns"));
            assert_int_equal(chown(path, 0, 0), 0);
        }
    }
    serve();
    struct stat st;
    char path[256];
    snprintf(path, sizeof path, "%s/workers", root);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

/* A worker does not claim a bundle that it cannot run. The bundle waits for another worker. */
static void a_worker_leaves_what_it_cannot_run(void **state)
{
    add_bundle("emu_pdp11-00ff-000001.g0f0", "ok");
    add_bundle("plain", "ok");
    serve();
    assert_int_equal(count("todo"), 1);
    assert_int_equal(count("done"), 1);
}

static void a_second_result_is_thrown_away(void **state)
{
    char done[256], file[300];
    snprintf(done, sizeof done, "%s/done/y", root);
    mkdir(done, 0777);
    snprintf(file, sizeof file, "%s/result.bin", done);
    put(file, "the first");
    add_bundle("y", "ok");
    serve();
    char *data;
    size_t len;
    assert_int_equal(bundle_read(done, "result.bin", 100, &data, &len, NULL), 0);
    assert_string_equal(data, "the first");
    free(data);
    assert_int_equal(count("todo") + count("claimed") + count("tmp"), 0);
}

/* ---- a GPU that others use ---- */

/* Serves the spool while another process holds the GPU for `held_ms`. `lock` is a lock of the GPU,
 * which this function releases. Returns what spool_serve() returns. */
static int serve_beside(const struct spool_options *options, int lock, unsigned held_ms,
                        struct err *err)
{
    pid_t pid = fork();
    if (pid == 0) {
        usleep(held_ms * 1000);
        _exit(0);
    }
    gpu_unlock(lock); /* the child still holds it */
    int rc = spool_serve(root, options, err);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return rc;
}

static void a_worker_waits_for_its_gpu(void **state)
{
    const struct spool_options once = {.once = true, .place = {.gpu = 0, .pretend = true}};
    struct err err = ERR_INIT;
    add_bundle("a", "ok");
    if (serve_beside(&once, pretend_gpu_lock(0), 400, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(count("done"), 1);
}

static void a_worker_says_that_its_gpu_stays_busy(void **state)
{
    const struct worker_place gpu = {.gpu = 0, .pretend = true};
    const struct spool_options all[] = {
        {.once = true, .place = gpu},
        {.idle_ns = 500000000, .place = gpu},
        {.once = true, .idle_ns = 500000000, .place = gpu},
    };
    add_bundle("a", "ok");
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct err err = ERR_INIT;
        assert_int_equal(serve_beside(&all[i], pretend_gpu_lock(0), 60000, &err), -1);
        if (!strstr(err.msg, "leaves 1 bundle in") || !strstr(err.msg, "uses its GPU"))
            fail_msg("%s", err.msg);
        assert_int_equal(count("todo"), 1);
        assert_int_equal(count("workers") + count("claimed"), 0);
    }
}

static void a_busy_gpu_does_not_matter_without_bundles(void **state)
{
    const struct spool_options once = {.once = true, .place = {.gpu = 0, .pretend = true}};
    struct err err = ERR_INIT;
    uint64_t begun = now_ns();
    assert_int_equal(serve_beside(&once, pretend_gpu_lock(0), 60000, &err), 0);
    assert_true(now_ns() - begun < UINT64_C(1000000000));
}

/* A worker without a GPU of its own claims the bundle, and then finds that the job's GPU is busy.
 * It puts the bundle back. */
static void a_worker_puts_back_what_it_cannot_begin(void **state)
{
    const struct spool_options once = {.once = true, .place = {.gpu = -1}};
    struct job job = {.device = JOB_CUDA, .ordinal = 0, .limits.wall_ns = 1000000000};
    struct strbuf sb = STRBUF_INIT(JOB_MAX_BYTES);
    struct err err = ERR_INIT;
    char dir[256];
    add_bundle("a", "ok");
    snprintf(dir, sizeof dir, "%s/todo/a", root);
    job_write(&job, &sb);
    assert_int_equal(bundle_write(dir, "job.bin", sb.buf, sb.len, true, NULL), 0);
    strbuf_release(&sb);
    assert_int_equal(serve_beside(&once, gpu_lock(0), 60000, &err), -1);
    assert_non_null(strstr(err.msg, "leaves 1 bundle in"));
    assert_int_equal(count("todo"), 1);
    assert_int_equal(count("done") + count("claimed"), 0);
}

static void a_spool_that_cannot_be_listed_is_not_done(void **state)
{
    const struct spool_options idle = {.idle_ns = 400000000, .place = {.gpu = -1}};
    struct err err = ERR_INIT;
    pid_t pid = fork();
    if (pid == 0) {
        char todo[256], away[256];
        snprintf(todo, sizeof todo, "%s/todo", root);
        snprintf(away, sizeof away, "%s/away", root);
        usleep(200 * 1000);
        _exit(rename(todo, away) < 0);
    }
    assert_int_equal(spool_serve(root, &idle, &err), -1);
    assert_non_null(strstr(err.msg, "cannot list"));
    waitpid(pid, NULL, 0);
}

static pid_t start_worker(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        const struct spool_options forever = {.place = {.gpu = -1}};
        spool_serve(root, &forever, NULL);
        _exit(0);
    }
    return pid;
}

static void two_workers_and_kills(void **state)
{
    enum { BUNDLES = 16 };
    char id[16];
    for (int i = 0; i < BUNDLES; i++) {
        snprintf(id, sizeof id, "job%02d", i);
        add_bundle(id, "slow");
    }
    pid_t w[2] = {start_worker(), start_worker()};
    uint64_t end = now_ns() + 240000000000u; /* a sanitizer on a busy machine is slow */
    for (int k = 0; count("done") < BUNDLES && now_ns() < end; k++) {
        usleep(90 * 1000 + 37 * 1000 * (k % 3));
        if (k < 6) {
            kill(w[k % 2], SIGKILL);
            waitpid(w[k % 2], NULL, 0);
            w[k % 2] = start_worker();
        }
    }
    for (int i = 0; i < 2; i++) {
        kill(w[i], SIGTERM);
        waitpid(w[i], NULL, 0);
    }
    assert_int_equal(count("done"), BUNDLES);
    assert_int_equal(count("todo") + count("claimed"), 0);
    for (int i = 0; i < BUNDLES; i++) {
        snprintf(id, sizeof id, "job%02d", i);
        assert_int_equal(status_of(id, NULL, 0), RESULT_OK);
    }
}

static void seconds_of_a_name(void **state)
{
    assert_int_equal(spool_name_seconds("cuda-5c1e-41-00000a"), 41);
    assert_int_equal(spool_name_seconds("emu_x86_64-5c1e-7-00000a.g2f1"), 7);
    assert_int_equal(spool_name_seconds("cuda-5c1e-0-000001"), 0);
    static const char *const none[] = {"job01",       "",           "-",
                                       "--",          "a-1",        "cuda-5c1e--000001",
                                       "c-+4-000001", "c- 4-00001", "c-4294967299999-000001"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_int_equal(spool_name_seconds(none[i]), 0);
}

/* Every other claim takes the first bundle of a run, if one waits, and otherwise a bundle of the
 * slowest run. An id such as any-b-90-000003 names the run (b), how many seconds its bundles take
 * (90), and the number of the bundle. */
static void slow_runs_go_first(void **state)
{
    static const char *const ids[] = {"any-a-2-000002", "any-b-90-000003", "any-c-0-000001",
                                      "any-d-1-000002", "any-e-3-000009",  "any-f-2-000002"};
    static const char *const want[] = {"any-c-0-000001", "any-b-90-000003", "any-e-3-000009"};
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct spool_fs *fs;
        struct spool_worker w;
        assert_int_equal(spool_fs_open(&fs, root, NULL), 0);
        assert_int_equal(spool_worker_begin(&w, fs, "w", 1000000000, seed, NULL), 0);
        for (size_t i = 0; i < ARRAY_LEN(ids); i++)
            add_bundle(ids[i], "ok");
        bool gone[ARRAY_LEN(want)] = {false}; /* a claim took this bundle */
        for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
            assert_true(spool_claim(&w));
            size_t next = 0;
            while (next < ARRAY_LEN(want) && gone[next])
                next++;
            if (i % 2 == 0 && next < ARRAY_LEN(want))
                assert_string_equal(w.name.id, want[next]);
            for (size_t k = 0; k < ARRAY_LEN(want); k++)
                gone[k] |= str_eq(w.name.id, want[k]);
            spool_end(&w, SPOOL_FINISHED);
        }
        assert_false(spool_claim(&w));
        spool_worker_end(&w);
        spool_fs_close(fs);
        clean(state);
        fresh(state);
    }
}

/* ---- tar ---- */

static void make_tar(const char *path)
{
    struct tar_writer *w;
    struct err err = ERR_INIT;
    char big[1500];
    memset(big, 'x', sizeof big);
    assert_int_equal(tar_create(&w, path, &err), 0);
    tar_add(w, "todo/one/act", "ok", 2, &err);
    tar_add(w, "todo/one/cand.cubin", big, sizeof big, &err);
    tar_add(w, "todo/two/act", "crash", 5, &err);
    assert_int_equal(tar_finish(w, true, &err), 0);
}

static void one_tar_each_way(void **state)
{
    char in[128], out[128], cmd[400];
    struct err err = ERR_INIT;
    snprintf(in, sizeof in, "%s/in.tar", root);
    snprintf(out, sizeof out, "%s/out.tar", root);
    make_tar(in);
    if (spool_tar(in, out, &err) < 0)
        fail_msg("%s", err.msg);
    /* The system's tar reads Hone's file, and Hone reads the file of the system's tar. */
    snprintf(cmd, sizeof cmd,
             "cd %s && tar xf out.tar && test -s done/one/result.bin -a -s done/two/result.bin "
             "&& mkdir -p todo/three && printf ok >todo/three/act && tar cf in.tar todo",
             root);
    assert_int_equal(system(cmd), 0);
    if (spool_tar(in, out, &err) < 0)
        fail_msg("%s", err.msg);
    snprintf(cmd, sizeof cmd, "tar tf %s | grep -qx done/three/result.bin", out);
    assert_int_equal(system(cmd), 0);
}

static void refuse(const char *name)
{
    char in[128];
    struct tar_writer *w;
    struct err err = ERR_INIT;
    snprintf(in, sizeof in, "%s/evil.tar", root);
    assert_int_equal(tar_create(&w, in, &err), 0);
    tar_add(w, name, "x", 1, &err);
    assert_int_equal(tar_finish(w, true, &err), 0);
    if (tar_unpack(in, root, &err) == 0)
        fail_msg("'%s' was accepted", name);
}

static void names_that_escape_are_refused(void **state)
{
    static const char *const bad[] = {"../x",       "/etc/x",      "todo/../../x", "todo/a/../b",
                                      "todo/a/b/c", "todo/.a/b",   "todo/a/.b",    "done/a/b",
                                      "todo//b",    "todo/a/b\\c", "todo",         "x",
                                      "todo/a b/c", "todo/a/",     "./../todo/a/b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse(bad[i]);
    assert_int_equal(count("todo"), 0);
}

static void damaged_tars_are_refused(void **state)
{
    char in[128], *data;
    size_t len;
    snprintf(in, sizeof in, "%s/in.tar", root);
    make_tar(in);
    assert_int_equal(bundle_read(root, "in.tar", 1 << 20, &data, &len, NULL), 0);
    for (size_t cut = 0; cut + 1024 < len; cut += 256) {
        bundle_write(root, "cut.tar", data, cut, false, NULL);
        char p[128];
        snprintf(p, sizeof p, "%s/cut.tar", root);
        assert_int_equal(tar_unpack(p, root, NULL), -1);
        char cmd[200];
        snprintf(cmd, sizeof cmd, "rm -rf %s/todo/*", root);
        assert_int_equal(system(cmd), 0);
    }
    for (size_t i = 0; i < 512; i++) { /* the checksum covers every byte of the first header */
        char was = data[i];
        if (i == 155)
            continue; /* the byte after the checksum's NUL has no meaning */
        data[i] ^= 1;
        bundle_write(root, "flip.tar", data, len, false, NULL);
        char p[128];
        snprintf(p, sizeof p, "%s/flip.tar", root);
        assert_int_equal(tar_unpack(p, root, NULL), -1);
        data[i] = was;
    }
    free(data);
}

int main(int argc, char **argv)
{
    if (argc == 2 && argv[1][0] == '/')
        return play(argv[1]);
    /* Workers end hundreds of times, and a search for leaks is slow. So only this process searches
     * for leaks. */
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bundles_are_done, fresh, clean),
        cmocka_unit_test_setup_teardown(a_bundle_that_kills_workers_gets_its_answer, fresh, clean),
        cmocka_unit_test_setup_teardown(a_dead_workers_claim_is_taken_back, fresh, clean),
        cmocka_unit_test_setup_teardown(a_spool_of_others_is_refused, fresh, clean),
        cmocka_unit_test_setup_teardown(a_worker_leaves_what_it_cannot_run, fresh, clean),
        cmocka_unit_test_setup_teardown(a_second_result_is_thrown_away, fresh, clean),
        cmocka_unit_test_setup_teardown(a_worker_waits_for_its_gpu, fresh, clean),
        cmocka_unit_test_setup_teardown(a_worker_says_that_its_gpu_stays_busy, fresh, clean),
        cmocka_unit_test_setup_teardown(a_busy_gpu_does_not_matter_without_bundles, fresh, clean),
        cmocka_unit_test_setup_teardown(a_worker_puts_back_what_it_cannot_begin, fresh, clean),
        cmocka_unit_test_setup_teardown(a_spool_that_cannot_be_listed_is_not_done, fresh, clean),
        cmocka_unit_test_setup_teardown(two_workers_and_kills, fresh, clean),
        cmocka_unit_test(seconds_of_a_name),
        cmocka_unit_test_setup_teardown(slow_runs_go_first, fresh, clean),
        cmocka_unit_test_setup_teardown(one_tar_each_way, fresh, clean),
        cmocka_unit_test_setup_teardown(names_that_escape_are_refused, fresh, clean),
        cmocka_unit_test_setup_teardown(damaged_tars_are_refused, fresh, clean),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
