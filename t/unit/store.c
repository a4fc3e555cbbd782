/* store.c - tests the store: records, writing a record twice, several processes, damaged files, a
 * newer schema. */
#include <setjmp.h>
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
#include "store/sql.h"
#include "store/store.h"
#include "sys/file.h"

static struct temp_dir tmp;
static char path[600];

static int set_up(void **state)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0); /* a store syncs many small writes: fast in memory */
    tmp = (struct temp_dir)TEMP_DIR_INIT;
    if (temp_dir_make(&tmp, NULL) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/sub/hone.db", tmp.path);
    return 0;
}

static int tear_down(void **state)
{
    temp_dir_release(&tmp);
    return 0;
}

static struct err err;
#define OK(e)                                \
    do {                                     \
        err_clear(&err);                     \
        if ((e) < 0)                         \
            fail_msg("%s: %s", #e, err.msg); \
    } while (0)

static struct store *must_open(void)
{
    struct store *s = NULL;
    OK(store_open(&s, path, &err));
    return s;
}

static int64_t make_run(struct store *s)
{
    int64_t run = 0;
    OK(store_run_create(s, "softmax", "refine", "{}", "replay:x", &run, &err));
    return run;
}

static void test_records(void **state)
{
    struct store *s = must_open();
    struct arena a = ARENA_INIT;
    int64_t run = make_run(s);
    char sha[STORE_SHA], sha2[STORE_SHA];
    OK(store_blob_put(s, "text", 4, sha, &err));
    OK(store_blob_put(s, "text", 4, sha2, &err));
    assert_string_equal(sha, sha2);
    struct call_rec c = {.role = "code",
                         .index = 0,
                         .author = "mailbox:box",
                         .prompt_sha = "p",
                         .stable_sha = sha,
                         .turn_sha = sha};
    struct call_rec got;
    OK(store_call_begin(s, run, &c, &err));
    OK(store_call_begin(s, run, &c, &err));
    OK(store_call_handle(s, run, "code", 0, "0007", &err));
    assert_int_equal(store_call_get(s, run, "code", 0, &got, &a, NULL), 1);
    assert_false(got.ended);
    assert_string_equal(got.handle, "0007");
    c.ended = c.ok = true;
    c.reply_sha = sha;
    c.author = "playbook"; /* a resumed run may ask another author */
    c.out_tokens = 11;
    c.usd = 0.25;
    OK(store_call_end(s, run, &c, &err));
    c.out_tokens = 99; /* a second end of the same call changes nothing */
    OK(store_call_end(s, run, &c, &err));
    assert_int_equal(store_call_get(s, run, "code", 0, &got, &a, NULL), 1);
    assert_true(got.ended && got.ok && got.out_tokens == 11);
    assert_string_equal(got.author, "playbook");
    assert_int_equal(store_call_get(s, run, "code", 1, &got, &a, NULL), 0);

    struct verdict_rec v = {.index = 0, .source_sha = sha, .json_sha = sha, .kind = "pass"};
    OK(store_verdict_put(s, run, &v, &err));
    struct node_rec n = {.index = 0,
                         .parent = -1,
                         .verdict = 0,
                         .source_sha = sha,
                         .role = "code",
                         .stage = "first",
                         .move = "m",
                         .fate = "best",
                         .kind = "pass",
                         .time_ns = 5};
    OK(store_node_put(s, run, &n, &err));
    n.fate = "kept";
    OK(store_node_put(s, run, &n, &err));
    n.index = 1;
    n.parent = 7; /* no such node */
    assert_int_equal(store_node_put(s, run, &n, NULL), -1);
    OK(store_run_progress(s, run, 123, 0, &err));
    OK(store_idea_put(
        s, run, &(struct idea_rec){.index = 0, .node = 0, .kind = "k", .text = "t", .outcome = ""},
        &err));
    OK(store_event_put(s, run, "k1", "note", "hello", &err));
    OK(store_event_put(s, run, "k1", "note", "again", &err));

    struct run_rec r;
    OK(store_run_find(s, "last", &r, &a, &err));
    assert_true(r.id == run && r.best == 0 && r.calls == 1 && r.nodes == 1 && r.passes == 1);
    assert_true(r.out_tokens == 11 && r.usd == 0.25 && r.best_time_ns == 5);
    assert_string_equal(r.written_by, r.source); /* no candidate has an author */
    struct node_rec_vec nodes = VEC_INIT;
    OK(store_node_list(s, run, &nodes, &a, &err));
    assert_int_equal(nodes.n, 1);
    assert_string_equal(nodes.items[0].fate, "kept");
    struct event_rec_vec events = VEC_INIT;
    OK(store_event_list(s, run, &events, &a, &err));
    assert_int_equal(events.n, 1);
    assert_string_equal(events.items[0].text, "hello");
    OK(store_check(s, &err));
    vec_release(&nodes);
    vec_release(&events);
    arena_release(&a);
    store_close(s);
}

static void test_find(void **state)
{
    struct store *s = must_open();
    struct arena a = ARENA_INIT;
    struct run_rec r, q;
    int64_t run = make_run(s);
    make_run(s);
    OK(store_run_find(s, "last", &r, &a, &err));
    OK(store_run_find(s, r.name, &q, &a, &err));
    assert_true(q.id == r.id);
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)run);
    OK(store_run_find(s, number, &q, &a, &err));
    assert_true(q.id == run);
    assert_int_equal(store_run_find(s, "softmax-", &q, &a, &err), -1);
    assert_non_null(strstr(err.msg, "several"));
    assert_non_null(strstr(err.msg, r.name)); /* the message names them */
    OK(store_run_find(s, strrchr(r.name, '-') + 1, &q, &a, &err));
    assert_true(q.id == r.id);
    assert_int_equal(store_run_find(s, r.name + strlen(r.name) - 2, &q, &a, &err), -1);
    assert_int_equal(store_run_find(s, "nothing", &q, &a, &err), -1);
    assert_int_equal(store_run_find(s, "", &q, &a, &err), -1);
    OK(store_run_create(s, "1x1conv", "refine", "{}", "", &run,
                        &err)); /* a name that begins with a number */
    OK(store_run_find(s, "1", &q, &a, &err));
    assert_true(q.id == 1);
    OK(store_run_find(s, "1x", &q, &a, &err));
    assert_true(q.id == run);
    arena_release(&a);
    store_close(s);
}

static void test_lock(void **state)
{
    struct store *s = must_open(), *t = must_open();
    int64_t a = make_run(s), b = make_run(s);
    OK(store_run_lock(s, a, &err));
    assert_int_equal(store_run_lock(t, a, NULL), -1);
    OK(store_run_lock(t, b, &err));
    store_run_unlock(s);
    store_run_unlock(t);
    OK(store_run_lock(t, a, &err));
    store_close(s);
    store_close(t);
}

/* Four processes open a store that does not exist yet, and write to it at the same time. Nothing is
 * lost, and no write fails. */
static void share_a_store(void)
{
    pid_t pids[4];
    for (int p = 0; p < 4; p++) {
        pids[p] = fork();
        if (pids[p] == 0) {
            struct store *s = NULL;
            int64_t run = 0;
            bool ok = store_open(&s, path, &err) == 0 &&
                      store_run_create(s, "t", "x", "{}", "", &run, &err) == 0;
            for (int i = 0; ok && i < 25; i++) {
                char key[32];
                snprintf(key, sizeof key, "%d", i);
                ok = store_event_put(s, run, key, "k", "", &err) == 0;
            }
            if (!ok)
                fprintf(stderr, "# %s\n", err.msg);
            _exit(ok ? 0 : 1);
        }
    }
    for (int p = 0; p < 4; p++) {
        int st = 0;
        waitpid(pids[p], &st, 0);
        assert_int_equal(st, 0);
    }
    struct store *s = must_open();
    struct stmt q = sql_begin(s, "SELECT count(*) FROM event WHERE kind = 'k'", NULL);
    assert_true(sql_row(&q));
    assert_int_equal(sql_get_int(&q, 0), 100);
    sql_end(&q);
    store_close(s);
}

static void test_two_processes(void **state)
{
    char usual[sizeof path];
    memcpy(usual, path, sizeof path);
    for (int round = 0; round < 20; round++) {
        snprintf(path, sizeof path, "%s/shared%d/hone.db", tmp.path, round);
        share_a_store();
    }
    memcpy(path, usual, sizeof path);
}

/* A database of another program is refused, and its file stays as it was. */
static void test_not_a_store(void **state)
{
    static const char *const made[] = {
        "PRAGMA user_version = -5",
        "CREATE TABLE bookmarks(url TEXT)",
        "CREATE TABLE bookmarks(url TEXT); PRAGMA user_version = 1",
        "CREATE TABLE bookmarks(url TEXT); PRAGMA user_version = 4",
        "CREATE VIEW run AS SELECT 1; PRAGMA user_version = 1",
    };
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        char other[700];
        sqlite3 *db;
        struct strbuf before = STRBUF_INIT(1 << 20), after = STRBUF_INIT(1 << 20);
        snprintf(other, sizeof other, "%s/other%zu.db", tmp.path, i);
        assert_int_equal(sqlite3_open(other, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, made[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        OK(file_read(other, 1 << 20, &before, &err));
        struct store *s;
        if (store_open(&s, other, &err) == 0)
            fail_msg("taken: %s", made[i]);
        if (!strstr(err.msg, "another program"))
            fail_msg("%s: %s", made[i], err.msg);
        OK(file_read(other, 1 << 20, &after, &err));
        assert_int_equal(before.len, after.len);
        assert_memory_equal(before.buf, after.buf, before.len);
        strbuf_release(&before);
        strbuf_release(&after);
    }
}

static void test_newer_and_damaged(void **state)
{
    struct store *s = must_open();
    OK(sql_exec(s, "UPDATE blob SET data = x'00'", &err));
    assert_int_equal(store_check(s, &err), -1);
    assert_non_null(strstr(err.msg, "damaged"));
    OK(sql_exec(s, "PRAGMA user_version = 99", &err));
    store_close(s);
    assert_int_equal(store_open(&s, path, &err), -1);
    assert_non_null(strstr(err.msg, "newer"));
    char other[700];
    snprintf(other, sizeof other, "%s/garbage.db", tmp.path);
    OK(file_write(other, "this is not a database, whatever its name says", 46, &err));
    assert_int_equal(store_open(&s, other, &err), -1);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),     cmocka_unit_test(test_find),
        cmocka_unit_test(test_lock),        cmocka_unit_test(test_two_processes),
        cmocka_unit_test(test_not_a_store), cmocka_unit_test(test_newer_and_damaged),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
