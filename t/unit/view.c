/* view.c - tests the JSON that the web pages show: queries, caps, pages, paths, the report file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "store/sql.h"
#include "sys/file.h"
#include "sys/json.h"
#include "sys/short_paths.h"
#include "view/html.h"
#include "view/pack.h"
#include "view/queries.h"
#include "view/view.h"

static struct temp_dir tmp;
static struct store *s;
static char path[600], name[128];
static int64_t run;
static struct err err;

#define OK(e)                                \
    do {                                     \
        err_clear(&err);                     \
        if ((e) < 0)                         \
            fail_msg("%s: %s", #e, err.msg); \
    } while (0)

static int set_up(void **state)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0); /* a store syncs many small writes: fast in memory */
    tmp = (struct temp_dir)TEMP_DIR_INIT;
    if (temp_dir_make(&tmp, NULL) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/hone.db", tmp.path);
    if (store_open(&s, path, &err) < 0 ||
        store_run_create(s, "softmax", "refine", "{\"on\":\"spool:/home/me/x\"}",
                         "mailbox:/home/me/box", &run, &err) < 0 ||
        sql_exec(s, "PRAGMA synchronous = OFF", &err) < 0)
        return -1;
    struct run_rec r;
    struct arena mem = ARENA_INIT;
    int rc = store_run_find(s, "last", &r, &mem, &err);
    snprintf(name, sizeof name, "%s", rc == 0 ? r.name : "");
    arena_release(&mem);
    return rc;
}

static int tear_down(void **state)
{
    store_close(s);
    temp_dir_release(&tmp);
    return 0;
}

static const char *node_author = ""; /* the author of the nodes that put_node() makes */

static void put_node(uint64_t index, int64_t parent, const char *source, const char *kind)
{
    char sha[STORE_SHA];
    OK(store_blob_put(s, source, strlen(source), sha, &err));
    struct node_rec n = {.index = index,
                         .parent = parent,
                         .verdict = -1,
                         .source_sha = sha,
                         .role = "code",
                         .author = node_author,
                         .stage = "first",
                         .move = "a move",
                         .fate = "kept",
                         .kind = kind,
                         .time_ns = 1000.0 + (double)index};
    OK(store_node_put(s, run, &n, &err));
}

static void put_call(uint64_t index, const char *reply)
{
    char stable[STORE_SHA], turn[STORE_SHA], said[STORE_SHA];
    OK(store_blob_put(s, "stable", 6, stable, &err));
    OK(store_blob_put(s, "turn", 4, turn, &err));
    OK(store_blob_put(s, reply, strlen(reply), said, &err));
    struct call_rec c = {.role = "code",
                         .index = index,
                         .author = "a",
                         .prompt_sha = "",
                         .stable_sha = stable,
                         .turn_sha = turn};
    OK(store_call_begin(s, run, &c, &err));
    c.ended = c.ok = true;
    c.reply_sha = said;
    OK(store_call_end(s, run, &c, &err));
}

static json_t *ask(const char *fmt, ...)
{
    struct view_query q;
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    assert_int_equal(view_query_parse(&q, text), 0);
    return view_json(s, &q, &err);
}

static const char *str(const json_t *j, const char *key)
{
    const char *v = json_string_value(json_object_get(j, key));
    return v ? v : "(none)";
}

/* ---- queries ---- */

static void test_queries(void **state)
{
    static const char *const good[] = {"runs?before=0",
                                       "runs?before=123456789012345",
                                       "run?run=a",
                                       "points?run=a-b_c.d&from=7",
                                       "candidate?run=A9&n=0",
                                       "call?run=x&role=code&n=3",
                                       "campaigns?before=0",
                                       "campaign?name=a-b",
                                       "trainings?from=0",
                                       "training?name=a.b"};
    static const char *const bad[] = {"",
                                      "runs",
                                      "runs?",
                                      "runs?before=",
                                      "runs?before=-1",
                                      "runs?n=1",
                                      "runs?before=1 ",
                                      "run?run=",
                                      "run?run=a/b",
                                      "run?run=a%2fb",
                                      "run?run=a&",
                                      "run?run=a\n",
                                      "points?run=a",
                                      "campaign?run=a",
                                      "campaign?name=a&n=1",
                                      "campaigns?name=a",
                                      "candidate?n=1",
                                      "trainings?before=0",
                                      "training?name=../a",
                                      "points?from=1&run=a",
                                      "xrun?run=a",
                                      "call?run=x&n=1&role=r",
                                      "runs?before=1234567890123456",
                                      "run?run=\xc3\xa4"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct view_query q;
        struct strbuf sb = STRBUF_INIT(300);
        assert_int_equal(view_query_parse(&q, good[i]), 0);
        view_query_text(&q, &sb);
        assert_string_equal(sb.buf, good[i]);
        strbuf_release(&sb);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct view_query q;
        if (view_query_parse(&q, bad[i]) == 0)
            fail_msg("'%s' was accepted", bad[i]);
    }
    char *name_too_long = xasprintf("run?run=%0200d", 1);
    struct view_query q;
    assert_int_equal(view_query_parse(&q, name_too_long), -1);
    free(name_too_long);
}

/* ---- texts ---- */

static void shortens(const char *text, bool code, const char *want)
{
    struct strbuf sb = STRBUF_INIT(4096);
    short_paths(text, code, &sb);
    assert_string_equal(sb.buf, want);
    strbuf_release(&sb);
}

static void test_paths(void **state)
{
    shortens("mailbox:/home/me/box", false, "mailbox:box");
    shortens("/home/me", false, "~");
    shortens("/home/..", false, "home/..");
    shortens("see /Users/me.", true, "see ~.");
    shortens("/usr/include/a.h(12): error", true, "a.h(12): error");
    shortens("a /b/c", true, "a /b/c"); /* in code, these are divisions */
    shortens("a /b/c", false, "a c");
    shortens("x/y/z // c /* d */ and/or http://a/b", false, "x/y/z // c /* d */ and/or http://a/b");
    shortens("\"/tmp/hone-x/k.cu\", '/opt/a/'", true, "\"k.cu\", 'a/'");
    shortens("nvcc -I/home/me/include -L/opt/x/lib", true, "nvcc -Iinclude -Llib");
    shortens("file:///home/me/a.txt", false, "file://a.txt");
    shortens("file:///home/me/a.txt", true, "file://a.txt");
    shortens("X-A/b/c a-Bc/d/e", false, "X-A/b/c a-Bc/d/e");
    shortens("", false, "");
    shortens("/", false, "/");
    char here[400], *text;
    assert_non_null(getcwd(here, sizeof here));
    text = xasprintf("%s/deep/file.c", here);
    shortens(text, true, "file.c");
    free(text);
}

static void test_caps(void **state)
{
    json_t *j = json_object();
    char *text = xmalloc(5001);
    memset(text, '\n', 5000); /* in JSON, each of them takes two bytes */
    text[5000] = '\0';
    view_set_text(j, "a", text, 5000, 1000);
    assert_int_equal(json_string_length(json_object_get(j, "a")), 500);
    assert_int_equal(json_integer_value(json_object_get(j, "a_bytes")), 5000);
    view_set_text(j, "b", "\xc3\xa4\xc3\xa4", 4, 3); /* must not cut a character in two */
    assert_string_equal(str(j, "b"), "\xc3\xa4");
    view_set_text(j, "c", "a\xff\x01", 3, 100);
    assert_string_equal(str(j, "c"), "a?\x01");
    assert_null(json_object_get(j, "c_bytes"));
    free(text);
    json_decref(j);
}

static void test_pack(void **state)
{
    struct pack *p = pack_new();
    char *text = xstrdup("");
    for (int i = 0; i < 3000; i++) { /* enough lines for the table to grow */
        char *more = xasprintf("%sline %d\n", text, i % 1500);
        free(text);
        text = more;
    }
    json_t *j = json_pack("{s:[s, i], s:s}", "a", text, 7, "short", "x");
    json_t *packed = pack_json(p, j), *lines = pack_lines(p);
    const json_t *ranges = json_object_get(json_array_get(json_object_get(packed, "a"), 0), "$");
    assert_string_equal(str(packed, "short"), "x");
    assert_int_equal(json_array_size(lines), 1501); /* 1500 lines, and the empty one at the end */
    struct strbuf again = STRBUF_INIT(1 << 20);
    for (size_t i = 0; i < json_array_size(ranges); i += 2)
        for (json_int_t k = 0; k < json_integer_value(json_array_get(ranges, i + 1)); k++)
            strbuf_addf(&again, "%s%s", again.len ? "\n" : "",
                        json_string_value(json_array_get(
                            lines, (size_t)(json_integer_value(json_array_get(ranges, i)) + k))));
    assert_string_equal(again.buf, text);
    assert_int_equal(json_array_size(ranges), 4); /* two ranges: 1500 lines, and all 1501 lines */
    strbuf_release(&again);
    json_decref(lines);
    json_decref(packed);
    json_decref(j);
    free(text);
    pack_free(p);
}

/* ---- answers ---- */

static void test_no_such_thing(void **state)
{
    put_node(0, -1, "k", "pass");
    assert_null(ask("run?run=nothing"));
    assert_int_equal(err.kind, ERR_INPUT);
    assert_null(ask("run?run=last"));
    assert_null(ask("points?run=%.8s&from=0", name));
    assert_null(ask("candidate?run=%s&n=1", name));
    assert_null(ask("call?run=%s&role=code&n=0", name));
    assert_int_equal(err.kind, ERR_INPUT);
}

static void test_run_without_paths(void **state)
{
    put_node(0, -1, "k", "pass");
    json_t *j = ask("run?run=%s", name);
    assert_string_equal(str(j, "author"), "mailbox:box");
    assert_string_equal(str(json_object_get(j, "config"), "on"), "spool:x");
    assert_null(json_object_get(j, "nodes"));
    /* No process has the run's lock. */
    assert_string_equal(str(j, "state"), "killed");
    json_decref(j);
    OK(store_run_lock(s, run, &err));
    j = ask("run?run=%s", name);
    assert_string_equal(str(j, "state"), "running");
    json_decref(j);
}

static void test_authors(void **state)
{
    put_node(0, -1, "given", "pass");
    node_author = "exec:/home/me/model";
    put_node(1, 0, "k", "pass");
    node_author = "playbook";
    put_node(2, 1, "k2", "pass");
    node_author = "";
    OK(store_run_progress(s, run, 1, 2, &err));
    json_t *j = ask("run?run=%s", name);
    assert_string_equal(str(j, "author"), "exec:model, then playbook (best: playbook)");
    json_decref(j);
    j = ask("candidate?run=%s&n=1", name);
    assert_string_equal(str(j, "author"), "exec:model");
    json_decref(j);
}

static void test_pages(void **state)
{
    OK(sql_exec(s, "BEGIN", &err));
    for (uint64_t i = 0; i < VIEW_POINTS_PAGE + 5; i++)
        put_node(i, (int64_t)i - 1, "k", i % 2 ? "pass" : "fault");
    OK(sql_exec(s, "COMMIT", &err));
    json_t *j = ask("points?run=%s&from=0", name);
    assert_int_equal(json_array_size(json_object_get(j, "rows")), VIEW_POINTS_PAGE);
    assert_int_equal(json_integer_value(json_object_get(j, "next")), VIEW_POINTS_PAGE);
    json_decref(j);
    j = ask("points?run=%s&from=%d", name, (int)VIEW_POINTS_PAGE);
    assert_int_equal(json_array_size(json_object_get(j, "rows")), 5);
    assert_null(json_object_get(j, "next"));
    json_decref(j);
    for (int i = 0; i < VIEW_RUNS_PAGE; i++) {
        int64_t id;
        OK(store_run_create(s, "softmax", "refine", "{}", "x", &id, &err));
    }
    j = ask("runs?before=0");
    assert_int_equal(json_array_size(json_object_get(j, "runs")), VIEW_RUNS_PAGE);
    json_int_t next = json_integer_value(json_object_get(j, "next"));
    json_decref(j);
    j = ask("runs?before=%lld", (long long)next);
    assert_int_equal(json_array_size(json_object_get(j, "runs")), 1);
    json_decref(j);
}

#define KERNEL "/* hone-plan\n{}\n*/\nextern \"C\" __global__ void k() {}\n"

static void test_author_call(void **state)
{
    put_call(0, "I refuse.");
    put_call(1, "```cuda\n" KERNEL "// first\n```\n");
    put_call(2, "<<<<<<< SEARCH\n// first\n=======\n// second\n>>>>>>> REPLACE\n");
    put_node(0, -1, KERNEL "// first\n", "pass");
    put_node(1, 0, KERNEL "// second\n", "pass");
    put_node(2, 0, "", "no_code");
    json_t *j = ask("candidate?run=%s&n=0", name);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "call"), "index")), 1);
    json_decref(j);
    j = ask("candidate?run=%s&n=1", name); /* the reply edits the source of the parent */
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "call"), "index")), 2);
    json_decref(j);
    j = ask("candidate?run=%s&n=2", name);
    assert_true(json_is_null(json_object_get(j, "call")));
    json_decref(j);
    j = ask("call?run=%s&role=code&n=1", name);
    assert_string_equal(str(j, "turn"), "turn");
    assert_string_equal(str(j, "reply"), "```cuda\n" KERNEL "// first\n```\n");
    json_decref(j);
}

#define EDIT(to) "<<<<<<< SEARCH\n// first\n=======\n" to "\n>>>>>>> REPLACE\n"

/* In a run with the option --moves, an author call may give several candidates. */
static void test_author_call_of_moves(void **state)
{
    static const int calls[] = {0, 1, 1, 1, 2, 3, 3};
    static const char *const ends[] = {"first", "a", "b", "c", "d", "e", "f"};
    OK(store_run_create(s, "softmax", "refine", "{\"moves\":3}", "x", &run, &err));
    struct run_rec r;
    struct arena mem = ARENA_INIT;
    OK(store_run_find(s, "last", &r, &mem, &err));
    put_call(0, "```cuda\n" KERNEL "// first\n```\n");
    put_call(1, "MOVE: 1\n" EDIT("// a") "MOVE: 2\n" EDIT("// b") "MOVE: 3\n" EDIT("// c"));
    put_call(2, "MOVE: 1\nnothing\nMOVE: 2\n" EDIT("// d"));
    put_call(3, "MOVE: 1\n" EDIT("// e") "MOVE: 2\n" EDIT("// f"));
    for (uint64_t i = 0; i < ARRAY_LEN(calls); i++) {
        char *source = xasprintf(KERNEL "// %s\n", ends[i]);
        put_node(i, i ? 0 : -1, source, "pass");
        free(source);
    }
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        json_t *j = ask("candidate?run=%s&n=%zu", r.name, i);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "call"), "index")),
                         calls[i]);
        assert_string_equal(str(json_object_get(j, "call"), "role"), "code");
        json_decref(j);
    }
    arena_release(&mem);
}

/* A candidate whose source and reply are as long as a page shows them gives an answer below the cap
 * for answers. */
static void test_largest(void **state)
{
    char *source = xmalloc(600001);
    memset(source, '"', 600000);
    source[600000] = '\0';
    put_node(0, -1, source, "pass");
    put_call(0, source);
    struct strbuf sb = STRBUF_INIT(VIEW_MAX_BYTES + 1);
    struct view_query q;
    char text[300];
    snprintf(text, sizeof text, "candidate?run=%s&n=0", name);
    assert_int_equal(view_query_parse(&q, text), 0);
    OK(view_text(s, &q, &sb, &err));
    assert_true(sb.len < VIEW_MAX_BYTES);
    strbuf_release(&sb);
    free(source);
}

/* ---- reading beside a writer ---- */

static void test_read_only(void **state)
{
    struct store *reader;
    int64_t before, after;
    OK(store_open_read(&reader, path, &err));
    OK(store_version(reader, &before, &err));
    put_node(0, -1, "k", "pass");
    OK(store_version(reader, &after, &err));
    assert_true(before != after);
    int64_t id;
    assert_int_equal(store_run_create(reader, "t", "s", "{}", "x", &id, &err), -1);
    struct run_rec_vec list = VEC_INIT;
    struct arena mem = ARENA_INIT;
    OK(store_run_page(reader, 0, 10, &list, &mem, &err));
    assert_int_equal(list.n, 1);
    assert_int_equal(list.items[0].nodes, 1);
    vec_release(&list);
    arena_release(&mem);
    store_close(reader);
    assert_int_equal(store_open_read(&reader, "/nonexistent/x.db", &err), -1);
}

/* ---- the file ---- */

static void test_file(void **state)
{
    struct strbuf html = STRBUF_INIT(8u << 20);
    put_node(0, -1, "</script><script>x</script> /home/me/k.cu\n", "pass");
    OK(html_report(s, &(struct html_options){.run = name}, &html, &err));
    assert_null(strstr(html.buf, "<script>x"));
    assert_null(strstr(html.buf, "/home/me"));
    assert_null(strstr(html.buf, "src=\""));
    assert_non_null(strstr(html.buf, "script-src 'sha256-"));
    strbuf_release(&html);
    strbuf_init(&html, 8u << 20);
    assert_int_equal(html_report(s, &(struct html_options){.run = "none"}, &html, &err), -1);
    strbuf_release(&html);
}

/* ---- training runs ---- */

static void put_record(const char *file, const char *text)
{
    char *folder = xasprintf("%s/training", tmp.path), *at = xasprintf("%s/%s", folder, file);
    OK(dir_make(folder, &err));
    OK(file_write(at, text, strlen(text), &err));
    free(at);
    free(folder);
}

static size_t listed(uint64_t from)
{
    json_t *j = ask("trainings?from=%llu", (unsigned long long)from);
    size_t n = json_array_size(json_object_get(j, "trainings"));
    json_decref(j);
    return n;
}

static void test_training_files(void **state)
{
    char *out = xasprintf("%s/training/link.json", tmp.path);
    assert_int_equal(listed(0), 0); /* there is no folder */
    int64_t before = view_training_version(s);
    put_record("one.json", "{\"hone_training\": 1, \"model\": \"sage\", \"data\": \"/home/me/d\"}");
    assert_int_not_equal(view_training_version(s), before);
    put_record("broken.json", "{");
    put_record("other.json", "{\"model\": \"sage\"}");
    put_record("a b.json", "{\"hone_training\": 1}");
    put_record(".json", "{\"hone_training\": 1}");
    put_record("two.txt", "{\"hone_training\": 1}");
    assert_int_equal(symlink("/etc/passwd", out), 0);
    free(out);
    assert_int_equal(listed(0), 1);
    assert_int_equal(listed(1000), 0);
    json_t *j = ask("training?name=one");
    assert_string_equal(str(j, "model"), "sage");
    assert_string_equal(str(j, "data"), "d");
    json_decref(j);
    static const char *const none[] = {"broken", "other",    "two",    "link",
                                       "..",     "one.json", "hone.db"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        assert_null(ask("training?name=%s", none[i]));
        assert_int_equal(err.kind, ERR_INPUT);
    }
}

/* The record of a training run may contain anything, but the page gets only values of the types
 * that it expects. */
static void test_training_types(void **state)
{
    put_record("odd.json", "{\"hone_training\":1, \"model\":[1], \"state\":{}, \"weights\":\"x\","
                           " \"epochs\":[3, {\"epoch\":1, \"loss\":\"nan\", \"wall_s\":0.5}],"
                           " \"timeline\":{\"threads\":[\"t\"], \"work\":[\"w\"], "
                           "\"spans\":[[0,0,1,2,1,0], [1,0,1,2,1,0],"
                           " [0,1,1,2,1,0], [0,0,-1,2,1,0], [0,0,1,2,1], [0,0,1.5,2,1,0], 7]},"
                           " \"kernels\":{\"k\":{\"calls\":1, \"ms\":2}, \"l\":3}}");
    json_t *j = ask("training?name=odd");
    assert_string_equal(str(j, "model"), "");
    assert_string_equal(str(j, "state"), "");
    assert_true(json_is_null(json_object_get(j, "weights")));
    json_t *rows = json_object_get(j, "rows"), *last = json_array_get(rows, 1);
    assert_int_equal(json_array_size(rows), 2);
    assert_int_equal(json_integer_value(json_array_get(last, 0)), 1);
    assert_true(json_is_null(json_array_get(last, 1)));
    assert_int_equal(json_array_size(json_object_get(json_object_get(j, "timeline"), "spans")), 1);
    assert_int_equal(json_array_size(json_object_get(j, "kernels")), 1);
    json_decref(j);
}

/* The largest record that we read gives an answer below the cap for answers. */
static void test_training_largest(void **state)
{
    struct strbuf sb = STRBUF_INIT(16u << 20);
    struct view_query q;
    strbuf_adds(&sb, "{\"hone_training\":1, \"reason\":\"");
    for (int i = 0; i < 100000; i++)
        strbuf_adds(&sb, "\\u0001");
    strbuf_adds(&sb, "\", \"epochs\":[{}");
    for (int i = 1; i < 20000; i++)
        strbuf_addf(&sb,
                    ",{\"epoch\":%d,\"loss\":0.123456789,\"accuracy\":0.123456789,\"edges\":9e300}",
                    i);
    strbuf_adds(&sb,
                "],\"timeline\":{\"threads\":[\"t\"],\"work\":[\"w\"],\"spans\":[[0,0,0,0,0,0]");
    for (int i = 1; i < 50000; i++)
        strbuf_adds(&sb, ",[0,0,4503599627370495,4503599627370495,4503599627370495,1]");
    strbuf_adds(&sb, "]}}");
    put_record("large.json", sb.buf);
    strbuf_release(&sb);
    strbuf_init(&sb, 8u << 20);
    assert_int_equal(view_query_parse(&q, "training?name=large"), 0);
    OK(view_text(s, &q, &sb, &err));
    assert_true(sb.len > 100000 && sb.len < VIEW_MAX_BYTES);
    strbuf_release(&sb);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_pack),
        T(test_no_such_thing),
        T(test_run_without_paths),
        T(test_pages),
        T(test_authors),
        T(test_author_call),
        T(test_author_call_of_moves),
        T(test_largest),
        T(test_read_only),
        T(test_file),
        T(test_training_files),
        T(test_training_types),
        T(test_training_largest),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
