/*
 * limits.c - tests data that many processes share: the state file (sys/shared_state), the limits of
 * a provider (author/limits/limiter), and the budget of a campaign (author/limits/pool).
 * author_limits.c tests the limits and the budget with real requests.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "author/limits/headers.h"
#include "author/limits/limiter.h"
#include "author/limits/pool.h"
#include "base/rng.h"
#include "base/util.h"
#include "sys/file.h"
#include "sys/shared_state.h"

#define MAGIC 77
#define KEY "sk-secret-0123456789"
#define MS 1000000ull

static struct temp_dir tmp = TEMP_DIR_INIT;

static int setup(void **state)
{
    struct err err = ERR_INIT;
    if (temp_dir_make(&tmp, &err) < 0)
        return -1;
    setenv("HONE_CACHE_DIR", tmp.path, 1);
    return 0;
}

static int teardown(void **state)
{
    temp_dir_release(&tmp);
    return 0;
}

static const char *in_tmp(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", tmp.path, name);
    return path;
}

/* Runs `work` in a child process, and kills the child when `work` has written a byte to the pipe
 * `ready`. */
static void run_and_kill(void (*work)(int ready, void *ctx), void *ctx)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        work(ready[1], ctx);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void say_ready(int fd)
{
    if (write(fd, "x", 1) != 1)
        _exit(1);
}

/* ---- the state file -------------------------------------------------------------------------- */

struct counts {
    uint64_t a[1000];
};

static void kill_in_change(int ready, void *ctx)
{
    struct shared_state *s;
    if (shared_state_open(&s, ctx, MAGIC, sizeof(struct counts), NULL) < 0)
        _exit(1);
    struct counts *c = shared_state_begin(s);
    for (int i = 0; i < 500; i++)
        c->a[i]++;
    say_ready(ready);
}

static void test_state_survives_kill(void **state)
{
    struct shared_state *s;
    struct err err = ERR_INIT;
    char path[512];
    struct stat st;
    snprintf(path, sizeof path, "%s", in_tmp("state"));
    assert_int_equal(shared_state_open(&s, path, MAGIC, sizeof(struct counts), &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    for (int round = 1; round <= 3; round++) {
        struct counts *c = shared_state_begin(s);
        for (int i = 0; i < 1000; i++)
            c->a[i]++;
        shared_state_end(s, true);
        run_and_kill(kill_in_change, path);
        c = shared_state_begin(s);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(c->a[i], round);
        shared_state_end(s, false);
    }
    shared_state_close(s);
    /* refused: another struct, a file that others can read, a link */
    assert_int_equal(shared_state_open(&s, path, MAGIC + 1, sizeof(struct counts), &err), -1);
    assert_non_null(strstr(err.msg, "another version"));
    chmod(path, 0644);
    assert_int_equal(shared_state_open(&s, path, MAGIC, sizeof(struct counts), &err), -1);
    assert_non_null(strstr(err.msg, "mode 600"));
    chmod(path, 0600);
    assert_int_equal(symlink(path, in_tmp("link")), 0);
    assert_int_equal(shared_state_open(&s, in_tmp("link"), MAGIC, sizeof(struct counts), &err), -1);
}

static void test_state_is_exclusive(void **state)
{
    enum { PROCESSES = 4, TIMES = 500 };
    struct err err = ERR_INIT;
    struct shared_state *s;
    pid_t pids[PROCESSES];
    for (int p = 0; p < PROCESSES; p++)
        if ((pids[p] = fork()) == 0) {
            if (shared_state_open(&s, in_tmp("adds"), MAGIC, sizeof(struct counts), NULL) < 0)
                _exit(1);
            for (int i = 0; i < TIMES; i++) {
                struct counts *c = shared_state_begin(s);
                c->a[i % 7]++;
                shared_state_end(s, true);
            }
            _exit(0);
        }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        waitpid(pids[p], &status, 0);
        assert_int_equal(status, 0);
    }
    uint64_t sum = 0;
    assert_int_equal(shared_state_open(&s, in_tmp("adds"), MAGIC, sizeof(struct counts), &err), 0);
    const struct counts *c = shared_state_begin(s);
    for (int i = 0; i < 7; i++)
        sum += c->a[i];
    shared_state_end(s, false);
    shared_state_close(s);
    assert_int_equal(sum, PROCESSES * TIMES);
}

/* ---- headers --------------------------------------------------------------------------------- */

static bool find_header(const void *ctx, const char *name, char *out, size_t size)
{
    for (const char *const *h = ctx; h[0]; h += 2)
        if (str_eq(h[0], name)) {
            snprintf(out, size, "%s", h[1]);
            return true;
        }
    return false;
}

static void test_headers(void **state)
{
    struct limit_told t[LIMIT_KINDS];
    const char *const openai[] = {"x-ratelimit-limit-requests",
                                  "500",
                                  "x-ratelimit-remaining-requests",
                                  "499",
                                  "x-ratelimit-reset-requests",
                                  "120ms",
                                  "x-ratelimit-limit-tokens",
                                  "30000",
                                  "x-ratelimit-remaining-tokens",
                                  "29000",
                                  "x-ratelimit-reset-tokens",
                                  "1m2.5s",
                                  NULL};
    assert_int_equal(limit_headers_read(t, find_header, openai), 2);
    assert_true(t[LIMIT_REQUESTS].limit == 500 && t[LIMIT_REQUESTS].remaining == 499);
    assert_float_equal(t[LIMIT_REQUESTS].reset_s, 0.12, 1e-9);
    assert_float_equal(t[LIMIT_TOKENS].reset_s, 62.5, 1e-9);
    assert_true(t[LIMIT_INPUT].limit == 0 && t[LIMIT_INPUT].remaining < 0);

    const char *const anthropic[] = {"anthropic-ratelimit-requests-limit",
                                     "50",
                                     "anthropic-ratelimit-requests-remaining",
                                     "0",
                                     "anthropic-ratelimit-requests-reset",
                                     "2099-01-01T00:00:00Z",
                                     "anthropic-ratelimit-input-tokens-limit",
                                     "40000",
                                     "anthropic-ratelimit-output-tokens-limit",
                                     "8000",
                                     "anthropic-ratelimit-tokens-limit",
                                     "8000",
                                     NULL};
    assert_int_equal(limit_headers_read(t, find_header, anthropic), 3);
    assert_true(t[LIMIT_REQUESTS].remaining == 0 && t[LIMIT_REQUESTS].reset_s > 1e9);
    assert_true(t[LIMIT_OUTPUT].limit == 8000 && t[LIMIT_OUTPUT].remaining < 0);
    assert_true(t[LIMIT_TOKENS].limit == 0);

    const char *const proxy[] = {"x-ratelimit-limit",
                                 "20",
                                 "x-ratelimit-remaining",
                                 "nan",
                                 "x-ratelimit-reset",
                                 "soon",
                                 NULL};
    assert_int_equal(limit_headers_read(t, find_header, proxy), 1);
    assert_true(t[LIMIT_REQUESTS].remaining < 0 && t[LIMIT_REQUESTS].reset_s < 0);

    static const struct {
        const char *text;
        double s;
    } times[] = {{"7", 7},       {"0.5", 0.5},
                 {"6m0s", 360},  {"1h", 3600},
                 {"", -1},       {"1x", -1},
                 {"-3", -1},     {"inf", -1},
                 {"s", -1},      {"1000000001", 0},
                 {"1e13z", -1},  {"Sun, 06 Nov 1994 08:49:37 GMT", 0},
                 {"20ms", 0.02}, {"2001-02-03T04:05:06.5Z", 0}};
    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        assert_float_equal(limit_seconds(times[i].text), times[i].s, 1e-9);
    const char *const retry[] = {"retry-after", "9", "retry-after-ms", "1500", NULL};
    assert_float_equal(limit_retry_after(find_header, retry), 1.5, 1e-9);
    assert_float_equal(limit_retry_after(find_header, retry + 4), -1, 1e-9);
}

/* ---- the limiter against a simulated provider ------------------------------------------------ */

static uint64_t clock_ns;

static uint64_t fake_now(void)
{
    return clock_ns;
}

enum counting { CLOCK_MINUTE, LAST_MINUTE, BUCKET };

struct provider {
    enum counting how;
    double most[LIMIT_KINDS], level[LIMIT_KINDS];
    double share; /* share of a request's maximum that the provider counts */
    uint64_t at_ns;
    struct {
        uint64_t ns;
        double n[LIMIT_KINDS];
    } log[4000];
    size_t logged;
    unsigned refused;
};

#define MINUTE (60000 * MS)

static double provider_left(struct provider *p, int k, uint64_t now)
{
    double used = 0;
    if (p->how == BUCKET)
        return p->level[k];
    for (size_t i = 0; i < p->logged; i++)
        if (p->how == CLOCK_MINUTE ? p->log[i].ns / MINUTE == now / MINUTE
                                   : p->log[i].ns + MINUTE > now)
            used += p->log[i].n[k];
    return p->most[k] - used;
}

static bool provider_takes(struct provider *p, const double need[LIMIT_KINDS], uint64_t now)
{
    for (int k = 0; k < LIMIT_KINDS; k++) {
        p->level[k] += (double)(now - p->at_ns) / (double)MINUTE * p->most[k];
        p->level[k] = MIN(p->level[k], p->most[k]);
    }
    p->at_ns = now;
    for (int k = 0; k < LIMIT_KINDS; k++)
        if (p->most[k] > 0 && provider_left(p, k, now) < need[k]) {
            p->refused++;
            return false;
        }
    assert_true(p->logged < ARRAY_LEN(p->log));
    p->log[p->logged].ns = now;
    for (int k = 0; k < LIMIT_KINDS; k++) {
        p->log[p->logged].n[k] = need[k];
        p->level[k] -= need[k];
    }
    p->logged++;
    return true;
}

static void provider_tells(struct provider *p, struct limit_told told[LIMIT_KINDS], uint64_t now)
{
    for (int k = 0; k < LIMIT_KINDS; k++) {
        double left = provider_left(p, k, now);
        told[k] = (struct limit_told){.limit = p->most[k], .remaining = left, .reset_s = 60};
        if (p->how == BUCKET)
            told[k].reset_s = p->most[k] > 0 ? (p->most[k] - left) / p->most[k] * 60 : 0;
        if (p->how == CLOCK_MINUTE)
            told[k].reset_s = (double)(MINUTE - now % MINUTE) / 1e9;
    }
}

struct sim_call {
    int ticket; /* -1 = none */
    bool sent, arrived, answered, taken;
    uint64_t arrive_ns, headers_ns, end_ns;
    double need[LIMIT_KINDS];
    struct limit_told told[LIMIT_KINDS];
};

struct sim_run {
    struct limiter *limiter;
    struct sim_call calls[3];
    unsigned width, done, left;
};

static void sim_step(struct sim_run *r, struct sim_call *c, struct provider *p, struct rng *rng)
{
    double used[LIMIT_KINDS] = {1, c->need[LIMIT_TOKENS] / 4, 0, 0};
    double counted[LIMIT_KINDS] = {1, c->need[LIMIT_TOKENS] * p->share, 0, 0};
    if (c->ticket < 0 && r->left) {
        c->need[LIMIT_REQUESTS] = 1;
        c->need[LIMIT_TOKENS] = 500 + (double)(rng_u64(rng) % 1000);
        c->ticket = limiter_queue(r->limiter, c->need);
        r->left -= c->ticket >= 0;
    }
    if (c->ticket < 0)
        return;
    if (!c->sent && (c->sent = limiter_is_granted(r->limiter, c->ticket, NULL))) {
        /* requests do not arrive in the order in which they are sent */
        c->arrive_ns = clock_ns + rng_u64(rng) % (400 * MS);
        c->headers_ns = c->arrive_ns + rng_u64(rng) % (800 * MS);
        c->end_ns = c->headers_ns + rng_u64(rng) % (3000 * MS);
    }
    if (c->sent && !c->arrived && clock_ns >= c->arrive_ns) {
        c->arrived = true;
        c->taken = provider_takes(p, counted, clock_ns);
        provider_tells(p, c->told, clock_ns);
    }
    if (c->arrived && !c->answered && clock_ns >= c->headers_ns) {
        c->answered = true;
        limiter_answered(r->limiter, c->ticket, c->taken, c->told);
    }
    if (c->answered && clock_ns >= c->end_ns) {
        limiter_end(r->limiter, c->ticket, used);
        r->done++;
        *c = (struct sim_call){.ticket = -1};
    }
}

/* Eight runs make 50 calls each to a simulated provider. `requests` and `tokens` are its limits for
 * a minute; 0 = none. `share` is the share of a request's maximum of tokens that the provider
 * counts. Sets least[i] to the number of calls that run i had made at the time when the first run
 * had made all. Returns the simulated seconds that all calls took. */
static double simulate(enum counting how, double requests, double tokens, double share,
                       const char *model, unsigned least[8])
{
    enum { RUNS = 8, CALLS = 50 };
    static struct sim_run runs[RUNS];
    static struct provider p;
    struct rng rng;
    uint64_t begun = clock_ns;
    bool finished = false;
    rng = rng_seeded(5 + how, 0);
    p = (struct provider){
        .how = how, .share = share, .most = {requests, tokens}, .level = {requests, tokens}};
    p.at_ns = clock_ns;
    for (int i = 0; i < RUNS; i++) {
        runs[i] = (struct sim_run){.left = CALLS, .width = i % 2 ? 3 : 1};
        for (size_t k = 0; k < ARRAY_LEN(runs[i].calls); k++)
            runs[i].calls[k].ticket = -1;
        runs[i].limiter = limiter_open(&(struct limiter_config){
            .provider = "http://x", .model = model, .key = KEY, .now = fake_now, .run = i + 1});
    }
    for (unsigned done = 0; done < RUNS * CALLS; clock_ns += 100 * MS) {
        done = 0;
        for (int i = 0; i < RUNS; i++) {
            for (unsigned k = 0; k < runs[i].width; k++)
                sim_step(&runs[i], &runs[i].calls[k], &p, &rng);
            done += runs[i].done;
            if (runs[i].done == CALLS && !finished) {
                finished = true;
                for (int j = 0; j < RUNS; j++)
                    least[j] = runs[j].done;
            }
        }
        assert_true(clock_ns - begun < 3600 * 1000 * MS);
    }
    for (int i = 0; i < RUNS; i++)
        limiter_close(runs[i].limiter);
    assert_int_equal(p.refused, 0);
    return (double)(clock_ns - begun) / 1e9;
}

/* There are 8 runs, and 4 of them make three calls at a time. Still the provider must refuse no
 * request, the runs must get almost equal shares, and little of the limit may stay unused. */
static void test_simulated(void **state)
{
    static const struct {
        enum counting how;
        double requests, tokens, share, slack;
        const char *name;
    } cases[] = {
        {CLOCK_MINUTE, 60, 0, 1, 1.2, "clock/requests"},
        {LAST_MINUTE, 60, 0, 1, 1.2, "last/requests"},
        {BUCKET, 60, 0, 1, 1.2, "bucket/requests"},
        {CLOCK_MINUTE, 0, 50000, 1, 1.2, "clock/tokens"},
        {LAST_MINUTE, 0, 50000, 1, 1.2, "last/tokens"},
        {BUCKET, 0, 50000, 1, 1.2, "bucket/tokens"},
        {BUCKET, 80, 80000, 1, 1.2, "bucket/both"},
        /* these providers count only the tokens that a request used, a quarter of its maximum */
        {LAST_MINUTE, 0, 25000, 0.25, 2, "last/used"},
        {BUCKET, 0, 25000, 0.25, 2, "bucket/used"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        unsigned least[8] = {0};
        double ideal = cases[i].requests > 0 ? 400 / cases[i].requests : 0;
        if (cases[i].tokens > 0)
            ideal = MAX(ideal, 400 * 1000 * cases[i].share / cases[i].tokens);
        double s = simulate(cases[i].how, cases[i].requests, cases[i].tokens, cases[i].share,
                            cases[i].name, least);
        if (getenv("SHOW"))
            print_message("%s: %.0f s of %.0f s\n", cases[i].name, s, ideal * 60);
        if (s > ideal * 60 * cases[i].slack + 60)
            fail_msg("%s: %.0f s, %.0f s would do", cases[i].name, s, ideal * 60);
        for (int r = 0; r < 8; r++)
            if (least[r] < 40)
                fail_msg("%s: run %d had %u of its calls when the first run had all 50",
                         cases[i].name, r, least[r]);
    }
}

/* ---- the limiter, other rules -----------------------------------------------------------------
 */

static struct limiter *open_limiter(const char *model, int64_t run)
{
    return limiter_open(&(struct limiter_config){
        .provider = "http://x", .model = model, .key = KEY, .now = fake_now, .run = run});
}

static const double one[LIMIT_KINDS] = {1, 100, 0, 0};
static const struct limit_told nothing[LIMIT_KINDS] = {
    {0, -1, -1}, {0, -1, -1}, {0, -1, -1}, {0, -1, -1}};

static void test_pause_is_shared(void **state)
{
    struct limiter *a = open_limiter("pause", 1), *b = open_limiter("pause", 2);
    struct limiter_wait why;
    int x = limiter_queue(a, one), y = limiter_queue(b, one);
    /* the limits are not known yet, so only one request is granted, to find them out */
    assert_true(limiter_is_granted(a, x, NULL));
    assert_false(limiter_is_granted(b, y, &why));
    limiter_answered(a, x, true, nothing);
    limiter_end(a, x, one);
    assert_true(limiter_is_granted(b, y, NULL));
    limiter_answered(b, y, false, nothing);
    limiter_pause(b, 3000 * MS);
    limiter_end(b, y, one);
    x = limiter_queue(a, one), y = limiter_queue(b, one);
    assert_false(limiter_is_granted(a, x, &why));
    assert_non_null(strstr(why.text, "pause"));
    assert_int_equal(why.until_ns, clock_ns + 3000 * MS);
    clock_ns += 3001 * MS;
    assert_true(limiter_is_granted(a, x, NULL));
    assert_false(limiter_is_granted(b, y, NULL)); /* after a pause, requests start one at a time */
    limiter_answered(a, x, true, nothing);
    assert_true(limiter_is_granted(b, y, NULL));
    limiter_close(a);
    limiter_close(b);
}

/* The provider says that one request is left of 100, although this process made only one. So others
 * use the same key, and the limiter must count their requests too. */
static void test_others_use_the_key(void **state)
{
    struct limiter *a = open_limiter("others", 1);
    struct limit_told told[LIMIT_KINDS] = {{100, 1, 300}, {0, -1, -1}, {0, -1, -1}, {0, -1, -1}};
    struct limiter_wait why;
    int x = limiter_queue(a, one);
    assert_true(limiter_is_granted(a, x, NULL));
    limiter_answered(a, x, true, told);
    limiter_end(a, x, one);
    x = limiter_queue(a, one);
    int y = limiter_queue(a, one);
    assert_true(limiter_is_granted(a, x, NULL));
    assert_false(limiter_is_granted(a, y, &why));
    assert_non_null(strstr(why.text, "100 requests a minute"));
    clock_ns += 63000 * MS;
    assert_true(limiter_is_granted(a, y, NULL));
    /* nothing is left, and the limit is reset only after 300 s: wait for that */
    told[LIMIT_REQUESTS].remaining = 0;
    limiter_answered(a, y, true, told);
    y = limiter_queue(a, one);
    clock_ns += 200000 * MS;
    assert_false(limiter_is_granted(a, y, &why));
    assert_int_equal(why.until_ns, clock_ns + 100000 * MS);
    clock_ns += 101000 * MS;
    assert_true(limiter_is_granted(a, y, NULL));
    limiter_close(a);
}

static void die_with_ticket(int ready, void *ctx)
{
    struct limiter *l = open_limiter("dead", 2);
    int t = limiter_queue(l, one);
    if (!limiter_is_granted(l, t, NULL))
        _exit(1);
    say_ready(ready);
}

static void test_dead_process(void **state)
{
    struct limiter *a = open_limiter("dead", 1);
    struct limit_told told[LIMIT_KINDS] = {{2, 1, 60}, {0, -1, -1}, {0, -1, -1}, {0, -1, -1}};
    int x = limiter_queue(a, one);
    assert_true(limiter_is_granted(a, x, NULL));
    limiter_answered(a, x, true, told);
    limiter_end(a, x, one);
    run_and_kill(die_with_ticket, NULL);
    x = limiter_queue(a, one);
    assert_false(limiter_is_granted(a, x, NULL));
    /* The provider may have counted the request of the process that died. So the limiter counts
     * this request for a minute from the time when it notices the death. */
    clock_ns += 2000 * MS;
    assert_false(limiter_is_granted(a, x, NULL));
    clock_ns += 65000 * MS;
    assert_true(limiter_is_granted(a, x, NULL));
    limiter_close(a);
}

static void test_key_is_not_stored(void **state)
{
    struct name_vec names = VEC_INIT;
    struct err err = ERR_INIT;
    struct stat st;
    char dir[512];
    snprintf(dir, sizeof dir, "%s", in_tmp("limits"));
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(dir_list(dir, &names, &err), 0);
    assert_true(names.n > 3);
    vec_each (char *, n, &names) {
        struct strbuf text = STRBUF_INIT(8u << 20);
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", dir, *n);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 077, 0);
        assert_int_equal(file_read(path, 8u << 20, &text, &err), 0);
        assert_null(memmem(text.buf, text.len, "secret", 6));
        strbuf_release(&text);
    }
    name_vec_release(&names);
}

static void test_without_a_file(void **state)
{
    setenv("HONE_CACHE_DIR", in_tmp("salt-free"), 1);
    assert_int_equal(mkdir(in_tmp("salt-free"), 0700), 0);
    FILE *f = fopen(in_tmp("salt-free/limits"), "w"); /* a file in place of the directory */
    fclose(f);
    setenv("HONE_LOG", "error", 1);
    struct limiter *a = open_limiter("alone", 1);
    unsetenv("HONE_LOG");
    int x = limiter_queue(a, one);
    assert_true(limiter_is_granted(a, x, NULL));
    limiter_close(a);
    setenv("HONE_CACHE_DIR", tmp.path, 1);
}

/* ---- the budget ------------------------------------------------------------------------------ */

static void test_pool(void **state)
{
    struct budget_pool *p;
    struct err err = ERR_INIT;
    struct strbuf why = STRBUF_INIT(500);
    struct pool_sum spent, held;
    int a, b;
    struct pool_wish w = {.prompt = 1000, .out = 8000};
    assert_int_equal(
        budget_pool_open(&p, NULL, &(struct pool_sum){20000, 0}, &(struct pool_sum){1500, 0}, &err),
        0);
    assert_int_equal(budget_pool_reserve(p, &w, &a, &why), POOL_YES);
    assert_int_equal(budget_pool_reserve(p, &w, &b, &why), POOL_YES);
    int c;
    assert_int_equal(budget_pool_reserve(p, &w, &c, &why), POOL_WAIT);
    budget_pool_read(p, &spent, &held);
    assert_int_equal(spent.tokens, 1500);
    assert_int_equal(held.tokens, 18000);
    budget_pool_settle(p, a, &(struct pool_sum){3000, 0});
    assert_int_equal(budget_pool_reserve(p, &w, &c, &why), POOL_WAIT);
    budget_pool_settle(p, b, &(struct pool_sum){9000, 0});
    /* 6500 tokens are left and nothing is reserved, so the call may begin with a shorter reply */
    assert_int_equal(budget_pool_reserve(p, &w, &c, &why), POOL_YES);
    assert_int_equal(w.out, 5500);
    budget_pool_settle(p, c, &(struct pool_sum){4000, 0});
    w.out = 8000;
    assert_int_equal(budget_pool_reserve(p, &w, &c, &why), POOL_OVER);
    assert_non_null(
        strstr(why.buf, "the budget of 20000 tokens is used up: 17500 tokens are spent"));
    budget_pool_close(p);

    /* a budget of money: 1000 tokens of a prompt cost $0.01, and a token of a reply $0.0001 */
    w = (struct pool_wish){.prompt = 1000, .out = 8000, .prompt_usd = 1e-5, .out_usd = 1e-4};
    strbuf_clear(&why);
    assert_int_equal(
        budget_pool_open(&p, NULL, &(struct pool_sum){0, 1}, &(struct pool_sum){0, 0}, &err), 0);
    assert_int_equal(budget_pool_reserve(p, &w, &a, &why), POOL_YES);
    assert_int_equal(w.out, 8000);
    budget_pool_charge(p, &(struct pool_sum){10, 0.05});
    budget_pool_settle(p, a, &(struct pool_sum){9000, 0.41});
    assert_int_equal(budget_pool_reserve(p, &w, &a, &why), POOL_YES);
    assert_true(w.out >= 5299 && w.out <= 5300);
    budget_pool_settle(p, a, &(struct pool_sum){5000, 0.5});
    assert_int_equal(budget_pool_reserve(p, &w, &a, &why), POOL_OVER);
    assert_non_null(strstr(why.buf, "$1.00 is used up: $0.96"));
    budget_pool_close(p);
    strbuf_release(&why);
}

static void die_with_money(int ready, void *ctx)
{
    struct budget_pool *p;
    struct strbuf why = STRBUF_INIT(500);
    struct pool_wish w = {.prompt = 1000, .out = 8000};
    int t;
    if (budget_pool_join(&p, ctx, NULL) < 0 || budget_pool_reserve(p, &w, &t, &why) != POOL_YES)
        _exit(1);
    say_ready(ready);
}

/* Several processes share a budget. One more is killed while it holds a reservation. */
static void test_pool_of_processes(void **state)
{
    enum { PROCESSES = 8, LIMIT = 400000 };
    struct budget_pool *p;
    struct err err = ERR_INIT;
    struct pool_sum spent, held;
    pid_t pids[PROCESSES];
    char path[512];
    snprintf(path, sizeof path, "%s", in_tmp("pool"));
    assert_int_equal(
        budget_pool_open(&p, path, &(struct pool_sum){LIMIT, 0}, &(struct pool_sum){0, 0}, &err),
        0);
    run_and_kill(die_with_money, path);
    for (int i = 0; i < PROCESSES; i++)
        if ((pids[i] = fork()) == 0) {
            struct budget_pool *mine;
            struct strbuf why = STRBUF_INIT(500);
            struct rng rng;
            int t;
            rng = rng_seeded((uint64_t)i, 0);
            if (budget_pool_join(&mine, path, NULL) < 0)
                _exit(1);
            for (;;) {
                struct pool_wish w = {.prompt = 1000, .out = 30000};
                enum pool_answer a = budget_pool_reserve(mine, &w, &t, &why);
                if (a == POOL_OVER)
                    _exit(0);
                if (a == POOL_YES) { /* a third of the replies are as long as they may be */
                    uint64_t out = rng_u64(&rng) % 3 ? rng_u64(&rng) % 3000 : w.out;
                    budget_pool_settle(mine, t, &(struct pool_sum){1000 + out, 0});
                }
                usleep(500);
            }
        }
    int open = PROCESSES;
    while (open) {
        int status;
        budget_pool_read(p, &spent, &held);
        assert_true(spent.tokens + held.tokens <= LIMIT);
        if (waitpid(-1, &status, WNOHANG) > 0) {
            assert_int_equal(status, 0);
            open--;
        }
        usleep(1000);
    }
    budget_pool_read(p, &spent, &held);
    assert_int_equal(held.tokens, 0);
    assert_in_range(spent.tokens, LIMIT - 1000 - POOL_LEAST_REPLY, LIMIT);
    budget_pool_close(p);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    clock_ns = 1000 * MINUTE;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state_survives_kill),
        cmocka_unit_test(test_state_is_exclusive),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_simulated),
        cmocka_unit_test(test_pause_is_shared),
        cmocka_unit_test(test_others_use_the_key),
        cmocka_unit_test(test_dead_process),
        cmocka_unit_test(test_key_is_not_stored),
        cmocka_unit_test(test_without_a_file),
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_pool_of_processes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
