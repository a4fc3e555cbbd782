/* report.c - tests the summary and the report of a run. Some runs are odd: they have no candidate,
 * one candidate, a deep tree, a tree with a gap, times that are no numbers, or words with markup
 * and broken characters. Also tests the comparison of two kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/record.h"
#include "base/util.h"
#include "report/compare_text.h"
#include "report/page.h"
#include "report/run_summary.h"
#include "store/sql.h"
#include "sys/file.h"

static struct temp_dir tmp;
static struct store *s;
static int64_t run;
static struct err err;
static char sha[STORE_SHA];

#define OK(e)                                \
    do {                                     \
        err_clear(&err);                     \
        if ((e) < 0)                         \
            fail_msg("%s: %s", #e, err.msg); \
    } while (0)

static int set_up(void **state)
{
    char path[600];
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0); /* a store syncs many small writes: fast in memory */
    tmp = (struct temp_dir)TEMP_DIR_INIT;
    if (temp_dir_make(&tmp, NULL) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/hone.db", tmp.path);
    if (store_open(&s, path, &err) < 0 ||
        store_run_create(s, "a<b>|c", "refine", "{\"eps\": 0.35}", "exec:`x` <y>", &run, &err) < 0)
        return -1;
    return store_blob_put(s, "kernel", 6, sha, &err);
}

static int tear_down(void **state)
{
    store_close(s);
    temp_dir_release(&tmp);
    return 0;
}

static void put(uint64_t index, int64_t parent, const char *role, const char *kind, double time_ns,
                const char *move)
{
    struct node_rec n = {.index = index,
                         .parent = parent,
                         .verdict = -1,
                         .source_sha = sha,
                         .role = role,
                         .stage = "first",
                         .move = move,
                         .fate = "kept",
                         .kind = kind,
                         .time_ns = time_ns};
    OK(store_node_put(s, run, &n, &err));
}

static void load(struct run_summary *m)
{
    OK(run_summary_load(m, s, "last", &err));
}

static char *report(const struct run_summary *m, const char *file)
{
    char path[700];
    struct strbuf sb = STRBUF_INIT(4 << 20);
    snprintf(path, sizeof path, "%s/out", tmp.path);
    OK(report_write(m, s, path, &err));
    snprintf(path, sizeof path, "%s/out/%s", tmp.path, file);
    OK(file_read(path, 4 << 20, &sb, &err));
    return strbuf_detach(&sb, NULL);
}

static void must_have(const char *text, const char *want)
{
    if (!strstr(text, want))
        fail_msg("no '%s' in: %.2000s", want, text);
}

static void must_lack(const char *text, const char *bad)
{
    if (strstr(text, bad))
        fail_msg("'%s' is in: %.2000s", bad, text);
}

static void test_plots(void **state)
{
    struct run_summary m;
    load(&m);
    char *svg = report(&m, "time.svg");
    must_lack(svg, "<circle");
    must_lack(svg, "nan");
    free(svg);
    run_summary_release(&m);

    put(0, -1, "code", "pass", 5000, "a <b> & \"c\"");
    load(&m);
    svg = report(&m, "time.svg");
    must_have(svg, "a &lt;b&gt; &amp; &quot;c&quot;");
    must_lack(svg, "nan");
    free(svg);
    run_summary_release(&m);

    /* Another program may have changed the store. Hone itself writes neither infinities nor tags in
     * a kind. */
    OK(sql_exec(s,
                "UPDATE node SET time_ns = 9e999, speedup = -9e999, kind = '<k>', "
                "role = cast(x'41ff' AS TEXT)",
                &err));
    put(1, 0, "code", "pass", 4000, "");
    load(&m);
    svg = report(&m, "time.svg");
    must_lack(svg, "nan");
    must_lack(svg, "inf");
    must_lack(svg, "<k>");
    must_have(svg, "4.40 us"); /* the axis fits the only candidate with a time */
    json_t *j = run_summary_json(&m);
    const json_t *nodes = json_object_get(j, "nodes");
    assert_int_equal(json_array_size(nodes), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(nodes, 0), "role")), "A?");
    json_decref(j);
    free(svg);
    run_summary_release(&m);
}

static void test_markup(void **state)
{
    struct run_summary m;
    put(0, -1, "code", "pass", 5000, "Layout<Shape<_8>> | `x`");
    OK(store_event_put(s, run, "1", "refused", "two\n# lines <i>", &err));
    load(&m);
    char *page = report(&m, "report.md");
    must_have(page, "refine on a&lt;b> c, begun");
    must_have(page, "{\"eps\":0.35}");
    must_have(page, "Layout&lt;Shape&lt;_8>>    x  | pass");
    must_have(page, "- refused: two # lines &lt;i>\n");
    free(page);
    run_summary_release(&m);
}

/* The price of a call of the author `mailbox` is unknown. The report's table of calls and the
 * summary say so. */
static void test_price(void **state)
{
    struct run_summary m;
    struct strbuf sb = STRBUF_INIT(1 << 20);
    struct call_rec c = {.role = "code",
                         .ended = true,
                         .ok = true,
                         .author = "mailbox:here",
                         .model = "",
                         .prompt_sha = sha,
                         .stable_sha = sha,
                         .turn_sha = sha,
                         .reply_sha = sha,
                         .finish = "",
                         .handle = "",
                         .error = "",
                         .notes = ""};
    OK(store_call_begin(s, run, &c, &err));
    OK(store_call_end(s, run, &c, &err));
    load(&m);
    char *page = report(&m, "report.md");
    must_have(page, "| code | 1 | 0 | 0 | 0 | unknown | 0.0 |");
    run_summary_print(&m, &sb);
    must_have(sb.buf, " 1 call, 0 tokens in (0 cached), 0 out, cost unknown\n");
    strbuf_release(&sb);
    free(page);
    run_summary_release(&m);
}

static void test_deep_tree(void **state)
{
    struct run_summary m;
    struct strbuf sb = STRBUF_INIT(1 << 20);
    for (int i = 0; i < 80; i++)
        put((uint64_t)i, i - 1, "code", "pass", 5000, "");
    load(&m);
    lineage_print(&m, &sb);
    must_have(sb.buf, " 79 pass");
    unsigned lines = 0;
    for (const char *p = sb.buf; (p = strchr(p, '\n')); p++)
        lines++;
    assert_int_equal(lines, 80);
    strbuf_release(&sb);
    run_summary_release(&m);
}

/* A candidate counts as a gain only if it is faster than the best kernel before it. One that is as
 * fast as the best is no regression. The settings in a move are shown with their values. */
static void test_gains(void **state)
{
    static const char source[] = "constexpr int kA = 4; // hone: 1 2 4\n"
                                 "constexpr int kB = 64; // hone: 64 128\n";
    static const struct {
        double time_ns;
        const char *fate, *outcome;
    } rows[] = {{5000, "kept", ""},
                {8000, "on trial", "regression"},
                {6000, "regression", "gain"}, /* a gain over its parent, but slower than the best */
                {5010, "regression", "no change"},
                {4000, "kept", "gain"}};
    struct run_summary m;
    struct strbuf sb = STRBUF_INIT(1 << 20);
    char file[STORE_SHA];
    OK(store_blob_put(s, source, strlen(source), file, &err));
    for (uint64_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct node_rec n = {.index = i,
                             .parent = (int64_t)i - 1,
                             .verdict = -1,
                             .source_sha = file,
                             .role = "code",
                             .stage = "first",
                             .move = "kA 2 -> 4 [settings 2.0]",
                             .fate = rows[i].fate,
                             .kind = "pass",
                             .time_ns = rows[i].time_ns};
        OK(store_node_put(s, run, &n, &err));
        OK(store_idea_put(s, run,
                          &(struct idea_rec){.index = i,
                                             .node = (int64_t)i,
                                             .kind = "tuning",
                                             .text = "",
                                             .outcome = rows[i].outcome},
                          &err));
    }
    load(&m);
    run_summary_print(&m, &sb);
    must_have(sb.buf, "tried 5, gained 1, failed 0");
    lineage_print(&m, &sb);
    must_have(sb.buf, "2 pass 6.00 us [code/first] kA 2 -> 4 [kA=4 kB=64]  (regression)");
    must_have(sb.buf, "3 pass 5.01 us [code/first] kA 2 -> 4 [kA=4 kB=64]  (no gain)");
    strbuf_release(&sb);
    run_summary_release(&m);
}

/* If a run is killed during a wave, the store may have the last candidate of the wave, but not the
 * first. So candidate 1 is missing here. */
static void test_gap(void **state)
{
    struct run_summary m;
    put(0, -1, "code", "mismatch", 0, "");
    put(2, 0, "repair", "fault", 0, "second");
    put(3, 2, "repair", "pass", 7000, "third");
    OK(store_run_progress(s, run, 1, 3, &err));
    load(&m);
    assert_int_equal(m.failures_entered, 1);
    assert_int_equal(m.failures_repaired, 1);
    const struct node_rec *n = run_summary_candidate(&m, "2", &err);
    assert_non_null(n);
    assert_string_equal(n->move, "second");
    assert_ptr_equal(run_summary_candidate(&m, "best", &err), m.best);
    static const char *const none[] = {"1", "4", "-1", "", "2x", " 2", "99999999999999999999"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        err_clear(&err);
        assert_null(run_summary_candidate(&m, none[i], &err));
        bool word = str_eq(none[i], "") || str_eq(none[i], "2x");
        must_have(err.msg, word ? "must be a number, or best" : "it has 3, of which 1 pass");
    }
    run_summary_release(&m);
}

/* One candidate has a later candidate as its parent, and another one has a parent that does not
 * exist. The summary must not read outside the list of candidates. */
static void test_impossible_tree(void **state)
{
    struct run_summary m;
    OK(sql_exec(s, "PRAGMA foreign_keys = OFF", &err));
    put(0, 1, "repair", "fault", 0, "");
    put(1, 1000000000, "repair", "fault", 0, "");
    put(2, -1, "code", "fault", 0, "");
    load(&m);
    assert_int_equal(m.failures_entered, 1);
    assert_int_equal(m.failures_repaired, 0);
    run_summary_release(&m);
}

/* If a verdict in the store cannot be read, the message names its candidate. */
static void test_unreadable_verdict(void **state)
{
    char path[700], json[STORE_SHA];
    struct run_summary m;
    OK(store_blob_put(s, "{", 1, json, &err));
    struct verdict_rec v = {.index = 7, .source_sha = sha, .json_sha = json, .kind = "mismatch"};
    OK(store_verdict_put(s, run, &v, &err));
    struct node_rec n = {.index = 3,
                         .parent = -1,
                         .verdict = 7,
                         .source_sha = sha,
                         .role = "code",
                         .stage = "first",
                         .move = "",
                         .fate = "kept",
                         .kind = "mismatch"};
    OK(store_node_put(s, run, &n, &err));
    load(&m);
    snprintf(path, sizeof path, "%s/out", tmp.path);
    err_clear(&err);
    assert_int_equal(report_write(&m, s, path, &err), -1);
    must_have(err.msg, "the verdict of candidate 3: ");
    run_summary_release(&m);
}

/* A recording can be made from any store: bytes that are not UTF-8 are replaced. */
static void test_export(void **state)
{
    char path[700], reply[STORE_SHA];
    struct strbuf sb = STRBUF_INIT(1 << 20);
    put(0, -1, "code", "pass", 5000, "16 bytes \xe2\x80");
    OK(store_blob_put(s,
                      "a\xff"
                      "b",
                      3, reply, &err));
    struct call_rec c = {.role = "code",
                         .author = "exec:x",
                         .prompt_sha = sha,
                         .stable_sha = sha,
                         .turn_sha = sha,
                         .reply_sha = reply,
                         .ended = true,
                         .ok = true};
    OK(store_call_begin(s, run, &c, &err));
    OK(store_call_end(s, run, &c, &err));
    snprintf(path, sizeof path, "%s/run.jsonl", tmp.path);
    OK(record_export(s, "last", path, &err));
    struct replay *r = NULL;
    OK(replay_load(&r, path, &err));
    assert_string_equal(json_string_value(json_object_get(replay_call(r, "code", 0), "reply")),
                        "a\xef\xbf\xbd"
                        "b");
    assert_int_equal(replay_nodes(r), 1);
    OK(record_compare(s, run, r, &sb, &err));
    assert_string_equal(sb.buf, "");
    strbuf_release(&sb);
    replay_free(r);
}

/* Puts a candidate of the author `playbook` into the run. */
static void put_built_in(uint64_t index, int64_t parent, const char *role, const char *kind,
                         const char *move)
{
    put(index, parent, role, kind, 4000, move);
    OK(sql_exec(s, "UPDATE node SET author = 'playbook' WHERE role != 'given'", &err));
}

static void summary_has(const char *want, unsigned repaired)
{
    struct run_summary m;
    struct strbuf sb = STRBUF_INIT(1 << 20);
    load(&m);
    run_summary_print(&m, &sb);
    must_have(sb.buf, want);
    assert_int_equal(m.failures_repaired, repaired);
    strbuf_release(&sb);
    run_summary_release(&m);
}

/* The summary says what became of the user's starting kernel. If a kernel from a template passes in
 * its place, that is no repair of it. */
static void test_given(void **state)
{
    OK(store_run_configure(s, run, "{\"from_name\":\"mine.cu\"}", &err));
    put(0, -1, "given", "mismatch", 0, "mine.cu");
    put_built_in(1, 0, "repair", "mismatch", "kThreads 64 -> 128 [settings 1]");
    summary_has("your file mine.cu (candidate 0): mismatch: ; no kernel passed", 0);
    put_built_in(2, 1, "repair", "pass", "playbook elementwise, starting point [elementwise 1]");
    OK(store_run_progress(s, run, 1, 2, &err));
    summary_has("mismatch: ; the best kernel is from a template, not from this file", 0);
    put_built_in(3, 1, "repair", "pass", "kThreads 128 -> 256 [settings 2]");
    OK(store_run_progress(s, run, 1, 3, &err));
    summary_has("mismatch: ; the best kernel is this file with other settings", 1);
    put(0, -1, "given", "pass", 5000, "mine.cu");
    OK(store_run_progress(s, run, 1, 0, &err));
    summary_has("your file mine.cu (candidate 0): pass, 5.00 us; it is the best kernel", 0);
}

/* A comparison does not cut off a long shape. A part of it would look like another shape. */
static void test_long_shapes(void **state)
{
    struct verdict one = {.kind = V_PASS, .device = "", .compiler = ""}, two = one;
    struct verdict_time t = {.workload = "time:0", .who = "candidate", .median_ns = 1000};
    t.shape = "B=512 D=1024";
    *vec_push(&one.times) = t;
    t.shape = "B=512 V=100000 D=256 H=128";
    *vec_push(&two.times) = t;
    one.summary = two.summary = one.task_sha = two.task_sha = "";
    struct strbuf sb = STRBUF_INIT(1 << 16);
    compare_text(&(struct compare_side){"a:0", &one, "candidate"},
                 &(struct compare_side){"b:0", &two, "candidate"}, &sb);
    must_have(sb.buf, "\ntime:0 B=512 V=100000 D=256 H=128  ");
    must_have(sb.buf, "\ntime:0 B=512 D=1024                1.00 us");
    strbuf_release(&sb);
    vec_release(&one.times);
    vec_release(&two.times);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_plots),       TEST(test_given),
        TEST(test_markup),      TEST(test_price),
        TEST(test_deep_tree),   TEST(test_gains),
        TEST(test_gap),         TEST(test_impossible_tree),
        TEST(test_export),      TEST(test_unreadable_verdict),
        TEST(test_long_shapes),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
