/* Tests child processes: their limits, caps on their output, jails, and that no descendant outlives
 * the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "sys/file.h"
#include "sys/proc.h"

static struct child_process shell(const char *const argv[4])
{
    struct child_process c = CHILD_INIT;
    c.argv = argv;
    c.limit_ns = 20 * SEC;
    return c;
}
#define SHELL(c, script)                                          \
    const char *const c##_argv[4] = {"sh", "-c", (script), NULL}; \
    struct child_process c = shell(c##_argv)

static void test_exit_and_output(void **state)
{
    struct err err = ERR_INIT;
    SHELL(c, "echo out; echo err >&2; exit 7");
    assert_int_equal(child_run(&c, &err), 0);
    assert_int_equal(c.end, CHILD_EXITED);
    assert_int_equal(c.code, 7);
    assert_string_equal(c.out.buf, "out\n");
    assert_string_equal(c.err.buf, "err\n");
    child_release(&c);
}

static void test_input_env_dir(void **state)
{
    struct err err = ERR_INIT;
    SHELL(c, "cat; echo $A$B; pwd");
    const char *env[] = {"A=1", "B", NULL};
    setenv("B", "unset-me", 1);
    c.env = env;
    c.dir = "/";
    c.input = "hello\n";
    c.input_len = 6;
    assert_int_equal(child_run(&c, &err), 0);
    assert_string_equal(c.out.buf, "hello\n1\n/\n");
    child_release(&c);
}

static void test_clean_env(void **state)
{
    struct err err = ERR_INIT;
    setenv("HONE_TEST_SECRET", "sesame", 1);
    SHELL(c, "env");
    c.clean_env = true;
    assert_int_equal(child_run(&c, &err), 0);
    assert_null(strstr(c.out.buf, "sesame"));
    assert_non_null(strstr(c.out.buf, "PATH="));
    child_release(&c);
}

static void test_large_input_ignored(void **state)
{
    struct err err = ERR_INIT;
    size_t n = 4 << 20;
    char *big = xcalloc(n, 1);
    SHELL(c, "exec <&-; echo done");
    c.input = big;
    c.input_len = n;
    assert_int_equal(child_run(&c, &err), 0);
    assert_string_equal(c.out.buf, "done\n");
    child_release(&c);
    free(big);
}

static void test_no_program(void **state)
{
    struct err err = ERR_INIT;
    const char *const argv[] = {"no-such-program-here", NULL};
    struct child_process c = CHILD_INIT;
    c.argv = argv;
    assert_int_equal(child_run(&c, &err), -1);
    assert_int_equal(err.kind, ERR_ENV);
    assert_non_null(strstr(err.msg, "no-such-program-here"));
    child_release(&c);

    SHELL(d, "true");
    d.dir = "/no/such/dir";
    assert_int_equal(child_run(&d, &err), -1);
    assert_non_null(strstr(err.msg, "/no/such/dir"));
    child_release(&d);
}

static void test_signal(void **state)
{
    struct err err = ERR_INIT;
    struct strbuf sb = STRBUF_INIT(200);
    SHELL(c, "kill -SEGV $$");
    assert_int_equal(child_run(&c, &err), 0);
    assert_int_equal(c.end, CHILD_SIGNALED);
    assert_int_equal(c.code, SIGSEGV);
    child_describe(&c, &sb);
    assert_non_null(strstr(sb.buf, "signal 11"));
    strbuf_release(&sb);
    child_release(&c);
}

static void test_time_limit(void **state)
{
    struct err err = ERR_INIT;
    SHELL(c, "echo before; sleep 60");
    c.limit_ns = 200 * MS;
    assert_int_equal(child_run(&c, &err), 0);
    assert_int_equal(c.end, CHILD_TIMEOUT);
    assert_string_equal(c.out.buf, "before\n");
    assert_in_range(c.wall_ns / MS, 190, 5000);
    child_release(&c);
}

/* The CPU time of a grandchild counts towards the limit. */
static void test_cpu_limit(void **state)
{
    struct err err = ERR_INIT;
    struct strbuf sb = STRBUF_INIT(200);
    SHELL(c, "(while :; do :; done) & wait");
    c.limit_cpu_ns = 300 * MS;
    assert_int_equal(child_run(&c, &err), 0);
    assert_int_equal(c.end, CHILD_CPU);
    assert_in_range(c.cpu_ns / MS, 290, 2000);
    child_describe(&c, &sb);
    assert_string_equal(sb.buf, "over its limit of 0.3 s of CPU time");
    strbuf_release(&sb);
    child_release(&c);
}

/* The CPU time of grandchildren that have ended, one after the other, counts too. */
static void test_cpu_limit_of_many(void **state)
{
    struct err err = ERR_INIT;
    SHELL(c, "while :; do (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done); done");
    c.limit_cpu_ns = 500 * MS;
    assert_int_equal(child_run(&c, &err), 0);
    assert_int_equal(c.end, CHILD_CPU);
    child_release(&c);
}

/* Time in which a program waits is not CPU time. */
static void test_waiting_is_not_cpu_time(void **state)
{
    struct err err = ERR_INIT;
    SHELL(c, "sleep 0.6");
    c.limit_cpu_ns = 300 * MS;
    assert_int_equal(child_run(&c, &err), 0);
    assert_int_equal(c.end, CHILD_EXITED);
    child_release(&c);
}

static void test_grace(void **state)
{
    struct err err = ERR_INIT;
    SHELL(c, "trap 'echo polite; exit 0' TERM; while :; do sleep 0.02; done");
    c.limit_ns = 300 * MS;
    c.grace_ns = 10 * SEC;
    assert_int_equal(child_run(&c, &err), 0);
    assert_int_equal(c.end, CHILD_TIMEOUT);
    assert_string_equal(c.out.buf, "polite\n");
    child_release(&c);
}

/* A child that ignores SIGTERM is killed when the grace time is over. */
static void test_grace_refused(void **state)
{
    struct err err = ERR_INIT;
    SHELL(c, "trap '' TERM; while :; do sleep 0.02; done");
    c.limit_ns = 100 * MS;
    c.grace_ns = 200 * MS;
    assert_int_equal(child_run(&c, &err), 0);
    assert_int_equal(c.end, CHILD_TIMEOUT);
    assert_in_range(c.wall_ns / MS, 290, 5000);
    child_release(&c);
}

/* A grandchild uses 300 MB of memory, and the limit is 100 MB. */
static void test_memory_limit(void **state)
{
    struct err err = ERR_INIT;
    SHELL(c, "perl -e 'my $x = \"a\" x 300_000_000; sleep 60' & wait");
    c.limit_bytes = 100 << 20;
    assert_int_equal(child_run(&c, &err), 0);
    assert_int_equal(c.end, CHILD_MEMORY);
    assert_true(c.peak_bytes > c.limit_bytes);
    child_release(&c);
}

/* Reserved memory does not count as used: CUDA and sanitizers reserve much. */
static void test_reserved_memory_is_free(void **state)
{
    struct err err = ERR_INIT;
    SHELL(c, "exit 0");
    c.limit_bytes = 50 << 20;
    const char *const argv[] = {"/proc/self/exe", "--reserve", NULL};
    c.argv = argv;
    assert_int_equal(child_run(&c, &err), 0);
    assert_int_equal(c.end, CHILD_EXITED);
    assert_int_equal(c.code, 0);
    child_release(&c);
}

static void test_output_cap(void **state)
{
    struct err err = ERR_INIT;
    SHELL(c, "head -c 20000000 /dev/zero | tr '\\0' x; echo >&2 fine");
    c.max_out = 1000;
    assert_int_equal(child_run(&c, &err), 0);
    assert_int_equal(c.end, CHILD_EXITED);
    assert_int_equal(c.out.len, 1000);
    assert_true(c.out.truncated);
    assert_string_equal(c.err.buf, "fine\n");
    child_release(&c);
}

static bool alive(pid_t pid)
{
    return kill(pid, 0) == 0;
}

/* Waits until a file contains "PID\n", and returns the number, or 0 after 5 seconds. */
static pid_t pid_in(const char *path)
{
    struct strbuf sb = STRBUF_INIT(100);
    pid_t pid = 0;
    for (int i = 0; i < 500 && !pid; i++) {
        strbuf_clear(&sb);
        if (file_read(path, 100, &sb, NULL) == 0 && strchr(sb.buf, '\n'))
            pid = atoi(sb.buf);
        else
            usleep(10000);
    }
    strbuf_release(&sb);
    return pid;
}

/* A descendant becomes a daemon: it has its own session, its parent ends, and its output goes
 * elsewhere. It is killed when the program ends. */
static void test_descendants_die(void **state)
{
    struct err err = ERR_INIT;
    struct temp_dir t;
    assert_int_equal(temp_dir_make(&t, &err), 0);
    char *file = xasprintf("%s/pid", t.path);
    char *script = xasprintf("setsid sh -c 'setsid sleep 600 >/dev/null 2>&1 & echo $! >%s.tmp; "
                             "mv %s.tmp %s' >/dev/null 2>&1 & wait; while ! [ -s %s ]; do sleep "
                             "0.01; done; echo gone",
                             file, file, file, file);
    SHELL(c, script);
    assert_int_equal(child_run(&c, &err), 0);
    assert_int_equal(c.end, CHILD_EXITED);
    assert_string_equal(c.out.buf, "gone\n");
    pid_t daemon = pid_in(file);
    assert_true(daemon > 1);
    assert_false(alive(daemon));
    child_release(&c);
    free(script);
    free(file);
    temp_dir_release(&t);
}

/* If Hone is killed with SIGKILL, its children must not outlive it. */
static void test_parent_dies(void **state)
{
    struct err err = ERR_INIT;
    struct temp_dir t;
    assert_int_equal(temp_dir_make(&t, &err), 0);
    char *file = xasprintf("%s/pid", t.path);
    char *script = xasprintf("echo $$ >%s; exec sleep 600", file);
    pid_t hone = fork();
    if (hone == 0) {
        SHELL(c, script);
        child_run(&c, NULL);
        _exit(0);
    }
    pid_t program = pid_in(file);
    assert_true(program > 1 && alive(program));
    kill(hone, SIGKILL);
    waitpid(hone, NULL, 0);
    for (int i = 0; i < 500 && alive(program); i++)
        usleep(10000);
    assert_false(alive(program));
    free(script);
    free(file);
    temp_dir_release(&t);
}

/* If the supervisor itself is killed, the program ends too, and Hone is told. */
static void test_supervisor_dies(void **state)
{
    struct err err = ERR_INIT;
    struct loop *l = loop_new();
    SHELL(c, "sleep 600");
    assert_int_equal(child_start(&c, l, &err), 0);
    pid_t program = c.pid;
    kill(c.super_pid, SIGKILL);
    while (c.end == CHILD_RUNNING)
        assert_true(loop_step(l, 10 * SEC, &err) > 0);
    assert_int_equal(c.end, CHILD_SIGNALED);
    for (int i = 0; i < 500 && alive(program); i++)
        usleep(10000);
    assert_false(alive(program));
    child_release(&c);
    loop_free(l);
}

static void count_end(struct child_process *c, void *ctx)
{
    ++*(int *)ctx;
}

static void test_many_in_one_loop(void **state)
{
    struct err err = ERR_INIT;
    struct loop *l = loop_new();
    struct child_process c[8];
    const char *const argv[] = {"sh", "-c", "sleep 0.1; echo hi", NULL};
    const char *const slow[] = {"sleep", "60", NULL};
    int ended = 0;
    uint64_t start = now_ns();
    for (int i = 0; i < 8; i++) {
        c[i] = (struct child_process)CHILD_INIT;
        c[i].argv = i == 7 ? slow : argv;
        c[i].on_end = count_end;
        c[i].ctx = &ended;
        assert_int_equal(child_start(&c[i], l, &err), 0);
    }
    while (ended < 7)
        assert_true(loop_step(l, 10 * SEC, &err) > 0);
    child_release(&c[7]);
    assert_int_equal(c[7].end, CHILD_KILLED);
    assert_string_equal(c[3].out.buf, "hi\n");
    assert_in_range((now_ns() - start) / MS, 100, 8000);
    for (int i = 0; i < 8; i++)
        child_release(&c[i]);
    loop_free(l);
}

static void test_release_kills(void **state)
{
    struct err err = ERR_INIT;
    struct loop *l = loop_new();
    SHELL(c, "sleep 60");
    assert_int_equal(child_start(&c, l, &err), 0);
    pid_t pid = c.pid;
    assert_true(alive(pid));
    child_release(&c);
    assert_false(alive(pid));
    loop_free(l);
}

static void test_pass_fd(void **state)
{
    struct err err = ERR_INIT;
    int p[2];
    assert_int_equal(pipe(p), 0);
    SHELL(c, "echo through >&3");
    c.pass_fd = p[1];
    assert_int_equal(child_run(&c, &err), 0);
    close(p[1]);
    char buf[32] = "";
    assert_int_equal(read(p[0], buf, sizeof buf - 1), 8);
    assert_string_equal(buf, "through\n");
    close(p[0]);
    child_release(&c);
}

static void test_file_limit(void **state)
{
    struct err err = ERR_INIT;
    struct temp_dir t;
    assert_int_equal(temp_dir_make(&t, &err), 0);
    SHELL(c, "head -c 5000000 /dev/zero > big");
    c.dir = t.path;
    c.limit_file_bytes = 100000;
    assert_int_equal(child_run(&c, &err), 0);
    assert_true(c.end != CHILD_EXITED || c.code != 0);
    child_release(&c);
    temp_dir_release(&t);
}

/* ---- jails ---------------------------------------------------------------------------------- */

/* A jailed program and its children read and write only what the jail allows. */
static void test_jail_files(void **state)
{
    static const char *const system[] = {"/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache",
                                         NULL};
    struct err err = ERR_INIT;
    struct temp_dir in = TEMP_DIR_INIT, out = TEMP_DIR_INIT;
    char script[2000];
    if (!jail_can_limit_files())
        skip();
    assert_int_equal(temp_dir_make(&in, &err), 0);
    assert_int_equal(temp_dir_make(&out, &err), 0);
    const char *const write[] = {in.path, "/dev/null", NULL};
    struct jail jail = {.read = system, .write = write};
    snprintf(script, sizeof script,
             "cd %s; echo a >mine && mv mine ours && echo wrote; sh -c 'cat /etc/passwd'; "
             "echo b >%s/theirs; kill -0 %d; ls %s",
             in.path, out.path, (int)getpid(), out.path);
    SHELL(c, script);
    c.jail = &jail;
    assert_int_equal(child_run(&c, &err), 0);
    assert_string_equal(c.out.buf, "wrote\n");
    assert_non_null(strstr(c.err.buf, "/etc/passwd: Permission denied"));
    assert_non_null(strstr(c.err.buf, "theirs: Permission denied"));
    child_release(&c);
    temp_dir_release(&in);
    temp_dir_release(&out);
}

/* A program in a jail prints the families of sockets that it can still make: 1 = Unix, 2 = IPv4,
 * 10 = IPv6, 16 = netlink. */
static void test_jail_network(void **state)
{
    static const struct {
        enum jail_net net;
        const char *wanted;
    } rows[] = {
        {JAIL_NET_ALL, "pair 1 2 16 "}, {JAIL_NET_LOCAL, "pair 1 "}, {JAIL_NET_NONE, "pair "}};
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct jail jail = {.net = rows[i].net};
        const char *argv[] = {self, "--sockets", NULL};
        struct child_process c = CHILD_INIT;
        c.argv = argv;
        c.limit_ns = 20 * SEC;
        c.jail = &jail;
        assert_int_equal(child_run(&c, &err), 0);
        assert_string_equal(c.out.buf, rows[i].wanted);
        child_release(&c);
    }
}

static void note_end(struct child_process *c, void *ctx)
{
    *(bool *)ctx = true;
}

/* child_terminate() sends SIGTERM, so that the program can end by itself. */
static void test_terminate(void **state)
{
    struct err err = ERR_INIT;
    struct loop *l = loop_new();
    bool ended = false;
    SHELL(c, "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.02; done");
    c.grace_ns = 10 * SEC;
    c.on_end = note_end;
    c.ctx = &ended;
    assert_int_equal(child_start(&c, l, &err), 0);
    while (!c.out.len)
        assert_true(loop_step(l, 5 * SEC, &err) >= 0);
    child_terminate(&c);
    while (!ended)
        assert_true(loop_step(l, 5 * SEC, &err) >= 0);
    assert_int_equal(c.end, CHILD_KILLED);
    assert_int_equal(c.code, 3);
    assert_string_equal(c.out.buf, "ready\nbye\n");
    child_release(&c);
    loop_free(l);
}

static int print_sockets(void)
{
    static const int families[] = {AF_UNIX, AF_INET, AF_NETLINK};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0)
        printf("pair ");
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        if (socket(families[i], SOCK_DGRAM, 0) >= 0)
            printf("%d ", families[i]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--reserve") == 0) {
        void *p = mmap(NULL, (size_t)1 << 40, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        usleep(100000);
        return p == MAP_FAILED;
    }
    if (argc == 2 && strcmp(argv[1], "--sockets") == 0)
        return print_sockets();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_and_output),
        cmocka_unit_test(test_input_env_dir),
        cmocka_unit_test(test_clean_env),
        cmocka_unit_test(test_large_input_ignored),
        cmocka_unit_test(test_no_program),
        cmocka_unit_test(test_signal),
        cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_cpu_limit),
        cmocka_unit_test(test_cpu_limit_of_many),
        cmocka_unit_test(test_waiting_is_not_cpu_time),
        cmocka_unit_test(test_grace),
        cmocka_unit_test(test_grace_refused),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_reserved_memory_is_free),
        cmocka_unit_test(test_output_cap),
        cmocka_unit_test(test_descendants_die),
        cmocka_unit_test(test_parent_dies),
        cmocka_unit_test(test_supervisor_dies),
        cmocka_unit_test(test_many_in_one_loop),
        cmocka_unit_test(test_release_kills),
        cmocka_unit_test(test_pass_fd),
        cmocka_unit_test(test_file_limit),
        cmocka_unit_test(test_jail_files),
        cmocka_unit_test(test_jail_network),
        cmocka_unit_test(test_terminate),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
