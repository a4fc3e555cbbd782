/*
 * author_faults.c - runs the authors `openai` and `anthropic` against t/fake/provider, with every
 * script of t/cases/provider. A script tells the server how to answer, and says how the call must
 * end. Hone and the server must count the same tokens and requests.
 */
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

#include "author/author.h"
#include "base/util.h"
#include "sys/file.h"
#include "sys/http.h"
#include "sys/json.h"

#define KEY "sk-test-0123456789abcdef"
#define DIR "t/cases/provider"

static int port;
static int server_in = -1;
static pid_t server;
static struct temp_dir cache = TEMP_DIR_INIT;

static int start_server(void **state)
{
    int in[2], out[2];
    char line[32] = "";
    if (temp_dir_make(&cache, NULL) < 0 || pipe(in) < 0 || pipe(out) < 0)
        return -1;
    setenv("HONE_CACHE_DIR", cache.path, 1);
    server = fork();
    if (server == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execl("t/fake/provider", "provider", DIR, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    server_in = in[1];
    /* We read the whole line. If we closed the pipe before the end of the line, SIGPIPE would kill
     * the server. */
    for (size_t n = 0; n < sizeof line - 1 && !strchr(line, '\n');) {
        ssize_t got = read(out[0], line + n, sizeof line - 1 - n);
        if (got <= 0)
            return -1;
        n += (size_t)got;
    }
    port = atoi(line);
    close(out[0]);
    setenv("OPENAI_API_KEY", KEY, 1);
    setenv("ANTHROPIC_API_KEY", KEY, 1);
    return port > 0 ? 0 : -1;
}

static int stop_server(void **state)
{
    close(server_in);
    waitpid(server, NULL, 0);
    temp_dir_release(&cache);
    return 0;
}

struct expectation {
    char ok[512], fail[256];
    unsigned requests, continued, min_ms;
    bool estimated;
    bool silent;   /* the server stops sending, so the test sets a short limit for silence */
    char only[16]; /* the script is only for this protocol; "" = for both */
};

static void unescape(char *s)
{
    char *w = s;
    for (char *p = s; *p; p++)
        if (p[0] == '\\' && p[1] == 'n') {
            *w++ = '\n';
            p++;
        } else {
            *w++ = *p;
        }
    *w = '\0';
}

static struct expectation read_expectation(const char *name)
{
    struct expectation e = {.only = ""};
    char path[512], line[1024];
    snprintf(path, sizeof path, "%s/%s", DIR, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (str_starts(line, "expect ok ")) {
            snprintf(e.ok, sizeof e.ok, "%.500s", line + 10);
            unescape(e.ok);
        } else if (str_starts(line, "expect fail ")) {
            snprintf(e.fail, sizeof e.fail, "%.200s", line + 12);
        } else if (str_starts(line, "expect requests ")) {
            e.requests = (unsigned)atoi(line + 16);
        } else if (str_starts(line, "expect continued ")) {
            e.continued = (unsigned)atoi(line + 17);
        } else if (str_starts(line, "expect min_ms ")) {
            e.min_ms = (unsigned)atoi(line + 14);
        } else if (str_starts(line, "expect only ")) {
            snprintf(e.only, sizeof e.only, "%.15s", line + 12);
        } else if (str_eq(line, "expect estimated")) {
            e.estimated = true;
        } else if (str_eq(line, "expect silence")) {
            e.silent = true;
        } else if (str_starts(line, "expect")) {
            fail_msg("%s: '%s' is not understood", path, line);
        }
    }
    fclose(f);
    assert_true(e.ok[0] || e.fail[0]);
    return e;
}

static json_t *server_count(const char *script, const char *protocol)
{
    struct http *h;
    struct http_transfer *t;
    struct err err = ERR_INIT;
    char url[256];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/count/%s/%s", port, script, protocol);
    assert_int_equal(http_open(&h, &err), 0);
    assert_int_equal(http_start(h, &(struct http_request){.url = url}, &t, &err), 0);
    while (!http_done(t))
        http_wait(h, 100000000);
    assert_int_equal(http_status(t), 200);
    json_t *j = json_read_text(http_body(t)->buf, http_body(t)->len, "count", NULL, &err);
    assert_non_null(j);
    http_transfer_free(t);
    http_close(h);
    return j;
}

static void play(const char *file, const char *protocol)
{
    char script[128], base[256], spec[64];
    struct err err = ERR_INIT;
    struct expectation e = read_expectation(file);
    if (e.only[0] && !str_eq(e.only, protocol))
        return;
    snprintf(script, sizeof script, "%.*s", (int)(strlen(file) - 7), file);
    snprintf(base, sizeof base, "http://127.0.0.1:%d/%s", port, script);
    setenv("OPENAI_BASE_URL", base, 1);
    setenv("ANTHROPIC_BASE_URL", base, 1);
    snprintf(spec, sizeof spec, "%s:fake-1", protocol);

    struct author *a;
    struct author_config cfg = {.backoff_ns = 4000000,
                                .stall_ns = e.silent ? 2000000000 : 60000000000,
                                .total_ns = 120000000000,
                                .retries = 4,
                                .continues = 3,
                                .jitter_seed = 7};
    if (author_open(&a, spec, &cfg, &err) < 0)
        fail_msg("%s", err.msg);
    struct author_request rq = {
        .role = "code", .stable = "Be \xff brief.\n", .turn = "Write \xff it.", .temperature = 0.5};
    struct author_call *c;
    uint64_t t0 = now_ns();
    assert_int_equal(author_start(a, &rq, &c, &err), 0);
    while (!author_poll(c))
        author_wait(a, 100000000);
    const struct author_reply *r = author_reply(c);
    uint64_t ms = (now_ns() - t0) / 1000000;

    if (e.ok[0] && (!r->ok || !str_eq(r->text.buf, e.ok)))
        fail_msg("%s %s: wanted \"%s\", got %s \"%.200s\"", protocol, script, e.ok,
                 r->ok ? "ok" : r->err.msg, r->text.buf);
    if (e.fail[0] && (r->ok || !strstr(r->err.msg, e.fail)))
        fail_msg("%s %s: wanted failure '%s', got %s '%s'", protocol, script, e.fail,
                 r->ok ? "ok" : "failure", r->ok ? r->text.buf : r->err.msg);
    if (strstr(r->err.msg, KEY) || strstr(r->notes.buf, KEY))
        fail_msg("%s %s: the key was shown", protocol, script);
    if (r->continued != e.continued && e.ok[0])
        fail_msg("%s %s: continued %u times", protocol, script, r->continued);
    if (r->estimated != e.estimated)
        fail_msg("%s %s: estimated is %d", protocol, script, r->estimated);
    if (ms < e.min_ms)
        fail_msg("%s %s: took %llu ms", protocol, script, (unsigned long long)ms);

    json_t *count = server_count(script, protocol);
    unsigned requests = (unsigned)json_integer_value(json_object_get(count, "requests"));
    uint64_t in = (uint64_t)json_integer_value(json_object_get(count, "in"));
    uint64_t out = (uint64_t)json_integer_value(json_object_get(count, "out"));
    if (r->requests != requests || requests != e.requests)
        fail_msg("%s %s: Hone says %u requests, the server %u, the script %u", protocol, script,
                 r->requests, requests, e.requests);
    if (!r->estimated && (r->in_tokens != in || r->out_tokens != out))
        fail_msg("%s %s: Hone says %llu+%llu tokens, the server %llu+%llu", protocol, script,
                 (unsigned long long)r->in_tokens, (unsigned long long)r->out_tokens,
                 (unsigned long long)in, (unsigned long long)out);
    if (r->estimated && (r->in_tokens < in || r->out_tokens < out))
        fail_msg("%s %s: an estimate below what the server counted", protocol, script);
    json_decref(count);
    author_call_free(c);
    author_close(a);
}

static void play_all(const char *protocol)
{
    struct name_vec names = VEC_INIT;
    struct err err = ERR_INIT;
    size_t played = 0;
    assert_int_equal(dir_list(DIR, &names, &err), 0);
    vec_each (char *, n, &names) {
        if (!str_ends(*n, ".script"))
            continue;
        play(*n, protocol);
        played++;
    }
    assert_true(played >= 25);
    name_vec_release(&names);
}

static void test_openai(void **state)
{
    play_all("openai");
}

static void test_anthropic(void **state)
{
    play_all("anthropic");
}

static const char *content(const json_t *message)
{
    return json_string_value(json_object_get(message, "content"));
}

/* Checks the bodies of the requests that the server got in test_openai() and test_anthropic(). */
static void test_request_shape(void **state)
{
    json_t *count = server_count("21-refused-parameter", "openai");
    const json_t *bodies = json_object_get(count, "bodies");
    const json_t *first = json_array_get(bodies, 0), *second = json_array_get(bodies, 1);
    assert_non_null(json_object_get(first, "temperature"));
    assert_null(json_object_get(second, "temperature"));
    assert_true(json_is_true(json_object_get(first, "stream")));
    const json_t *asked = json_object_get(first, "messages");
    /* A byte that is not UTF-8 is replaced, and the message is sent. */
    assert_int_equal(json_array_size(asked), 2);
    assert_string_equal(content(json_array_get(asked, 0)), "Be \xef\xbf\xbd brief.\n");
    assert_string_equal(content(json_array_get(asked, 1)), "Write \xef\xbf\xbd it.");
    json_decref(count);
    static const char *const limits[][2] = {{"openai", "max_tokens"}, {"anthropic", "max_tokens"}};
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        count = server_count("37-too-many-tokens", limits[i][0]);
        bodies = json_object_get(count, "bodies");
        assert_int_equal(
            json_integer_value(json_object_get(json_array_get(bodies, 0), limits[i][1])), 32000);
        assert_int_equal(
            json_integer_value(json_object_get(json_array_get(bodies, 1), limits[i][1])), 16384);
        json_decref(count);
    }
    count = server_count("43-wants-the-newer-limit", "openai");
    bodies = json_object_get(count, "bodies");
    assert_non_null(json_object_get(json_array_get(bodies, 0), "max_tokens"));
    assert_null(json_object_get(json_array_get(bodies, 1), "max_tokens"));
    assert_non_null(json_object_get(json_array_get(bodies, 1), "max_completion_tokens"));
    json_decref(count);
    count = server_count("11-token-limit", "anthropic");
    bodies = json_object_get(count, "bodies");
    const json_t *messages = json_object_get(json_array_get(bodies, 1), "messages");
    assert_int_equal(json_array_size(messages), 3);
    const json_t *last = json_array_get(messages, 2);
    assert_string_equal(json_string_value(json_object_get(last, "role")), "user");
    const json_t *system = json_array_get(json_object_get(json_array_get(bodies, 0), "system"), 0);
    assert_non_null(json_object_get(system, "cache_control"));
    assert_string_equal(json_string_value(json_object_get(system, "text")),
                        "Be \xef\xbf\xbd brief.\n");
    json_decref(count);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openai),
        cmocka_unit_test(test_anthropic),
        cmocka_unit_test(test_request_shape),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
