/* author_local.c - tests the authors that need no network (exec, mailbox, replay), and API keys,
 * prices, budgets and the parser of server-sent events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "author/author.h"
#include "author/budget.h"
#include "author/key.h"
#include "author/replay.h"
#include "author/sse.h"
#include "base/util.h"
#include "sys/file.h"

static struct temp_dir tmp;

static int set_up(void **state)
{
    tmp = (struct temp_dir)TEMP_DIR_INIT;
    return temp_dir_make(&tmp, NULL);
}

static int tear_down(void **state)
{
    temp_dir_release(&tmp);
    return 0;
}

static struct author *must_open(const char *spec, struct author_config cfg)
{
    struct author *a = NULL;
    struct err err = ERR_INIT;
    if (author_open(&a, spec, &cfg, &err) < 0)
        fail_msg("%s: %s", spec, err.msg);
    return a;
}

static struct author_call *must_start(struct author *a, struct author_request rq)
{
    struct author_call *c = NULL;
    struct err err = ERR_INIT;
    rq.role = rq.role ? rq.role : "code";
    if (author_start(a, &rq, &c, &err) < 0)
        fail_msg("%s", err.msg);
    return c;
}

static void finish(struct author *a, struct author_call *c)
{
    while (!author_poll(c))
        author_wait(a, 50000000);
}

static void test_exec(void **state)
{
    struct author *a = must_open("exec:tr a-z A-Z; ls -A | wc -l", (struct author_config){0});
    struct author_call *c =
        must_start(a, (struct author_request){.stable = "one ", .turn = "two "});
    finish(a, c);
    assert_true(author_reply(c)->ok);
    /* The 0 comes from `ls -A | wc -l`: the command runs in an empty directory. */
    assert_string_equal(author_reply(c)->text.buf, "ONE TWO 0\n");
    assert_true(author_reply(c)->estimated);
    author_call_free(c);
    author_close(a);
}

static void test_exec_failures(void **state)
{
    static const struct {
        const char *spec, *want;
        uint64_t limit_s;
    } cases[] = {
        {"exec:echo no model >&2; exit 3", "no model", 60},
        {"exec:true", "printed nothing", 60},
        {"exec:sleep 20", "time limit", 1},
        {"exec:head -c 5000000 /dev/zero | tr '\\0' x", "more than", 60},
        {"exec:yes", "more than", 60}, /* stopped long before the time limit */
        {"exec:printf 'a\\033[2Jb\\nc\\377d' >&2; exit 1", "it said: a [2Jb c?d", 60},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct author *a = must_open(
            cases[i].spec, (struct author_config){.total_ns = cases[i].limit_s * 1000000000});
        struct author_call *c = must_start(a, (struct author_request){.turn = "x"});
        finish(a, c);
        assert_false(author_reply(c)->ok);
        if (!strstr(author_reply(c)->err.msg, cases[i].want))
            fail_msg("'%s' does not say '%s'", author_reply(c)->err.msg, cases[i].want);
        author_call_free(c);
        author_close(a);
    }
}

/* In a reply, `?` replaces each byte that is 0 or not UTF-8. So no such byte reaches the store, a
 * prompt or a recording. */
static void test_exec_bytes(void **state)
{
    struct author *a =
        must_open("exec:printf 'a\\377b\\000c\\303\\251'", (struct author_config){0});
    struct author_call *c = must_start(a, (struct author_request){.turn = "x"});
    finish(a, c);
    assert_true(author_reply(c)->ok);
    assert_int_equal(author_reply(c)->text.len, 7);
    assert_string_equal(author_reply(c)->text.buf, "a?b?c\xc3\xa9");
    assert_non_null(strstr(author_reply(c)->notes.buf, "2 bytes"));
    author_call_free(c);
    author_close(a);
}

static void in_box(const char *name, const char *text)
{
    struct err err = ERR_INIT;
    char path[600];
    snprintf(path, sizeof path, "%s/odd/%s", tmp.path, name);
    if (text)
        assert_int_equal(file_write(path, text, strlen(text), &err), 0);
    else
        assert_int_equal(mkfifo(path, 0600), 0);
}

/* A new prompt gets a number that no file in the mailbox has, so an old reply file is not taken as
 * its answer. A pipe is not read as a prompt. */
static void test_mailbox_odd_files(void **state)
{
    char spec[512];
    snprintf(spec, sizeof spec, "mailbox:%s/odd", tmp.path);
    struct author *a = must_open(spec, (struct author_config){.wait_ns = 600000000});
    in_box("0000.reply.md", "of long ago");
    in_box("0003.prompt.md", NULL);
    in_box("0007.reply.md", "of long ago");
    in_box("x.prompt.md", "x");
    in_box("99999999999999999999.prompt.md", "x");
    struct author_call *c = must_start(a, (struct author_request){.run = "r", .handle = "?"});
    assert_string_equal(author_call_handle(c), "0008");
    in_box("0008.reply.md", NULL); /* makes a pipe; it is not read as a reply either */
    finish(a, c);
    assert_false(author_reply(c)->ok);
    assert_non_null(strstr(author_reply(c)->err.msg, "0008.reply.md"));
    author_call_free(c);
    author_close(a);
}

static void test_mailbox(void **state)
{
    struct err err = ERR_INIT;
    char spec[512], path[600];
    struct strbuf sb = STRBUF_INIT(1 << 20);
    snprintf(spec, sizeof spec, "mailbox:%s/box", tmp.path);
    struct author *a = must_open(spec, (struct author_config){0});
    struct author *b = must_open(spec, (struct author_config){0});
    /* an author that is closed removes the empty mailbox; the next call makes it again */
    author_close(must_open(spec, (struct author_config){0}));
    struct author_request rq = {.run = "r1", .index = 0, .turn = "first?"};
    struct author_call *c0 = must_start(a, rq);
    rq.index = 1;
    rq.turn = "second?";
    struct author_call *c1 = must_start(a, rq);
    struct author_call *other = must_start(b, (struct author_request){.run = "r2", .turn = "q"});
    assert_string_equal(author_call_handle(c0), "0000");
    assert_string_equal(author_call_handle(c1), "0001");
    assert_string_equal(author_call_handle(other), "0002");
    assert_false(author_poll(c0));

    snprintf(path, sizeof path, "%s/box/0001.reply.md", tmp.path);
    assert_int_equal(file_write(path, "answer two", 10, &err), 0);
    finish(a, c1);
    assert_string_equal(author_reply(c1)->text.buf, "answer two");
    assert_false(author_poll(c0));

    /* if the same call is made again, the author finds its old prompt and writes no second one */
    author_call_free(c0);
    struct author_call *again = must_start(
        a, (struct author_request){.run = "r1", .index = 0, .turn = "first?", .handle = "?"});
    assert_string_equal(author_call_handle(again), "0000");
    snprintf(path, sizeof path, "%s/box/0000.prompt.md", tmp.path);
    assert_int_equal(file_read(path, 1 << 20, &sb, &err), 0);
    assert_non_null(strstr(sb.buf, "run r1, role code, call 0"));
    assert_non_null(strstr(sb.buf, "first?"));
    author_call_free(again);
    author_call_free(c1);
    author_call_free(other);
    author_close(a);
    author_close(b);
    strbuf_release(&sb);
}

static void test_replay(void **state)
{
    struct err err = ERR_INIT;
    char sha[65], path[600], spec[640], text[2048];
    replay_prompt_sha("s", "t", sha);
    int n = snprintf(text, sizeof text,
                     "{\"hone-replay\": 1, \"run\": {\"task\": \"x\"}}\n"
                     "{\"call\": {\"role\": \"code\", \"index\": 0, \"prompt_sha\": \"%s\", "
                     "\"reply\": \"zero\", \"in_tokens\": 5, \"out_tokens\": 6}}\n"
                     "{\"call\": {\"role\": \"code\", \"index\": 1, \"prompt_sha\": \"%s\", "
                     "\"reply\": \"\", \"error\": \"the reply is too long\"}}\n"
                     "{\"verdict\": {\"index\": 0, \"verdict\": {\"kind\": \"pass\"}}}\n",
                     sha, sha);
    snprintf(path, sizeof path, "%s/run.jsonl", tmp.path);
    assert_int_equal(file_write(path, text, (size_t)n, &err), 0);
    snprintf(spec, sizeof spec, "replay:%s", path);
    struct author *a = must_open(spec, (struct author_config){0});
    struct author_call *c = must_start(a, (struct author_request){.stable = "s", .turn = "t"});
    finish(a, c);
    assert_string_equal(author_reply(c)->text.buf, "zero");
    assert_int_equal(author_reply(c)->out_tokens, 6);
    assert_false(author_reply(c)->drift);
    author_call_free(c);
    c = must_start(a, (struct author_request){.stable = "s", .turn = "changed"});
    finish(a, c);
    assert_true(author_reply(c)->ok && author_reply(c)->drift);
    author_call_free(c);
    /* the recorded call 1 failed; in the replay it fails with an error that does not end a run */
    c = must_start(a, (struct author_request){.index = 1, .stable = "s", .turn = "t"});
    finish(a, c);
    assert_false(author_reply(c)->ok);
    assert_int_equal(author_reply(c)->err.kind, ERR_LIMIT);
    author_call_free(c);
    struct author_request rq = {.role = "code", .index = 2, .stable = "s", .turn = "t"};
    assert_int_equal(author_start(a, &rq, &c, &err), -1);
    assert_non_null(strstr(err.msg, "the recording ends"));
    author_close(a);

    static const char *const bad[] = {
        "",
        "{\"hone-replay\": 9, \"run\": {}}\n",
        "{\"hone-replay\": 1, \"run\": {}}\n{\"call\": {\"index\": 0}}\n",
        "{\"hone-replay\": 1, \"run\": {}}\n{\"verdict\": {\"index\": -4}}\n",
        ("{\"hone-replay\": 1, \"run\": {}}\n{\"node\": {\"index\": 0}}\n"
         "{\"node\": {\"index\": 0}}\n"),
        "{\"hone-replay\": 1, \"run\": {}}\n{\"call\": \n",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(file_write(path, bad[i], strlen(bad[i]), &err), 0);
        assert_int_equal(author_open(&a, spec, NULL, &err), -1);
    }
}

static void test_unknown_author(void **state)
{
    struct author *a;
    struct err err = ERR_INIT;
    assert_int_equal(author_open(&a, "gpt5", NULL, &err), -1);
    assert_non_null(strstr(err.msg, "openai:MODEL"));
}

static void test_keys(void **state)
{
    struct strbuf key = STRBUF_INIT(4096);
    struct err err = ERR_INIT;
    char path[600];
    snprintf(path, sizeof path, "%s/key", tmp.path);
    unsetenv("T_API_KEY");
    setenv("XDG_CONFIG_HOME", tmp.path, 1);
    assert_int_equal(key_find("T_API_KEY", &key, &err), -1);
    assert_non_null(strstr(err.msg, "T_API_KEY_FILE"));
    assert_int_equal(file_write_mode(path, "sk-secret\n", 10, 0644, &err), 0);
    setenv("T_API_KEY_FILE", path, 1);
    assert_int_equal(key_find("T_API_KEY", &key, &err), -1);
    assert_non_null(strstr(err.msg, "chmod 600"));
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(key_find("T_API_KEY", &key, &err), 0);
    assert_string_equal(key.buf, "sk-secret");
    char link[640];
    snprintf(link, sizeof link, "%s/link", tmp.path);
    assert_int_equal(symlink(path, link), 0);
    setenv("T_API_KEY_FILE", link, 1);
    assert_int_equal(key_find("T_API_KEY", &key, &err), -1);
    assert_non_null(strstr(err.msg, "symbolic link"));
    setenv("T_API_KEY", "sk-a\r\nX-Evil: 1", 1);
    assert_int_equal(key_find("T_API_KEY", &key, &err), -1);
    char text[] = "the key sk-secret-1 and sk-secret-1 again";
    key_redact(text, strlen(text), "sk-secret-1");
    assert_string_equal(text, "the key *********** and *********** again");
    unsetenv("T_API_KEY");
    unsetenv("T_API_KEY_FILE");
    unsetenv("XDG_CONFIG_HOME");
    strbuf_release(&key);
}

static void test_prices(void **state)
{
    struct prices *p;
    struct price x;
    struct err err = ERR_INIT;
    char path[600];
    const char *mine = "{\"models\": [{\"match\": \"gpt-5\", \"in\": 100, \"out\": 200}]}";
    if (prices_load(&p, &err) < 0)
        fail_msg("%s", err.msg);
    assert_true(prices_find(p, "openai", "gpt-5-mini", &x));
    assert_true(x.out == 2.0);
    assert_false(prices_find(p, "openai", "no-such-model", &x));
    assert_true(prices_find(p, "playbook", "", &x) && x.in == 0);
    assert_true(prices_find(p, "anthropic", "claude-sonnet-4-5", &x));
    assert_true(price_of(&x, 1000000, 900000, 0, 0) < 0.58); /* 0.1*3 + 0.9*0.3 */
    prices_free(p);
    snprintf(path, sizeof path, "%s/prices.json", tmp.path);
    assert_int_equal(file_write(path, mine, strlen(mine), &err), 0);
    setenv("HONE_PRICES", path, 1);
    assert_int_equal(prices_load(&p, &err), 0);
    assert_true(prices_find(p, "openai", "gpt-5", &x) && x.in == 100);
    assert_true(prices_find(p, "openai", "gpt-5-mini", &x) && x.in < 1);
    prices_free(p);
    assert_int_equal(file_write(path, "{\"models\": [{\"match\": 3}]}", 25, &err), 0);
    assert_int_equal(prices_load(&p, &err), -1);
    unsetenv("HONE_PRICES");
}

static void test_budget(void **state)
{
    struct strbuf why = STRBUF_INIT(256);
    struct budget b = {.tokens = 100, .usd = 1, .wall_ns = 10, .steps = 3};
    assert_false(budget_over(&b, &(struct spent){.in_tokens = 50, .out_tokens = 49}, &why));
    assert_true(budget_over(&b, &(struct spent){.in_tokens = 50, .out_tokens = 50}, &why));
    assert_non_null(strstr(why.buf, "100 tokens"));
    assert_true(budget_over(&b, &(struct spent){.steps = 3}, NULL));
    assert_true(budget_over(&b, &(struct spent){.usd = 1}, NULL));
    assert_true(budget_over(&b, &(struct spent){.wall_ns = 10}, NULL));
    assert_false(budget_over(&(struct budget){0}, &(struct spent){.usd = 1e9}, NULL));
    strbuf_release(&why);
}

static void collect(void *ctx, const char *event, const char *data, size_t len)
{
    strbuf_addf(ctx, "[%s|%.*s]", event, (int)len, data);
}

/* The parser of server-sent events gives the same events, however the stream is cut into pieces. */
static void test_sse_pieces(void **state)
{
    static const char stream[] = "\xef\xbb\xbf"
                                 "data: a\r\n\r\n: c\nevent: e\ndata: b\ndata:c\n\nid: 1\rdata: "
                                 "x\r\rid: 1\rdata: x\r\rdata: lost";
    for (size_t piece = 1; piece < sizeof stream; piece++) {
        struct strbuf got = STRBUF_INIT(1024);
        struct sse p;
        sse_init(&p, collect, &got);
        for (size_t i = 0; i < sizeof stream - 1; i += piece)
            sse_feed(&p, stream + i, MIN(piece, sizeof stream - 1 - i));
        sse_end(&p);
        assert_string_equal(got.buf, "[|a][e|b\nc][|x]");
        assert_int_equal(p.duplicates, 1);
        assert_int_equal(p.unfinished, 1);
        sse_release(&p);
        strbuf_release(&got);
    }
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_exec_failures),
        cmocka_unit_test(test_mailbox),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_unknown_author),
        cmocka_unit_test(test_prices),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_sse_pieces),
        cmocka_unit_test(test_exec_bytes),
        cmocka_unit_test(test_mailbox_odd_files),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
