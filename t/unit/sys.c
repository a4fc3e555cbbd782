/* Tests most of sys/: files, JSON, hashes, the loop, the progress line, options, and how tools are
 * found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include "base/options.h"
#include "base/util.h"
#include "sys/asset.h"
#include "sys/dl.h"
#include "sys/file.h"
#include "sys/hash.h"
#include "sys/interrupt.h"
#include "sys/json.h"
#include "sys/loop.h"
#include "sys/term.h"
#include "sys/toolchain.h"

static struct temp_dir tmp;

static char *in_tmp(const char *name)
{
    static char *path;
    free(path);
    path = xasprintf("%s/%s", tmp.path, name);
    return path;
}

static int make_tmp(void **state)
{
    return temp_dir_make(&tmp, NULL);
}

static int drop_tmp(void **state)
{
    in_tmp("");
    temp_dir_release(&tmp);
    return 0;
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void bad_json(const char *text, size_t len, const char *where)
{
    struct err err = ERR_INIT;
    assert_null(json_read_text(text, len, "f", NULL, &err));
    if (!strstr(err.msg, where))
        fail_msg("'%s' does not say '%s'", err.msg, where);
}

static void test_json_errors(void **state)
{
    bad_json("", 0, "f: empty");
    bad_json("{\n  \"a\": 1,\n  \"a\": 2 }", 22, "f:3:");
    bad_json("{\n  \"a\": 1,\n  \"a\": 2 }", 22, "duplicate");
    bad_json("{\"a\": tru}", 10, "f:1:");
    bad_json("[1, 2", 5, "f:1:");
    bad_json("[1] x", 5, "f:1:");
    bad_json("[\"\xff\xfe\"]", 6, "f:1:");
    bad_json("\x7f"
             "ELF\0\0",
             6, "f:1:");
    bad_json("[NaN]", 5, "f:1:");
    bad_json("[1e999]", 7, "f:1:");
    bad_json("[99999999999999999999]", 22, "f:1:");
    bad_json("[\"a\0b\"]", 7, "f:1:");
}

static void test_json_text(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {NULL, ""},
        {"h\xc3\xa9!", "h\xc3\xa9!"},
        {"\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"a\xc3", "a\xef\xbf\xbd"},
        {"\xc3\xa9\xc0\xafz", "\xc3\xa9\xef\xbf\xbd\xef\xbf\xbdz"}, /* an overlong form */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},   /* a surrogate */
        {"\xff\xf0\x9f\x98\x80", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
        {"\xf4\x90\x80\x80.", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd."},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *j = json_text(cases[i].in);
        assert_non_null(j);
        assert_string_equal(json_string_value(j), cases[i].out);
        json_decref(j);
    }
}

static void test_json_depth(void **state)
{
    size_t n = 100000;
    char *deep = xmalloc(n);
    memset(deep, '[', n);
    bad_json(deep, n, "f:1:65: nested more than 64 deep");
    free(deep);
    struct err err = ERR_INIT;
    /* Brackets inside a string do not count as nested. */
    const char *flat = "[\"[[[[[[[[\\\"[[[[\"]";
    json_t *j = json_read_text(flat, strlen(flat), "f", &(struct json_caps){0, 2}, &err);
    assert_non_null(j);
    json_decref(j);
    assert_null(json_read_text("[1,2]", 5, "f", &(struct json_caps){4, 0}, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
}

static void test_json_file(void **state)
{
    struct err err = ERR_INIT;
    json_t *j = json_pack("{s:i, s:[f,b]}", "a", 1, "b", 0.1, 1);
    struct strbuf sb = STRBUF_INIT(1000);
    json_add_text(&sb, j, true);
    assert_int_equal(file_write(in_tmp("x.json"), sb.buf, sb.len, &err), 0);
    strbuf_release(&sb);
    json_t *k = json_read_file(in_tmp("x.json"), NULL, &err);
    assert_true(json_equal(j, k));
    json_decref(j);
    json_decref(k);
    assert_null(json_read_file(in_tmp("none.json"), NULL, &err));
    assert_non_null(strstr(err.msg, "none.json"));
    assert_null(json_read_file(tmp.path, NULL, &err));
    assert_non_null(strstr(err.msg, "directory"));
}

static void test_json_numbers(void **state)
{
    static const double values[] = {0, -1.5, 1e300, INFINITY, -INFINITY, NAN, 0.1};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        json_t *j = json_from_double(values[i]);
        double back = 42;
        assert_int_equal(json_get_double(j, &back), 0);
        assert_true(back == values[i] || (isnan(back) && isnan(values[i])));
        json_decref(j);
    }
    json_t *bad = json_string("infinite"), *n = json_integer(7);
    double d = 0;
    assert_int_equal(json_get_double(bad, &d), -1);
    assert_int_equal(json_get_double(NULL, &d), -1);
    assert_int_equal(json_get_double(n, &d), 0);
    assert_true(d == 7);
    json_decref(bad);
    json_decref(n);
}

static void test_json_places(void **state)
{
    static const char text[] = "{\n"
                               "  \"inputs\": {\"x\": {\"shape\": [\"R\", \"C\"]},\n"
                               "             \"a/b~\": [[1], {\"y\\u0041\": 5}]},\n"
                               "  \"last\": true\n"
                               "}\n";
    static const struct {
        const char *pointer;
        bool key;
        unsigned line, column;
    } cases[] = {
        {"", false, 1, 1},
        {"/inputs", true, 2, 3},
        {"/inputs", false, 2, 13},
        {"/inputs/x/shape/1", false, 2, 35},
        {"/inputs/a~1b~0/1/yA", false, 3, 40},
        {"/inputs/a~1b~0/0/0", false, 3, 24},
        {"/last", false, 4, 11},
    };
    struct json_place p;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_true(json_find_place(text, sizeof text - 1, cases[i].pointer, cases[i].key, &p));
        if (p.line != cases[i].line || p.column != cases[i].column)
            fail_msg("%s: %u:%u", cases[i].pointer, p.line, p.column);
    }
    assert_false(json_find_place(text, sizeof text - 1, "/none", false, &p));
    assert_false(json_find_place(text, sizeof text - 1, "/last/deeper", false, &p));
    assert_false(json_find_place(text, sizeof text - 1, "/inputs/a~1b~0/7", false, &p));
}

/* ---- hashes and files ----------------------------------------------------------------------- */

static void test_hash(void **state)
{
    char hex[HASH_HEX], other[HASH_HEX];
    hash_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    struct hash *h = hash_new(), *g = hash_new();
    hash_str(h, "ab"), hash_str(h, "c");
    hash_str(g, "a"), hash_str(g, "bc");
    hash_finish(h, hex), hash_finish(g, other);
    assert_string_not_equal(hex, other);
}

static void test_file_replace(void **state)
{
    struct err err = ERR_INIT;
    struct strbuf sb = STRBUF_INIT(100);
    assert_int_equal(dir_make(in_tmp("replace"), &err), 0);
    /* A process that was killed may leave a partial file, which may be longer than the new one. */
    assert_int_equal(file_write(in_tmp("replace/f.partial"), "a long rest", 11, &err), 0);
    assert_int_equal(file_replace(in_tmp("replace/f"), "one", 3, &err), 0);
    assert_int_equal(file_read(in_tmp("replace/f"), 100, &sb, &err), 0);
    assert_string_equal(sb.buf, "one");
    assert_false(file_exists(in_tmp("replace/f.partial")));
    /* Here another process is writing: it has locked the partial file. */
    int fd = open(in_tmp("replace/f.partial"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(file_replace(in_tmp("replace/f"), "two", 3, &err), -1);
    assert_non_null(strstr(err.msg, "another process is writing"));
    close(fd);
    assert_int_equal(file_replace(in_tmp("replace/f"), "two", 3, &err), 0);
    assert_int_equal(file_replace(in_tmp("replace/no/f"), "x", 1, &err), -1);
    strbuf_release(&sb);
}

static void test_file_round_trip(void **state)
{
    struct err err = ERR_INIT;
    struct strbuf sb = STRBUF_INIT(1 << 20);
    assert_int_equal(dir_make(in_tmp("a/b//c/"), &err), 0);
    assert_int_equal(dir_make(in_tmp("a/b/c"), &err), 0);
    assert_int_equal(file_write(in_tmp("a/b/c/f"), "one", 3, &err), 0);
    assert_int_equal(file_write(in_tmp("a/b/c/f"), "two\0!", 5, &err), 0);
    assert_int_equal(file_read(in_tmp("a/b/c/f"), 100, &sb, &err), 0);
    assert_int_equal(sb.len, 5);
    assert_memory_equal(sb.buf, "two\0!", 6);
    assert_int_equal(file_read(in_tmp("a/b/c/f"), 4, &sb, &err), -1);
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_int_equal(file_write(in_tmp("no/such/f"), "x", 1, &err), -1);
    assert_int_equal(dir_make(in_tmp("a/b/c/f"), &err), -1);
    assert_int_equal(dir_make(in_tmp("a/b/c/f/g"), &err), -1);
    struct name_vec names = VEC_INIT;
    assert_int_equal(dir_list(in_tmp("a/b/c"), &names, &err), 0);
    assert_int_equal(names.n, 1); /* no temporary file is left over */
    assert_string_equal(names.items[0], "f");
    name_vec_release(&names);
    strbuf_release(&sb);
}

/* A FIFO or a device in place of a file is refused at once, and the reader does not wait. */
static void test_file_strange(void **state)
{
    struct err err = ERR_INIT;
    struct strbuf sb = STRBUF_INIT(100);
    assert_int_equal(mkfifo(in_tmp("fifo"), 0600), 0);
    assert_int_equal(file_read(in_tmp("fifo"), 100, &sb, &err), -1);
    assert_int_equal(file_read("/dev/zero", 100, &sb, &err), -1);
    assert_non_null(strstr(err.msg, "not a file"));
    /* A huge sparse file is refused because of its size, before it is read. */
    int fd = open(in_tmp("huge"), O_CREAT | O_WRONLY, 0600);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    close(fd);
    assert_int_equal(file_read(in_tmp("huge"), 1 << 20, &sb, &err), -1);
    assert_int_equal(err.kind, ERR_LIMIT);
    strbuf_release(&sb);
}

static void test_path_from_here(void **state)
{
    static const struct {
        const char *path, *want;
    } rows[] = {{"here", "."},
                {"here/x", "x"},
                {"", ".."},
                {"hereby", "../hereby"},
                {"here/none", NULL /* the path stays as it is */}};
    struct err err = ERR_INIT;
    char *was = getcwd(NULL, 0), *got;
    assert_int_equal(dir_make(in_tmp("here/x"), &err), 0);
    assert_int_equal(dir_make(in_tmp("hereby"), &err), 0);
    assert_int_equal(chdir(in_tmp("here")), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        got = path_from_here(in_tmp(rows[i].path));
        assert_string_equal(got, rows[i].want ? rows[i].want : in_tmp(rows[i].path));
        free(got);
    }
    assert_int_equal(chdir("/"), 0);
    got = path_from_here("/usr/bin/..");
    assert_string_equal(got, "usr");
    free(got);
    assert_int_equal(chdir("/usr"), 0);
    got = path_from_here("/");
    assert_string_equal(got, "..");
    free(got);
    assert_int_equal(chdir(was), 0);
    free(was);
}

static void test_dir_remove_keeps_link_targets(void **state)
{
    struct err err = ERR_INIT;
    dir_make(in_tmp("keep"), &err);
    file_write(in_tmp("keep/f"), "x", 1, &err);
    dir_make(in_tmp("gone/deep/er"), &err);
    file_write(in_tmp("gone/deep/f"), "x", 1, &err);
    char *target = xstrdup(in_tmp("keep"));
    assert_int_equal(symlink(target, in_tmp("gone/link")), 0);
    assert_int_equal(dir_remove(in_tmp("gone"), &err), 0);
    assert_false(file_exists(in_tmp("gone")));
    assert_true(file_exists(in_tmp("keep/f")));
    assert_int_equal(dir_remove(in_tmp("gone"), &err), 0);
    free(target);
}

/* If a path leads to a device or a pipe, a write goes there, and does not replace it by a file. */
static void test_file_write_to_a_pipe(void **state)
{
    struct err err = ERR_INIT;
    struct stat st;
    char got[8] = "";
    char *pipe_name = xstrdup(in_tmp("pipe"));
    assert_int_equal(mkfifo(pipe_name, 0600), 0);
    assert_int_equal(file_write(pipe_name, "lost", 4, &err), -1); /* nobody reads it */
    int fd = open(pipe_name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(file_write(pipe_name, "one", 3, &err), 0);
    assert_int_equal(file_replace(pipe_name, "two", 3, &err), 0);
    assert_int_equal(read(fd, got, sizeof got), 6);
    assert_memory_equal(got, "onetwo", 6);
    close(fd);
    assert_int_equal(lstat(pipe_name, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    free(pipe_name);

    fd = open(in_tmp("out"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "a", 1), 1);
    char *link = xasprintf("/proc/self/fd/%d", fd); /* as /dev/stdout */
    assert_int_equal(file_write(link, "b", 1, &err), 0);
    assert_int_equal(pread(fd, got, sizeof got, 0), 2);
    assert_memory_equal(got, "ab", 2);
    free(link);
    close(fd);

    /* Other links are replaced, and their targets stay. */
    assert_int_equal(file_write(in_tmp("target"), "old", 3, &err), 0);
    assert_int_equal(symlink("target", in_tmp("link")), 0);
    assert_int_equal(file_write(in_tmp("link"), "new", 3, &err), 0);
    assert_int_equal(lstat(in_tmp("link"), &st), 0);
    assert_true(S_ISREG(st.st_mode));
}

/* temp_dir_sweep() removes the directories that killed processes left. Those in use stay. */
static void test_temp_dir_sweep(void **state)
{
    struct temp_dir mine;
    const char *old = getenv("TMPDIR");
    char *saved = old ? xstrdup(old) : NULL, *root = xstrdup(in_tmp("tmproot"));
    assert_int_equal(dir_make(root, NULL), 0);
    setenv("TMPDIR", root, 1);
    assert_int_equal(temp_dir_make(&mine, NULL), 0);
    int p[2];
    char left[4096] = "";
    assert_int_equal(pipe(p), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct temp_dir t;
        temp_dir_make(&t, NULL);
        if (write(p[1], t.path, strlen(t.path)) < 0)
            _exit(1);
        _exit(0); /* does not release t, as if SIGKILL had ended the process */
    }
    waitpid(pid, NULL, 0);
    assert_true(read(p[0], left, sizeof left - 1) > 0);
    struct utimbuf old_times = {1000, 1000};
    utime(left, &old_times);
    utime(mine.path, &old_times);
    temp_dir_sweep();
    assert_false(file_exists(left));
    assert_true(file_exists(mine.path));
    temp_dir_release(&mine);
    if (saved)
        setenv("TMPDIR", saved, 1);
    else
        unsetenv("TMPDIR");
    close(p[0]), close(p[1]);
    free(saved);
    free(root);
}

static void test_user_dirs(void **state)
{
    struct strbuf sb = STRBUF_INIT(4096);
    struct err err = ERR_INIT;
    setenv("HONE_CACHE_DIR", in_tmp("own/cache"), 1);
    assert_int_equal(user_cache_dir(&sb, &err), 0);
    assert_string_equal(sb.buf, in_tmp("own/cache"));
    assert_true(file_is_dir(sb.buf));
    unsetenv("HONE_CACHE_DIR");
    setenv("XDG_CACHE_HOME", in_tmp("xdg"), 1);
    assert_int_equal(user_cache_dir(&sb, &err), 0);
    assert_string_equal(sb.buf, in_tmp("xdg/hone"));
    unsetenv("XDG_CACHE_HOME");
    strbuf_release(&sb);
}

static void test_assets(void **state)
{
    for (size_t i = 0; i < nassets; i++) {
        assert_ptr_equal(asset_find(assets[i].path), &assets[i]);
        assert_int_equal(assets[i].data[assets[i].len], 0);
        assert_true(i == 0 || strcmp(assets[i - 1].path, assets[i].path) < 0);
    }
    const struct asset *a = asset_find("src/task/hone_ref.h");
    assert_non_null(a);
    assert_non_null(strstr(a->data, "HONE_REF_H"));
    assert_null(asset_find("tasks"));
    assert_null(asset_first("zzz"));
    assert_ptr_equal(asset_first(""), &assets[0]);
}

/* ---- loop --------------------------------------------------------------------------------- */

/* The first signal ends the loop's waiting. A second signal right after it counts as the same one.
 * If the process goes on, a later second signal ends it. */
static void test_interrupt(void **state)
{
    static const int pairs[][2] = {{SIGINT, SIGINT}, {SIGTERM, SIGHUP}};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        int p[2], status = 0;
        char byte = 0;
        assert_int_equal(pipe(p), 0);
        pid_t pid = fork();
        if (pid == 0) {
            struct loop *l = loop_new();
            struct err err = ERR_INIT;
            signal(pairs[i][0], SIG_DFL); /* a shell or nohup may have set them to be ignored */
            signal(pairs[i][1], SIG_DFL);
            interrupt_catch();
            bool before = interrupted() || interrupt_check(&err) != 0;
            if (write(p[1], "1", 1) != 1 || loop_step(l, 20 * SEC, &err) != -1 || before)
                _exit(1);
            if (!interrupted() || !str_eq(err.msg, "interrupted"))
                _exit(2);
            raise(pairs[i][1]);
            usleep(300000);
            if (write(p[1], "2", 1) != 1)
                _exit(3);
            for (;;)
                pause();
        }
        assert_true(pid > 0);
        close(p[1]);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(read(p[0], &byte, 1), 1);
            assert_int_equal(byte, '1' + k);
            assert_int_equal(kill(pid, pairs[i][k]), 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), INTERRUPT_EXIT);
        close(p[0]);
    }
}

/* interrupt_catch() does not catch a signal that is ignored, such as SIGHUP under nohup. After
 * interrupt_default(), that signal is still ignored, and another one ends the process again. */
static void test_interrupt_default(void **state)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGHUP, SIG_IGN);
        signal(SIGTERM, SIG_DFL);
        interrupt_catch();
        raise(SIGHUP);
        if (interrupted())
            _exit(1);
        interrupt_default();
        raise(SIGHUP);
        raise(SIGTERM);
        _exit(2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void read_one(struct loop *l, int fd, short revents, void *ctx)
{
    char c = '?';
    if (read(fd, &c, 1) == 1)
        strbuf_addc(ctx, c);
    else
        loop_unwatch(l, fd);
}

static void test_loop_fds(void **state)
{
    struct strbuf sb = STRBUF_INIT(100);
    struct loop *l = loop_new();
    int p[2];
    assert_int_equal(pipe(p), 0);
    loop_watch(l, p[0], POLLIN, read_one, &sb);
    assert_int_equal(loop_step(l, 0, NULL), 0);
    assert_int_equal(write(p[1], "xy", 2), 2);
    close(p[1]);
    while (loop_step(l, 100 * MS, NULL) > 0)
        continue;
    assert_string_equal(sb.buf, "xy");
    close(p[0]);
    strbuf_release(&sb);
    loop_free(l);
}

/* ---- terminal ----------------------------------------------------------------------------- */

static void test_term_clean(void **state)
{
    char a[] = "evil\x1b[2Jtext\n";
    term_clean(a, 80);
    assert_string_equal(a, "evil?[2Jtext ");
    char b[] = "0123456789abcdef";
    term_clean(b, 10);
    assert_string_equal(b, "0123456...");
    char c[] = "gr\xc3\xbc\xc3\x9f"
               "e aus Z\xc3\xbcrich";
    term_clean(c, 8);
    assert_string_equal(c, "gr\xc3\xbc\xc3\x9f"
                           "e...");
    char d[] = "ab";
    term_clean(d, 1);
    assert_true(strlen(d) <= 3);
}

static void test_progress_plain(void **state)
{
    FILE *f = fopen(in_tmp("progress"), "w+");
    struct progress p;
    progress_init(&p, f);
    for (int i = 0; i < 1000; i++)
        progress_show(&p, "step %d", i);
    progress_say(&p, "a line that stays");
    progress_end(&p);
    rewind(f);
    char buf[4096];
    size_t n = fread(buf, 1, sizeof buf - 1, f);
    buf[n] = '\0';
    assert_string_equal(buf, "step 0\na line that stays\n");
    fclose(f);
}

/* ---- options ------------------------------------------------------------------------------ */

struct parsed {
    bool json, quick;
    int verbose;
    const char *gpu;
    int64_t n;
    uint64_t seed, bytes, ns;
    double real;
    struct str_vec against;
};

static enum options_status parse(struct parsed *o, int *argc, const char **argv, struct err *err)
{
    const struct option opts[] = {
        OPT_FLAG('j', "json", &o->json, "print JSON"),
        OPT_FLAG(0, "quick", &o->quick, "hurry"),
        OPT_COUNT('v', "verbose", &o->verbose, "say more"),
        OPT_GROUP("Numbers"),
        OPT_STR('g', "gpu", &o->gpu, "NAME", "the GPU"),
        OPT_INT('n', "number", &o->n, "N", "a number"),
        OPT_UINT(0, "seed", &o->seed, "N", "a seed"),
        OPT_POS_UINT_MOST(0, "jobs", &o->seed, 64, "N", "jobs"),
        OPT_BYTES(0, "memory", &o->bytes, "SIZE", "memory"),
        OPT_TIME(0, "limit", &o->ns, "TIME", "time"),
        OPT_REAL(0, "ratio", &o->real, "X", "a ratio"),
        OPT_STRS(0, "against", &o->against, "FILE", "another\nkernel"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone test [options] FILE", .example = "hone test x", .opts = opts};
    enum options_status s = options_parse(&spec, argc, argv, err);
    if (s == OPTIONS_HELP) {
        FILE *f = fopen("/dev/null", "w");
        options_help(&spec, f);
        fclose(f);
    }
    return s;
}

static void test_options_good(void **state)
{
    struct parsed o = {.quick = true, .against = VEC_INIT};
    const char *argv[] = {"test",    "a.cu",   "-jvv",      "--no-quick", "--gpu=h200",  "-n-010",
                          "--seed",  "0x10",   "--memory",  "1.5K",       "--limit",     "250ms",
                          "--ratio", "1e-3",   "--against", "x",          "--against=y", "-",
                          "--",      "--json", NULL};
    int argc = ARRAY_LEN(argv) - 1;
    struct err err = ERR_INIT;
    assert_int_equal(parse(&o, &argc, argv, &err), OPTIONS_OK);
    assert_true(o.json && !o.quick && o.verbose == 2);
    assert_string_equal(o.gpu, "h200");
    assert_int_equal(o.n, -10); /* a leading 0 does not make the number octal */
    assert_int_equal(o.seed, 16);
    assert_int_equal(o.bytes, 1536);
    assert_int_equal(o.ns, 250000000);
    assert_true(o.real == 1e-3);
    assert_int_equal(o.against.n, 2);
    assert_int_equal(argc, 3);
    assert_string_equal(argv[0], "a.cu");
    assert_string_equal(argv[1], "-");
    assert_string_equal(argv[2], "--json");
    assert_null(argv[3]);
    vec_release(&o.against);
}

static void bad_option(const char *arg, const char *says)
{
    struct parsed o = {.against = VEC_INIT};
    const char *argv[] = {"test", arg, NULL};
    int argc = 2;
    struct err err = ERR_INIT;
    assert_int_equal(parse(&o, &argc, argv, &err), OPTIONS_BAD);
    if (!strstr(err.msg, says))
        fail_msg("'%s' does not say '%s'", err.msg, says);
}

static void test_options_bad(void **state)
{
    bad_option("--jsno", "did you mean --json?");
    bad_option("--gpu", "needs NAME");
    bad_option("-g", "needs NAME");
    bad_option("--json=1", "takes no value");
    bad_option("--number=5x", "an integer, not '5x'");
    bad_option("--number=", "an integer");
    bad_option("--number=99999999999999999999", "an integer");
    bad_option("--seed=-1", "not negative");
    bad_option("--seed=0b1", "an integer");
    bad_option("--jobs=65", "option --jobs takes at most 64, not '65'");
    bad_option("--jobs=0", "above 0");
    bad_option("--memory=5X", "a size");
    bad_option("--memory=1e300G", "a size");
    bad_option("--limit=-1s", "a time");
    bad_option("--ratio=nan", "a number");
    bad_option("-x", "unknown option -x");
    bad_option("--zzzzzz", "unknown option --zzzzzz");
    bad_option("--no-gpu", "unknown option --no-gpu");
    struct parsed o = {.against = VEC_INIT};
    const char *argv[] = {"test", "--json", "--help", NULL};
    int argc = 3;
    assert_int_equal(parse(&o, &argc, argv, NULL), OPTIONS_HELP);
}

static void test_suggest(void **state)
{
    static const char *const words[] = {"optimize", "eval", "doctor", "task", "report"};
    assert_string_equal(suggest_word("optimise", words, 5), "optimize");
    assert_string_equal(suggest_word("evla", words, 5), "eval");
    assert_string_equal(suggest_word("opt", words, 5), "optimize");
    assert_string_equal(suggest_word("tsak", words, 5), "task");
    assert_null(suggest_word("xyzzy", words, 5));
    assert_null(suggest_word("", words, 0));
}

/* ---- tools -------------------------------------------------------------------------------- */

static void touch(const char *rel, unsigned mode)
{
    char *path = xstrdup(in_tmp(rel)), *slash = strrchr(path, '/');
    *slash = '\0';
    dir_make(path, NULL);
    *slash = '/';
    file_write_mode(path, "#!/bin/sh\n", 10, mode, NULL);
    free(path);
}

static void test_toolchain(void **state)
{
    touch("cuda/include/cuda_fp16.h", 0644);
    touch("cuda/include/cccl/cuda/std/type_traits", 0644);
    touch("cuda/targets/sbsa-linux/lib/libnvrtc.so.9", 0644);
    touch("cuda/targets/sbsa-linux/lib/libnvrtc.so.13", 0644);
    touch("cuda/bin/nvcc", 0755);
    touch("cutlass/include/cute/tensor.hpp", 0644);
    char *cutlass = xstrdup(in_tmp("cutlass")), *cuda = xstrdup(in_tmp("cuda"));
    setenv("HONE_CUDA_HOME", cuda, 1);
    setenv("HONE_CUTLASS_HOME", cutlass, 1);
    struct toolchain tc;
    toolchain_find(&tc);
    assert_string_equal(tc.cuda_home, cuda);
    assert_string_equal(tc.nvrtc_lib, in_tmp("cuda/targets/sbsa-linux/lib/libnvrtc.so.13"));
    assert_string_equal(tc.cuda_include, in_tmp("cuda/include"));
    assert_string_equal(tc.cccl_include, in_tmp("cuda/include/cccl"));
    assert_string_equal(tc.nvcc, in_tmp("cuda/bin/nvcc"));
    assert_string_equal(tc.cute_include, in_tmp("cutlass/include"));
    assert_string_equal(toolchain_cute_version(&tc), "");
    toolchain_release(&tc);
    unsetenv("HONE_CUDA_HOME");
    unsetenv("HONE_CUTLASS_HOME");
    free(cuda);
    free(cutlass);
}

static void test_dl(void **state)
{
    struct err err = ERR_INIT;
    void *h, *fn;
    static const char *const none[] = {"libno-such-thing.so.1", NULL};
    static const char *const libm[] = {"libno-such-thing.so.1", "libm.so.6", NULL};
    const struct dl_symbol good[] = {{"cos", &fn}, {NULL, NULL}};
    const struct dl_symbol lacking[] = {{"cos", &fn}, {"no_such_symbol", &fn}, {NULL, NULL}};
    const struct dl_symbol optional[] = {{"?no_such_symbol", &fn}, {NULL, NULL}};
    assert_int_equal(dl_load(&h, none, good, "trying", "pkg", &err), -1);
    assert_string_equal(
        err.msg, "libno-such-thing.so.1 was not found; Hone needs it for trying (Debian: pkg)");
    assert_int_equal(dl_load(&h, libm, good, "trying", "pkg", &err), 0);
    assert_non_null(fn);
    dl_close(h);
    assert_int_equal(dl_load(&h, libm, lacking, "trying", "pkg", &err), -1);
    assert_non_null(strstr(err.msg, "no_such_symbol"));
    assert_int_equal(dl_load(&h, libm, optional, "trying", "pkg", &err), 0);
    assert_null(fn);
    dl_close(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_errors),
        cmocka_unit_test(test_json_text),
        cmocka_unit_test(test_json_depth),
        cmocka_unit_test(test_json_file),
        cmocka_unit_test(test_json_numbers),
        cmocka_unit_test(test_json_places),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_file_round_trip),
        cmocka_unit_test(test_path_from_here),
        cmocka_unit_test(test_file_replace),
        cmocka_unit_test(test_file_strange),
        cmocka_unit_test(test_dir_remove_keeps_link_targets),
        cmocka_unit_test(test_file_write_to_a_pipe),
        cmocka_unit_test(test_temp_dir_sweep),
        cmocka_unit_test(test_user_dirs),
        cmocka_unit_test(test_assets),
        cmocka_unit_test(test_loop_fds),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_interrupt_default),
        cmocka_unit_test(test_term_clean),
        cmocka_unit_test(test_progress_plain),
        cmocka_unit_test(test_options_good),
        cmocka_unit_test(test_options_bad),
        cmocka_unit_test(test_suggest),
        cmocka_unit_test(test_toolchain),
        cmocka_unit_test(test_dl),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_tmp, drop_tmp);
}
