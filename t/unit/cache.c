/* Tests the compile cache on disk: which entries stay, which are removed first, and what happens to
 * files that killed processes leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "compile/cache.h"
#include "compile/pch.h"
#include "sys/file.h"

static struct temp_dir dir = TEMP_DIR_INIT;
static struct cache cache;

static int set_up(void **state)
{
    struct err err = ERR_INIT;
    return temp_dir_make(&dir, &err) < 0 || cache_open(&cache, dir.path, &err) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    cache_release(&cache);
    temp_dir_release(&dir);
    return 0;
}

static char *path_of(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    return path;
}

static void set_age(const char *path, time_t seconds)
{
    struct timespec t[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void make_file(const char *name, size_t bytes, time_t age)
{
    struct err err = ERR_INIT;
    char *text = xcalloc(1, bytes + 1);
    assert_int_equal(file_write(path_of(name), text, bytes, &err), 0);
    set_age(path_of(name), age);
    free(text);
}

/* Makes a precompiled header, with its checksum, that was built `made` seconds ago and used last
 * `used` seconds ago. */
static void make_header(const char *name, size_t bytes, time_t made, time_t used)
{
    char tmp[256], sum[256];
    snprintf(tmp, sizeof tmp, "%s.1.tmp", name);
    snprintf(sum, sizeof sum, "%s.sum", name);
    make_file(tmp, bytes, 0);
    char *from = xstrdup(path_of(tmp));
    assert_int_equal(pch_seal(from, path_of(name)), 0);
    free(from);
    set_age(path_of(name), used);
    set_age(path_of(sum), made);
    assert_true(pch_valid(path_of(name)));
}

static struct cache_stat prune_to(uint64_t max)
{
    struct cache_stat st;
    struct err err = ERR_INIT;
    if (cache_prune(&cache, max, &st, &err) < 0)
        fail_msg("%s", err.msg);
    return st;
}

static const char key_a[] = "aa00000000000000000000000000000000000000000000000000000000000000";
static const char key_b[] = "bb00000000000000000000000000000000000000000000000000000000000000";

static void entries(void **state)
{
    struct err err = ERR_INIT;
    struct strbuf sb = STRBUF_INIT(1 << 20);
    struct cache_stat st;
    assert_int_equal(cache_put(&cache, key_a, "first", 5, &err), 0);
    assert_int_equal(cache_put(&cache, key_b, "second", 6, &err), 0);
    set_age(path_of("obj/aa/00000000000000000000000000000000000000000000000000000000000000"), 60);
    set_age(path_of("obj/bb/00000000000000000000000000000000000000000000000000000000000000"), 30);
    assert_true(cache_get(&cache, key_a, &sb)); /* makes it young */
    assert_string_equal(sb.buf, "first");
    st = prune_to(100);
    assert_int_equal(st.removed, 1);
    strbuf_clear(&sb);
    assert_true(cache_get(&cache, key_a, &sb));
    assert_false(cache_get(&cache, key_b, &sb));

    FILE *f = fopen(
        path_of("obj/aa/00000000000000000000000000000000000000000000000000000000000000"), "r+");
    assert_non_null(f);
    fputs("XXXXXXXXXX", f);
    fclose(f);
    assert_int_equal(cache_stat(&cache, false, &st, &err), 0);
    assert_int_equal(st.bad, 0);
    assert_int_equal(cache_stat(&cache, true, &st, &err), 0);
    assert_int_equal(st.bad, 1);
    assert_int_equal(st.entries.n, 0);
    assert_false(cache_get(&cache, key_a, &sb));
    strbuf_release(&sb);
}

/* The age of a precompiled header counts from its last use. When a header is removed, its checksum
 * is removed too. */
static void headers(void **state)
{
    struct err err = ERR_INIT;
    struct cache_stat st;
    make_header("pch/0123.pch", 4000, 7200, 10);
    make_header("pch/" PCH_FAMILY "4567.pch", 9000, 60, 60);
    assert_int_equal(cache_stat(&cache, true, &st, &err), 0);
    assert_int_equal(st.headers.n, 1);
    assert_int_equal(st.headers.bytes, 4000);
    assert_int_equal(st.families.n, 1);
    assert_int_equal(st.families.bytes, 9000);
    assert_int_equal(st.temps.n + st.bad, 0);
    assert_in_range(st.total_bytes, 13000, 13200);

    st = prune_to(10000); /* the family header was used longest ago */
    assert_int_equal(st.removed, 1);
    assert_int_equal(st.families.n, 0);
    assert_true(pch_valid(path_of("pch/0123.pch")));
    assert_false(file_exists(path_of("pch/" PCH_FAMILY "4567.pch.sum")));

    make_header("pch/89ab.pch", 100, 4 * 24 * 3600, 4 * 24 * 3600); /* unused for four days */
    st = prune_to(UINT64_MAX);
    assert_int_equal(st.removed, 1);
    assert_false(file_exists(path_of("pch/89ab.pch")));

    make_file("pch/0123.pch", 4000, 0); /* the same length, other bytes */
    FILE *f = fopen(path_of("pch/0123.pch"), "r+");
    assert_non_null(f);
    fputs("damage", f);
    fclose(f);
    assert_int_equal(cache_stat(&cache, true, &st, &err), 0);
    assert_int_equal(st.bad, 1);
    assert_int_equal(st.headers.n, 0);
}

static void leftovers(void **state)
{
    struct cache_stat st;
    static const char *const young[] = {"pch/0123.pch.77.tmp", "pch/0123.pch.sum", "tmp/edg1"};
    static const char *const old[] = {"pch/4567.pch.78.tmp", "pch/4567.pch.sum", "tmp/edg2",
                                      "pch/4567.pch.lock"};
    for (size_t i = 0; i < ARRAY_LEN(young); i++)
        make_file(young[i], 10, 60);
    for (size_t i = 0; i < ARRAY_LEN(old); i++)
        make_file(old[i], 10, 7200);
    make_file("pch/lock", 0, 7200);
    st = prune_to(0);
    assert_int_equal(st.removed, ARRAY_LEN(old));
    assert_int_equal(st.temps.n, ARRAY_LEN(young));
    for (size_t i = 0; i < ARRAY_LEN(young); i++)
        assert_true(file_exists(path_of(young[i])));
    assert_true(file_exists(path_of("pch/lock")));
}

/* Starts a child process that tries to lock `path`. Returns true if the child got the lock within a
 * second. */
static bool child_gets(const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm(1);
        _exit(pch_lock(path) >= 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void locks(void **state)
{
    int fd = pch_lock(path_of("pch/0123.pch"));
    assert_true(fd >= 0);
    assert_true(child_gets(path_of("pch/4567.pch")));
    assert_false(child_gets(path_of("pch/0123.pch")));
    close(fd);
    assert_true(child_gets(path_of("pch/0123.pch")));
    assert_int_equal(pch_lock(path_of("nowhere/0123.pch")), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(entries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(headers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leftovers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(locks, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
