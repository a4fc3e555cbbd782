/* Tests the small tools of src/base and src/job: strbuf, vec, arena, err, log, wire, util. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/gpulock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/util.h"
#include "base/vec.h"
#include "job/crew.h"
#include "job/unit_sample.h"
#include "job/wire.h"

static void test_strbuf_grows_and_caps(void **state)
{
    struct strbuf sb = STRBUF_INIT(1000);
    assert_string_equal(sb.buf, "");
    for (int i = 0; i < 100; i++)
        strbuf_addf(&sb, "%03d,", i);
    assert_int_equal(sb.len, 400);
    assert_false(sb.truncated);
    assert_memory_equal(sb.buf, "000,001,", 8);
    char big[900];
    memset(big, 'x', sizeof big);
    strbuf_add(&sb, big, sizeof big);
    assert_int_equal(sb.len, 1000);
    assert_true(sb.truncated);
    assert_int_equal(sb.buf[1000], 0);
    strbuf_addc(&sb, 'y');
    assert_int_equal(sb.len, 1000);
    strbuf_clear(&sb);
    assert_int_equal(sb.len, 0);
    assert_false(sb.truncated);
    assert_string_equal(sb.buf, "");
    strbuf_release(&sb);
    strbuf_adds(&sb, "again");
    assert_string_equal(sb.buf, "again");
    strbuf_release(&sb);
}

static void test_strbuf_formats_long_text(void **state)
{
    struct strbuf sb = STRBUF_INIT(1 << 20);
    char *text = xmalloc(5001);
    memset(text, 'a', 5000);
    text[5000] = '\0';
    strbuf_addf(&sb, "<%s>", text);
    assert_int_equal(sb.len, 5002);
    assert_int_equal(sb.buf[5001], '>');
    size_t n;
    char *mine = strbuf_detach(&sb, &n);
    assert_int_equal(n, 5002);
    assert_int_equal(sb.len, 0);
    free(mine);
    mine = strbuf_detach(&sb, &n);
    assert_string_equal(mine, "");
    free(mine);
    free(text);
}

static void test_strbuf_time(void **state)
{
    static const struct {
        double ns;
        const char *want;
    } cases[] = {{0, "0 ns"},        {869.6, "870 ns"},   {1254, "1.25 us"},
                 {12340, "12.3 us"}, {1800000, "1.8 ms"}, {12345678, "12.3 ms"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf sb = STRBUF_INIT(100);
        strbuf_add_time(&sb, cases[i].ns);
        assert_string_equal(sb.buf, cases[i].want);
        strbuf_release(&sb);
    }
}

static void test_vec(void **state)
{
    VEC(int) v = VEC_INIT;
    for (int i = 0; i < 1000; i++) {
        int *p = vec_push(&v);
        assert_int_equal(*p, 0);
        *p = i;
    }
    assert_int_equal(v.n, 1000);
    long sum = 0;
    vec_each (int, p, &v)
        sum += *p;
    assert_int_equal(sum, 499500);
    vec_release(&v);
    assert_null(v.items);
    assert_int_equal(v.n, 0);
}

static void test_arena(void **state)
{
    struct arena a = ARENA_INIT;
    char *first = arena_strdup(&a, "first");
    for (size_t n = 1; n < 300000; n = n * 3 + 1) {
        unsigned char *p = arena_alloc(&a, n);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, n);
    }
    assert_string_equal(first, "first");
    assert_string_equal(arena_printf(&a, "%s-%d", first, 7), "first-7");
    assert_string_equal(arena_strndup(&a, "truncate", 5), "trunc");
    assert_non_null(arena_alloc(&a, 0));
    arena_release(&a);
    assert_int_equal(a.bytes, 0);
    assert_string_equal(arena_strdup(&a, "usable again"), "usable again");
    arena_release(&a);
}

static void test_err(void **state)
{
    struct err e = ERR_INIT;
    assert_int_equal(err_set(&e, ERR_INPUT, "bad %s", "axis"), -1);
    assert_int_equal(err_prefix(&e, "task '%s'", "softmax"), -1);
    assert_string_equal(e.msg, "task 'softmax': bad axis");
    assert_int_equal(e.kind, ERR_INPUT);
    assert_int_equal(err_set(NULL, ERR_INPUT, "nobody listens"), -1);
    assert_int_equal(err_prefix(NULL, "nor here"), -1);
    /* A text is cut if it is longer than a message can be. A prefix that comes later is kept. */
    char *big = xmalloc(10000);
    memset(big, 'z', 9999);
    big[9999] = '\0';
    err_set(&e, ERR_INPUT, "%s", big);
    assert_int_equal(strlen(e.msg), sizeof e.msg - 1);
    err_prefix(&e, "front");
    assert_memory_equal(e.msg, "front: zzz", 10);
    assert_int_equal(strlen(e.msg), sizeof e.msg - 1);
    err_prefix(&e, "%s", big);
    assert_int_equal(strlen(e.msg), sizeof e.msg - 1);
    free(big);
    err_clear(&e);
    assert_int_equal(e.kind, ERR_NONE);
    assert_string_equal(e.msg, "");
}

static void test_log_filter(void **state)
{
    unsetenv("HONE_LOG");
    assert_true(log_enabled("emu", LOG_WARN));
    assert_false(log_enabled("emu", LOG_INFO));
    setenv("HONE_LOG", "debug", 1);
    assert_true(log_enabled("emu", LOG_DEBUG));
    setenv("HONE_LOG", "author:debug,emu:error", 1);
    assert_true(log_enabled("author", LOG_DEBUG));
    assert_false(log_enabled("emu", LOG_WARN));
    assert_true(log_enabled("emu", LOG_ERROR));
    assert_true(log_enabled("sched", LOG_WARN));
    assert_false(log_enabled("sched", LOG_INFO));
    setenv("HONE_LOG", "nonsense,:,a:b:c,,info", 1);
    assert_true(log_enabled("sched", LOG_INFO));
    unsetenv("HONE_LOG");
}

static void test_wire_round_trip(void **state)
{
    struct strbuf sb = STRBUF_INIT(1 << 16);
    struct arena a = ARENA_INIT;
    wire_put_u8(&sb, 0xfe);
    wire_put_u32(&sb, 0xdeadbeef);
    wire_put_u64(&sb, UINT64_C(0x0123456789abcdef));
    wire_put_i64(&sb, INT64_MIN);
    wire_put_f64(&sb, -0.0);
    wire_put_f64(&sb, NAN);
    wire_put_str(&sb, "text");
    wire_put_str(&sb, NULL);
    wire_put_bytes(&sb, "a\0b", 3);
    assert_int_equal((unsigned char)sb.buf[1], 0xef); /* little-endian on every host */
    struct wire_reader r = wire_reader_of(sb.buf, sb.len);
    assert_int_equal(wire_get_u8(&r, "u8"), 0xfe);
    assert_int_equal(wire_get_u32(&r, "u32"), 0xdeadbeef);
    assert_true(wire_get_u64(&r, "u64") == UINT64_C(0x0123456789abcdef));
    assert_true(wire_get_i64(&r, "i64") == INT64_MIN);
    double z = wire_get_f64(&r, "zero");
    assert_true(z == 0 && signbit(z));
    assert_true(isnan(wire_get_f64(&r, "nan")));
    assert_string_equal(wire_get_str(&r, &a, 10, "text"), "text");
    assert_string_equal(wire_get_str(&r, &a, 10, "null"), "");
    uint32_t n;
    assert_memory_equal(wire_get_bytes(&r, &a, 10, &n, "bytes"), "a\0b\0", 4);
    assert_int_equal(n, 3);
    assert_null(r.bad);
    assert_int_equal(r.pos, r.len);
    /* If the last byte is missing, the reader reports the field by name and returns zeros from
     * there on. */
    for (size_t len = 0; len < sb.len; len++) {
        r = wire_reader_of(sb.buf, len);
        wire_get_u8(&r, "x"), wire_get_u32(&r, "x"), wire_get_u64(&r, "x"), wire_get_i64(&r, "x");
        wire_get_f64(&r, "x"), wire_get_f64(&r, "x");
        wire_get_str(&r, &a, 10, "x"), wire_get_str(&r, &a, 10, "x");
        wire_get_bytes(&r, &a, 10, &n, "x");
        assert_non_null(r.bad);
        assert_int_equal(wire_get_u32(&r, "later"), 0);
        assert_string_equal(r.bad, "x");
        assert_true(r.pos <= len);
    }
    arena_release(&a);
    strbuf_release(&sb);
}

static void test_wire_caps(void **state)
{
    struct strbuf sb = STRBUF_INIT(100);
    struct arena a = ARENA_INIT;
    wire_put_u32(&sb, 0xffffffff); /* claims 4 GB */
    struct wire_reader r = wire_reader_of(sb.buf, sb.len);
    assert_string_equal(wire_get_str(&r, &a, 0xffffffff, "name"), "");
    assert_string_equal(r.bad, "name");
    r = wire_reader_of(sb.buf, sb.len);
    assert_int_equal(wire_get_count(&r, 64, "launches"), 0);
    assert_string_equal(r.bad, "launches");
    assert_true(a.bytes < 1000);
    arena_release(&a);
    strbuf_release(&sb);
}

static void test_utf8(void **state)
{
    static const struct {
        const char *in, *clean, *trimmed;
    } cases[] = {
        {"", "", ""},
        {"plain", "plain", "plain"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82",
         "\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82"},
        {"a\xc3", "a?", "a"},
        {"a\xe2\x82", "a??", "a"},
        {"a\xf0\x9f\x99", "a???", "a"},
        {"\xe2", "?", ""},
        {"\x80z", "?z", "\x80z"},
        {"\xc0\xaf \xed\xa0\x80 \xf5", "?? ??? ?", "\xc0\xaf \xed\xa0\x80 "}, /* not UTF-8 */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *a = xstrdup(cases[i].in), *b = xstrdup(cases[i].in);
        size_t bad = utf8_clean(a, strlen(a)), marks = 0;
        for (const char *p = cases[i].clean; (p = strchr(p, '?')); p++)
            marks++;
        assert_string_equal(a, cases[i].clean);
        assert_int_equal(bad, marks);
        utf8_trim(b);
        assert_string_equal(b, cases[i].trimmed);
        free(a);
        free(b);
    }
    char nul[] = {'a', 0, 'b', 0};
    assert_int_equal(utf8_clean(nul, 3), 1);
    assert_string_equal(nul, "a?b");
}

static void test_utf8_plain(void **state)
{
    char text[] = "a\tb\n\xc3\xa9 \033[2J\x7f \xc2\x9b \x9b \xe2\x80\xae \xe2\x80\xa8 \xe2\x80\x94";
    assert_int_equal(utf8_plain(text, strlen(text)), 11);
    assert_string_equal(text, "a\tb\n\xc3\xa9 ?[2J? ?? ? ??? ??? \xe2\x80\x94");
}

static void test_strings(void **state)
{
    assert_true(str_starts("kernel.cu", "kernel"));
    assert_false(str_starts("ker", "kernel"));
    assert_true(str_ends("kernel.cu", ".cu"));
    assert_false(str_ends("u", ".cu"));
    char *s = xasprintf("%d-%s", 5, "x");
    assert_string_equal(s, "5-x");
    free(s);
    uint64_t t = now_ns();
    usleep(2000);
    assert_true(now_ns() - t >= 2000000);
}

/* The test locks a GPU number that no machine has, so that it delays no evaluation. */
static void test_gpu_lock(void **state)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
    int a = gpu_lock(977), b = gpu_lock(977), c = gpu_lock(978);
    assert_true(a >= 0);
    assert_int_equal(b, GPU_BUSY);
    assert_true(c >= 0);
    gpu_unlock(c);
    setenv("CUDA_VISIBLE_DEVICES", "5,977", 1); /* number 1 is the same GPU */
    assert_int_equal(gpu_lock(1), GPU_BUSY);
    gpu_unlock(a);
    a = gpu_lock(1);
    assert_true(a >= 0);
    gpu_unlock(a);
    gpu_unlock(GPU_BUSY);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* A unit sample consists of runs: s.n ranges of s.run units each. They do not overlap, the first
 * begins at the first unit, and the last ends at the last unit. If there are at least as many runs
 * as rows, every row has a sampled unit; otherwise every band of rows has one. With enough runs, of
 * 64 neighbouring columns at least one has a sampled unit. */
static void test_sample(void **state)
{
    (void)state;
    static const uint64_t shapes[][3] = {
        {8192, 8192, 1 << 16}, {4096, 4096, 1 << 16}, {16, 1 << 20, 1 << 16},
        {1, 1 << 20, 1 << 16}, {50000, 300, 1 << 16}, {1 << 20, 64, 1 << 16},
        {1 << 20, 3, 1 << 16}, {1000003, 1, 1 << 16}, {777, 12289, 1 << 16},
        {100, 77, 1500},       {1025, 1, 1024},       {5, 7, 14}};
    static struct unit_sample s;
    for (size_t k = 0; k < ARRAY_LEN(shapes); k++) {
        const uint64_t rows = shapes[k][0], cols = shapes[k][1], max = shapes[k][2];
        uint8_t *seen = xcalloc(rows, cols);
        uint64_t *down = xcalloc(rows, sizeof *down), *across = xcalloc(cols, sizeof *across);
        unit_sample_draw(rows, cols, max, k, &s);
        assert_true(s.n * s.run <= max && s.n * s.run > max / 3);
        assert_int_equal(s.start[0], 0);
        assert_int_equal(s.start[s.n - 1] + s.run, rows * cols);
        for (uint32_t i = 0; i < s.n; i++)
            for (uint64_t u = s.start[i]; u < s.start[i] + s.run; u++) {
                assert_true(u < rows * cols && !seen[u]);
                seen[u] = 1;
                down[u / cols]++;
                across[u % cols]++;
            }
        uint64_t band = (rows + s.n - 1) / s.n * 2;
        for (uint64_t r = 0, gap = 0; r < rows; r++) {
            gap = down[r] ? 0 : gap + 1;
            if (gap >= band || (cols > 1 && rows <= s.n && gap))
                fail_msg("shape %zu: row %llu has no run", k, (unsigned long long)r);
        }
        for (uint64_t c = 0, gap = 0; c < cols && s.n * 8 >= cols; c++) {
            gap = across[c] ? 0 : gap + 1;
            assert_true(gap < 64);
        }
        free(seen);
        free(down);
        free(across);
    }
    for (uint64_t n = 0; n < 9; n++) { /* with max 0 or max >= n, the sample is all units */
        unit_sample_draw(n, 1, n % 2 ? 0 : 8, n, &s);
        assert_true(s.n == 1 && s.start[0] == 0 && s.run == n);
    }
}

/* With two seeds, less than 1% of the runs are at the same place. So a kernel cannot know the
 * places. */
static void test_sample_is_secret(void **state)
{
    (void)state;
    static struct unit_sample a, b;
    uint32_t same = 0;
    unit_sample_draw(8192, 8192, 1 << 16, 1, &a);
    unit_sample_draw(8192, 8192, 1 << 16, 2, &b);
    for (uint32_t i = 0; i < a.n; i++)
        same += a.start[i] == b.start[i];
    assert_true(same < a.n / 100);
}

/* The sample hits errors in rows, columns or tiles with the probability that Hone states. */
static void test_sample_finds(void **state)
{
    (void)state;
    struct job_buffer out = {.role = JOB_OUTPUT, .rank = 2, .dims = {8192, 8192}};
    struct job_phase phase = {.fn = "f", .units = 8192 * 8192, .repeat = 1};
    struct job_case c = {.nbuffers = 1, .buffers = &out, .nphases = 1, .phases = &phase};
    out.elems = phase.units;
    assert_true(unit_sample_finds(&c, 1, 0.01) == 1); /* the oracle computes all units */
    c.max_units = 1 << 16;
    for (uint64_t seed = 0; seed < 5; seed++) {
        assert_true(unit_sample_finds(&c, seed, 0.01) > 0.9999);
        double tile = unit_sample_finds(&c, seed, 1e-9); /* the error is one tile of 64 * 64 */
        assert_true(tile > 0.3 && tile < 0.5);
    }
    assert_true(fabs(unit_sample_hits(100, 10, 1) - 0.1) < 1e-12);
    assert_true(fabs(unit_sample_hits(1000000, 300, 10000) - 0.951) < 1e-3);
    assert_true(unit_sample_hits(100, 100, 1) == 1 && unit_sample_hits(100, 0, 5) == 0);
}

/* A sample leaves out units of the last phase only, and none if this phase is repeated. */
static void test_sample_of_repeated(void **state)
{
    (void)state;
    static struct unit_sample s;
    struct job_buffer out = {.role = JOB_OUTPUT, .elems = 8192, .rank = 2, .dims = {128, 64}};
    struct job_phase phases[] = {{"first", 8192, 1}, {"last", 8192, 1}};
    struct job_case c = {.nbuffers = 1, .buffers = &out, .nphases = 2, .phases = phases};
    c.max_units = 100;
    assert_true(unit_sample_is_partial(&c));
    unit_sample_of_phase(&c, 1, 1, &s);
    assert_true(s.n * s.run <= 100);
    unit_sample_of_phase(&c, 0, 1, &s);
    assert_true(s.n == 1 && s.run == 8192);
    phases[1].repeat = 3;
    assert_false(unit_sample_is_partial(&c));
    assert_true(unit_sample_finds(&c, 1, 0.01) == 1);
    unit_sample_of_phase(&c, 1, 1, &s);
    assert_true(s.n == 1 && s.run == 8192 && s.start[0] == 0);
}

/* ---- crew ------------------------------------------------------------------------------------ */

enum { CREW_UNITS = 37, CREW_STEPS = 500 };

struct crew_log {
    _Atomic uint64_t runs[CREW_UNITS]; /* how often each unit has run */
    _Atomic int wrong;
};

/* Runs units [first, first + count) of a step. Counts errors: at this time, every unit must have
 * run in all earlier steps, and none in a later one. */
static void log_units(void *ctx, uint64_t step, uint64_t first, uint64_t count)
{
    struct crew_log *log = ctx;
    for (int i = 0; i < CREW_UNITS; i++)
        log->wrong += log->runs[i] != step && log->runs[i] != step + 1;
    for (uint64_t i = first; i < first + count; i++)
        log->wrong += log->runs[i]++ != step;
}

static void test_crew(void **state)
{
    (void)state;
    for (unsigned threads = 0; threads < 9; threads++)
        for (uint64_t grain = 0; grain < 60; grain += 20) {
            struct crew_log log = {.wrong = 0};
            struct crew_work w = {.run = log_units,
                                  .ctx = &log,
                                  .units = CREW_UNITS,
                                  .repeat = CREW_STEPS,
                                  .grain = grain};
            crew_run(&w, threads);
            assert_int_equal(log.wrong, 0);
            for (int i = 0; i < CREW_UNITS; i++)
                assert_int_equal(log.runs[i], CREW_STEPS);
            w.repeat = 0;
            crew_run(&w, threads);
            w.repeat = 1;
            w.units = 0;
            crew_run(&w, threads);
            assert_int_equal(log.runs[0], CREW_STEPS);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strbuf_grows_and_caps),
        cmocka_unit_test(test_strbuf_formats_long_text),
        cmocka_unit_test(test_strbuf_time),
        cmocka_unit_test(test_vec),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_err),
        cmocka_unit_test(test_log_filter),
        cmocka_unit_test(test_wire_round_trip),
        cmocka_unit_test(test_wire_caps),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_utf8_plain),
        cmocka_unit_test(test_gpu_lock),
        cmocka_unit_test(test_sample),
        cmocka_unit_test(test_sample_is_secret),
        cmocka_unit_test(test_sample_finds),
        cmocka_unit_test(test_sample_of_repeated),
        cmocka_unit_test(test_crew),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
