/*
 * author_limits.c - many processes use one key to ask t/fake/limited_provider, which enforces
 * limits. The provider must refuse no request, the processes together must not exceed their
 * budget, and every process must get its share.
 *
 * TIER=quick makes fewer calls. limits.c tests the parts of this code with a simulated clock.
 */
#include <fcntl.h>
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

#include "author/author.h"
#include "author/limits/pool.h"
#include "base/util.h"
#include "sys/file.h"
#include "sys/http.h"
#include "sys/json.h"

enum { PROCESSES = 8, MAX_REPLY = 400 };

static struct temp_dir tmp = TEMP_DIR_INIT;

struct server {
    pid_t pid;
    int in, port;
};

static struct server start_server(const char *how, const char *requests, const char *tokens,
                                  const char *minute)
{
    struct server s = {0};
    int in[2], out[2];
    char line[32] = "";
    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    s.pid = fork();
    if (s.pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execl("t/fake/limited_provider", "limited_provider", how, requests, tokens, minute, "100",
              (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    s.in = in[1];
    FILE *f = fdopen(out[0], "r");
    assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    s.port = atoi(line);
    char base[64];
    snprintf(base, sizeof base, "http://127.0.0.1:%d/v1", s.port);
    setenv("OPENAI_BASE_URL", base, 1);
    base[strlen(base) - 3] = '\0';
    setenv("ANTHROPIC_BASE_URL", base, 1);
    return s;
}

static void stop_server(const struct server *s)
{
    close(s->in);
    waitpid(s->pid, NULL, 0);
}

static json_t *server_count(const struct server *s)
{
    struct http *h;
    struct http_transfer *t;
    struct err err = ERR_INIT;
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/count", s->port);
    assert_int_equal(http_open(&h, &err), 0);
    assert_int_equal(http_start(h, &(struct http_request){.url = url}, &t, &err), 0);
    while (!http_done(t))
        http_wait(h, 100000000);
    json_t *j = json_read_text(http_body(t)->buf, http_body(t)->len, "count", NULL, &err);
    assert_non_null(j);
    http_transfer_free(t);
    http_close(h);
    return j;
}

/* ---- one process ----------------------------------------------------------------------------- */

struct job {
    const char *spec, *pool;
    uint64_t minute_ns;
    int calls, gate;
};

/* Makes the author calls of process `number`, one after the other, and stops when the budget is
 * used up. Returns how many succeeded, or -1 if one failed for another reason. */
static int make_calls(const struct job *j, int number)
{
    struct author *a;
    struct budget_pool *pool = NULL;
    struct author_config cfg = {.minute_ns = j->minute_ns, .max_tokens = MAX_REPLY, .retries = 20};
    struct err err = ERR_INIT;
    char prompt[300], byte;
    int done = 0;
    if (author_open(&a, j->spec, &cfg, &err) < 0 ||
        (j->pool && budget_pool_join(&pool, j->pool, &err) < 0))
        return -1;
    if (pool)
        author_set_budget(a, pool, &(struct price){.in = 1, .out = 2});
    memset(prompt, 'x', sizeof prompt);
    snprintf(prompt + 100, sizeof prompt - 100, "%d", number);
    snprintf(prompt, 100, "run%d", number);
    prompt[strlen(prompt)] = ' ';
    if (read(j->gate, &byte, 1) < 0) /* all begin together, when the test closes the gate */
        return -1;
    for (; done < j->calls; done++) {
        struct author_call *c;
        struct author_request rq = {.role = "code", .turn = prompt, .temperature = -1};
        if (author_start(a, &rq, &c, &err) < 0)
            return -1;
        while (!author_poll(c))
            author_wait(a, 100000000);
        const struct author_reply *r = author_reply(c);
        bool ok = r->ok, over = r->over_budget;
        if (!ok && !over)
            fprintf(stderr, "# run %d, call %d: %s\n", number, done, r->err.msg);
        author_call_free(c);
        if (!ok && !over)
            return -1;
        if (over)
            break;
    }
    author_close(a);
    budget_pool_close(pool);
    return done;
}

static void run_processes(struct job *j, pid_t pids[PROCESSES])
{
    int gate[2];
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    j->gate = gate[0];
    for (int i = 0; i < PROCESSES; i++)
        if ((pids[i] = fork()) == 0) {
            close(gate[1]);
            int done = make_calls(j, i);
            _exit(done < 0 ? 255 : done);
        }
    close(gate[0]);
    close(gate[1]);
}

static int wait_for(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* `order` has a process ("run3") for each request that the provider served, in the order of the
 * requests. Each process makes `calls` requests. Returns how many requests of the slowest process
 * had been served when the last request of the fastest process was served. */
static unsigned least_served(const json_t *order, int calls)
{
    int served[PROCESSES] = {0};
    size_t i;
    json_t *word;
    json_array_foreach(order, i, word)
    {
        int run = atoi(json_string_value(word) + 3);
        if (++served[run % PROCESSES] == calls)
            break;
    }
    int least = calls;
    for (int k = 0; k < PROCESSES; k++)
        least = MIN(least, served[k]);
    return (unsigned)least;
}

/* Returns true if the provider refused no request and, with `fair`, every process got its share. */
static bool play_once(const char *how, const char *spec, const char *requests, const char *tokens,
                      const char *minute, int calls, bool fair)
{
    struct server s = start_server(how, requests, tokens, minute);
    pid_t pids[PROCESSES];
    struct job j = {.spec = spec, .minute_ns = (uint64_t)(atof(minute) * 1e9), .calls = calls};
    run_processes(&j, pids);
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(wait_for(pids[i]), calls);
    json_t *count = server_count(&s);
    const json_t *order = json_object_get(count, "order");
    assert_int_equal(json_array_size(order), (size_t)calls * PROCESSES);
    int refused = (int)json_integer_value(json_object_get(count, "refused"));
    unsigned least = least_served(order, calls);
    bool unfair = fair && least * 10 < (unsigned)calls * 8;
    if (refused)
        printf("# %s, %s: %d requests were refused\n", how, spec, refused);
    if (unfair)
        printf("# %s, %s: a run was served %u times when another one was served %d times\n", how,
               spec, least, calls);
    json_decref(count);
    stop_server(&s);
    return !refused && !unfair;
}

/*
 * In these tests, the minute of a limit lasts 1.5 seconds or less. A machine under load may hold a
 * request back for that long, and the provider then counts the request in the next minute. This is
 * rare, so one of three attempts must succeed.
 */
static void play(const char *how, const char *spec, const char *requests, const char *tokens,
                 const char *minute, int calls, bool fair)
{
    for (int i = 0; i < 3; i++)
        if (play_once(how, spec, requests, tokens, minute, calls, fair))
            return;
    fail_msg("%s, %s: three plays went wrong", how, spec);
}

static bool in_tier(const char *tier)
{
    const char *t = getenv("TIER");
    return !t || !*t || str_eq(t, "all") || str_eq(t, tier);
}

/* A request costs up to 75 tokens for its prompt. A provider may also count the longest reply that
 * the request allows: 400 tokens. */
static void test_limits(void **state)
{
    if (in_tier("quick")) {
        play("bucket", "openai:quick", "60", "1000000", "0.5", 15, false);
        play("last", "anthropic:quick", "1000", "30000", "0.5", 15, false);
    }
    if (in_tier("rest")) {
        play("clock", "openai:long", "80", "60000", "1.5", 50, true);
        play("bucket", "openai:long", "2000", "40000", "1.5", 50, true);
        play("last", "anthropic:long", "80", "60000", "1.5", 50, true);
    }
}

/* The provider does not say what its limits are, and refuses requests above them. Then all
 * processes wait, and in the end all calls succeed. */
static void test_silent(void **state)
{
    if (in_tier("quick"))
        play_once("silent", "openai:silent", "40", "1000000", "0.5", 10, false);
}

/* ---- the budget ------------------------------------------------------------------------------ */

/* The processes make calls until their common budget is used up. We kill one process during a
 * call. */
static void test_budget(void **state)
{
    enum { LIMIT = 20000 };
    if (!in_tier("quick"))
        return;
    struct server s = start_server("last", "100000", "10000000", "1");
    struct budget_pool *p;
    struct pool_sum spent, held;
    struct err err = ERR_INIT;
    pid_t pids[PROCESSES];
    char path[512];
    snprintf(path, sizeof path, "%s/pool", tmp.path);
    assert_int_equal(
        budget_pool_open(&p, path, &(struct pool_sum){LIMIT, 0}, &(struct pool_sum){0, 0}, &err),
        0);
    struct job j = {.spec = "openai:budget", .pool = path, .minute_ns = 1000000000, .calls = 1000};
    run_processes(&j, pids);
    do {
        budget_pool_read(p, &spent, &held);
        assert_true(spent.tokens + held.tokens <= LIMIT);
        usleep(1000);
    } while (spent.tokens < LIMIT / 4);
    kill(pids[0], SIGKILL);
    assert_int_equal(wait_for(pids[0]), -1);
    for (int i = 1; i < PROCESSES; i++)
        assert_true(wait_for(pids[i]) != 255);
    budget_pool_read(p, &spent, &held);
    assert_int_equal(held.tokens, 0);
    /* Calls stop when the rest of the budget is too small for another call, which takes about 300
     * tokens for the prompt and 400 for the reply. */
    assert_in_range(spent.tokens, LIMIT - 1000, LIMIT);
    /* The provider counts the same tokens as we do, and perhaps those of the killed process's last
     * call. */
    json_t *count = server_count(&s);
    uint64_t billed = (uint64_t)json_integer_value(json_object_get(count, "tokens"));
    assert_in_range(billed, spent.tokens, spent.tokens + 500);
    json_decref(count);
    budget_pool_close(p);
    stop_server(&s);
}

static int setup(void **state)
{
    if (temp_dir_make(&tmp, NULL) < 0)
        return -1;
    setenv("HONE_CACHE_DIR", tmp.path, 1);
    setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef", 1);
    setenv("ANTHROPIC_API_KEY", "sk-test-0123456789abcdef", 1);
    return 0;
}

static int teardown(void **state)
{
    temp_dir_release(&tmp);
    return 0;
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_silent),
        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
