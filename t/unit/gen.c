/* Tests generated data: it has known values, an element that is generated alone equals the same
 * element of a fill, and the distributions are as asked. */
#include "job/gen.h"
#include "job/edges.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/util.h"

static void philox_gives_the_published_answers(void **state)
{
    static const uint32_t cases[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (int i = 0; i < 3; i++) {
        const uint32_t *c = cases[i];
        struct gen_block b = gen_philox(c[0], c[1], c[2], c[3], c[4], c[5]);
        for (int k = 0; k < 4; k++)
            assert_int_equal(b.w[k], c[6 + k]);
    }
}

static const struct gen_spec specs[] = {
    {.dist = GEN_NORMAL, .a = 0, .b = 1},
    {.dist = GEN_NORMAL, .a = 90.1, .b = 3.7, .special = {GEN_NEG_INF}, .every = {50}},
    {.dist = GEN_UNIFORM, .a = -1.3, .b = 2.9},
    {.dist = GEN_INT, .a = -5, .b = 100},
    {.dist = GEN_INT, .a = 0, .b = 1099511627776.0},
    {.dist = GEN_CONST, .a = 0.1},
    {.dist = GEN_ZERO},
    {.dist = GEN_DENORMAL},
    {.dist = GEN_CSR, .b = 12345, .n = 1001},
    {.dist = GEN_PERM, .n = 1001},
    {.dist = GEN_NORMAL,
     .b = 1e-3,
     .special = {GEN_SPECIAL_DENORMAL, GEN_SPECIAL_MAX},
     .every = {7, 3}},
    {.dist = GEN_UNIFORM, .a = 1, .b = 2, .thin = {{13, 7}}},
    {.dist = GEN_NORMAL, .b = 1, .special = {GEN_NAN}, .every = {9}, .thin = {{5, 100}, {9, 3}}},
    {.dist = GEN_INT,
     .b = 100,
     .special = {GEN_SPECIAL_NONE, GEN_SPECIAL_NUMBER},
     .number = {0, -7},
     .every = {0, 6}},
};

/* A [6, 40, 3, 10] tensor is thin along dimensions 1 and 3. Each choice of the other two indices
 * leaves a slice of 40 * 10 elements. At most GEN_FEW elements of a slice are not zero, and they
 * have the same places in all slices. */
static void a_thin_tensor_has_few_values(void **state)
{
    enum { A = 6, B = 40, C = 3, D = 10 };
    struct gen_spec s = {.dist = GEN_UNIFORM, .a = 1, .b = 2, .thin = {{B, C * D}, {D, 1}}};
    static float x[A][B][C][D];
    for (uint64_t seed = 0; seed < 50; seed++) {
        gen_fill(&s, DT_F32, seed, 1, 0, A * B * C * D, x);
        unsigned first = 0;
        for (int a = 0; a < A; a++)
            for (int c = 0; c < C; c++) {
                unsigned n = 0;
                for (int b = 0; b < B; b++)
                    for (int d = 0; d < D; d++) {
                        n += x[a][b][c][d] != 0;
                        assert_int_equal(x[a][b][c][d] != 0, x[0][b][0][d] != 0);
                    }
                first = a || c ? first : n;
                assert_in_range(n, 1, GEN_FEW);
                assert_int_equal(n, first);
            }
    }
    /* A dimension with at most GEN_FEW places keeps all its values. */
    s.thin[0] = (struct gen_range){GEN_FEW, 1};
    s.thin[1] = (struct gen_range){0, 0};
    gen_fill(&s, DT_F32, 3, 1, 0, A * B * C * D, x);
    for (int i = 0; i < A * B * C * D; i++)
        assert_true((&x[0][0][0][0])[i] >= 1);
}

static void an_element_alone_equals_the_fill(void **state)
{
    unsigned char buf[1100 * 8];
    for (size_t s = 0; s < ARRAY_LEN(specs); s++)
        for (int t = DT_NONE + 1; t < DT_COUNT; t++) {
            size_t bytes = dtype_bytes((enum dtype)t);
            struct gen_plan p = gen_prepare(&specs[s], t, 0x123456789abcdefu, 3);
            for (uint64_t first = 0; first < 9; first++) {
                uint64_t count = 1001 - first * 37;
                /* buf + 1, because dst need not be aligned. */
                gen_fill(&specs[s], (enum dtype)t, 0x123456789abcdefu, 3, first, count, buf + 1);
                for (uint64_t i = 0; i < count; i++) {
                    uint64_t want = gen_element(&p, first + i), got = 0;
                    memcpy(&got, buf + 1 + i * bytes, bytes);
                    if (got != want)
                        fail_msg("spec %zu %s element %lu: %lx, not %lx", s,
                                 dtype_name((enum dtype)t), (unsigned long)(first + i),
                                 (unsigned long)got, (unsigned long)want);
                }
            }
        }
}

/* gen_encode() rounds as dtype_store() does, and for float16 as the compiler does. */
static void encoding_rounds_once_to_even(void **state)
{
    struct rng r = rng_seeded(7, 0);
    for (int i = 0; i < 400000; i++) {
        double v = ldexp(rng_unit(&r) - 0.5, (int)rng_range(&r, -160, 160));
        if (i & 1) /* a value with few significant bits is often midway between two floats */
            v = ldexp((double)rng_range(&r, -4096, 4096), (int)rng_range(&r, -150, 120) / 4);
        for (int t = DT_F64; t < DT_COUNT; t++) {
            uint64_t want = 0;
            dtype_store((enum dtype)t, &want, v);
            if (t == DT_U64 && v >= 0x1p63)
                continue; /* the generator's integers end at 2^63 */
#ifdef __FLT16_MANT_DIG__
            _Float16 h = (_Float16)v; /* the compiler's own rounding */
            if (t == DT_F16)
                memcpy(&want, &h, sizeof h);
#endif
            if (gen_encode(t, v) != want)
                fail_msg("%s of %a: %lx, not %lx", dtype_name((enum dtype)t), v,
                         (unsigned long)gen_encode(t, v), (unsigned long)want);
        }
    }
    float f = 0x1.000001p0f;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    assert_int_equal(gen_encode(GEN_T_F32, 0x1.000001p0), bits);
    assert_int_equal(gen_encode(GEN_T_F8E4M3, 448.0), 0x7e);
    assert_int_equal(gen_encode(GEN_T_F8E4M3, 480.0), 0x7f);
    assert_int_equal(gen_encode(GEN_T_F8E5M2, 1e9), 0x7c);
    assert_int_equal(gen_encode(GEN_T_F16, -65520.0), 0xfc00);
}

static void moments_are_as_asked(void **state)
{
    enum { N = 1 << 20 };
    float *x = xmalloc(N * sizeof *x);
    struct gen_spec s = {.dist = GEN_NORMAL, .a = 3, .b = 0.5};
    gen_fill(&s, DT_F32, 42, 1, 0, N, x);
    double m = 0, v = 0, k4 = 0, lag = 0, most = 0;
    for (int i = 0; i < N; i++)
        m += x[i];
    m /= N;
    for (int i = 0; i < N; i++) {
        double d = x[i] - m;
        v += d * d;
        k4 += d * d * d * d;
        lag += i ? d * (x[i - 1] - m) : 0;
        most = fmax(most, fabs(d));
    }
    v /= N;
    assert_true(fabs(m - 3) < 5 * 0.5 / 1024);
    assert_true(fabs(sqrt(v) - 0.5) < 0.002);
    assert_true(fabs(k4 / N / (v * v) - 2.85) < 0.03); /* the kurtosis of 8 uniforms: 3 - 1.2/8 */
    assert_true(fabs(lag / N / v) < 0.005);
    assert_true(most > 0.5 * 4 && most < 0.5 * 4.9);

    s = (struct gen_spec){.dist = GEN_UNIFORM, .a = -2, .b = 6};
    gen_fill(&s, DT_F32, 42, 1, 0, N, x);
    int bins[8] = {0};
    for (int i = 0; i < N; i++) {
        assert_true(x[i] >= -2 && x[i] <= 6);
        bins[MIN((int)(x[i] + 2), 7)]++;
    }
    for (int i = 0; i < 8; i++)
        assert_true(abs(bins[i] - N / 8) < 2000);
    free(x);
}

/* Generated float32 values must need all bits of the type. If a narrower type could hold them, a
 * kernel that computes in the narrower type would pass. */
static void float32_data_uses_its_whole_mantissa(void **state)
{
    float x[4096];
    struct gen_spec s = {.dist = GEN_NORMAL, .b = 1};
    gen_fill(&s, DT_F32, 9, 0, 0, 4096, x);
    int low[13] = {0};
    for (int i = 0; i < 4096; i++) {
        uint32_t b;
        memcpy(&b, &x[i], sizeof b);
        for (int k = 0; k < 13; k++)
            low[k] += b >> k & 1;
    }
    for (int k = 0; k < 13; k++)
        assert_true(abs(low[k] - 2048) < 250);
}

static void integers_cover_their_range(void **state)
{
    int32_t x[60000];
    int64_t y[20000];
    int seen[7] = {0};
    struct gen_spec s = {.dist = GEN_INT, .a = -3, .b = 3};
    gen_fill(&s, DT_I32, 5, 0, 0, 60000, x);
    for (int i = 0; i < 60000; i++) {
        assert_in_range(x[i] + 3, 0, 6);
        seen[x[i] + 3]++;
    }
    for (int i = 0; i < 7; i++)
        assert_true(abs(seen[i] - 60000 / 7) < 500);
    s = (struct gen_spec){.dist = GEN_INT, .a = 0, .b = 0x1p40};
    gen_fill(&s, DT_I64, 5, 0, 0, 20000, y);
    int odd = 0, upper = 0;
    for (int i = 0; i < 20000; i++) {
        assert_true(y[i] >= 0 && y[i] <= INT64_C(1) << 40);
        odd += y[i] & 1;
        upper += y[i] > INT64_C(1) << 39;
    }
    assert_true(abs(odd - 10000) < 400 && abs(upper - 10000) < 400);
}

static void specials_come_as_often_as_asked(void **state)
{
    enum { N = 200000 };
    float *x = xmalloc(N * sizeof *x);
    struct gen_spec s = {
        .dist = GEN_NORMAL, .b = 1, .special = {GEN_NEG_INF, GEN_NAN}, .every = {50, 100}};
    gen_fill(&s, DT_F32, 1, 0, 0, N, x);
    int inf = 0, nan = 0;
    for (int i = 0; i < N; i++) {
        inf += isinf(x[i]) && x[i] < 0;
        nan += isnan(x[i]);
    }
    assert_true(abs(inf - N / 50) < 300);
    assert_true(abs(nan - N / 100) < 250);
    free(x);
    int32_t labels[2000];
    int ignored = 0;
    s = (struct gen_spec){.dist = GEN_INT,
                          .a = 0,
                          .b = 9,
                          .special = {GEN_SPECIAL_NUMBER},
                          .number = {-100},
                          .every = {5}};
    gen_fill(&s, DT_I32, 1, 0, 0, 2000, labels);
    for (int i = 0; i < 2000; i++) {
        ignored += labels[i] == -100;
        assert_true(labels[i] == -100 || (labels[i] >= 0 && labels[i] <= 9));
    }
    assert_true(abs(ignored - 400) < 80);
    for (int t = DT_F64; t <= DT_F8E5M2; t++) {
        bool has_inf = t != DT_F8E4M3;
        uint64_t b = gen_special_bits(t, GEN_NEG_INF, 0);
        assert_true(has_inf ? isinf(dtype_load((enum dtype)t, &b))
                            : dtype_load((enum dtype)t, &b) == -448);
        b = gen_special_bits(t, GEN_NAN, 0);
        assert_true(isnan(dtype_load((enum dtype)t, &b)));
        b = gen_special_bits(t, GEN_SPECIAL_MAX, 0);
        assert_true(isfinite(dtype_load((enum dtype)t, &b)));
        b++;
        assert_false(isfinite(dtype_load((enum dtype)t, &b)));
        b = gen_special_bits(t, GEN_SPECIAL_DENORMAL, 12345);
        double d = fabs(dtype_load((enum dtype)t, &b));
        uint64_t least_normal = UINT64_C(1) << dtype_mantissa_bits((enum dtype)t);
        assert_true(d > 0 && d < dtype_load((enum dtype)t, &least_normal));
    }
}

static void row_pointers_rise_unevenly(void **state)
{
    static const struct {
        uint64_t rows, total;
    } cases[] = {{1, 5}, {2, 0}, {1000, 16000}, {4096, 3}, {65537, 1048576}, {17, 100}};
    for (size_t c = 0; c < ARRAY_LEN(cases); c++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            uint64_t rows = cases[c].rows, total = cases[c].total, empty = 0, longest = 0;
            struct gen_spec s = {.dist = GEN_CSR, .b = (double)total, .n = rows + 1};
            int32_t *p = xmalloc((rows + 1) * sizeof *p);
            gen_fill(&s, DT_I32, seed, 0, 0, rows + 1, p);
            assert_int_equal(p[0], 0);
            assert_int_equal(p[rows], total);
            for (uint64_t i = 0; i < rows; i++) {
                assert_true(p[i] <= p[i + 1]);
                empty += p[i] == p[i + 1];
                longest = MAX(longest, (uint64_t)(p[i + 1] - p[i]));
            }
            if (rows == 65537) {
                assert_true(empty > rows / 16 && empty < rows / 2);
                assert_true(longest >= 200 * 16);
            }
            free(p);
        }
    struct gen_spec big = {.dist = GEN_CSR, .b = 0x1p45, .n = (UINT64_C(1) << 32) + 1};
    struct gen_plan p = gen_prepare(&big, GEN_T_I64, 1, 0);
    uint64_t last = 0;
    for (uint64_t i = (UINT64_C(1) << 32) - 3000; i <= UINT64_C(1) << 32; i++) {
        assert_true(gen_element(&p, i) >= last);
        last = gen_element(&p, i);
    }
    assert_int_equal(last, UINT64_C(1) << 45);
}

static void permutations_are_permutations(void **state)
{
    for (uint64_t n = 1; n < 3000; n = n * 5 / 3 + 1) {
        struct gen_spec s = {.dist = GEN_PERM, .n = n};
        int32_t x[3000];
        bool seen[3000] = {false};
        gen_fill(&s, DT_I32, n, 0, 0, n, x);
        uint64_t fixed = 0;
        for (uint64_t i = 0; i < n; i++) {
            assert_true(x[i] >= 0 && (uint64_t)x[i] < n && !seen[x[i]]);
            seen[x[i]] = true;
            fixed += (uint64_t)x[i] == i;
        }
        assert_true(n < 20 || fixed < n / 4);
    }
}

static void a_perturbed_element_differs(void **state)
{
    struct gen_spec s = {
        .dist = GEN_INT, .a = 0, .b = 1, .special = {GEN_SPECIAL_MAX}, .every = {3}};
    assert_true(gen_can_perturb(&s));
    for (uint64_t i = 0; i < 500; i++) {
        int32_t was, now;
        gen_fill(&s, DT_I32, 1, 0, i, 1, &was);
        gen_fill_perturbed(&s, DT_I32, 1, 0, i, &now);
        assert_true(was != now && (now == 0 || now == 1));
    }
    assert_false(gen_can_perturb(&(struct gen_spec){.dist = GEN_CONST, .a = 1}));
    assert_false(gen_can_perturb(&(struct gen_spec){.dist = GEN_PERM, .n = 9}));
    assert_false(gen_can_perturb(&(struct gen_spec){.dist = GEN_NORMAL, .a = 1}));
    assert_false(gen_can_perturb(&(struct gen_spec){.dist = GEN_INT, .a = 1, .b = 1}));
}

static void hashes_of_parts_add_up(void **state)
{
    unsigned char x[1003];
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (unsigned char)gen_mix32((uint32_t)i);
    uint64_t whole = gen_hash(x, sizeof x, 0);
    for (size_t cut = 0; cut < sizeof x; cut += 8)
        assert_true(gen_hash(x, cut, 0) + gen_hash(x + cut, sizeof x - cut, cut) == whole);
    for (size_t i = 0; i < sizeof x; i++) {
        x[i] ^= 4;
        assert_true(gen_hash(x, sizeof x, 0) != whole);
        x[i] ^= 4;
    }
    memmove(x, x + 8, 8); /* bytes that move are noticed too */
    assert_true(gen_hash(x, sizeof x, 0) != whole);
}

/* The data of a seed must never change, because recorded evidence names seeds. t/gen_core.sh
 * compares the same hashes with other compilers and languages. */
static void data_of_a_seed_is_fixed(void **state)
{
    static const uint64_t want[ARRAY_LEN(specs)] = {
        0xf2f8b04357b7cb05, 0xba11ab60c5a6457e, 0x7e42e2179406b674, 0xcb16a9618b9aa155,
        0x1644c3e9757a4144, 0x83caa3c5767f6b5e, 0xb4123f7f7b62c812, 0xd19a1a3c48fa638e,
        0x4a70619b6f4eed97, 0xf37877e465a954e0, 0x8a442d0bb52c671a, 0xf27cafcf5bc7c74c,
        0x87be9e15b1a573c1, 0x49ea5561dc3dfedb};
    for (size_t s = 0; s < ARRAY_LEN(specs); s++) {
        uint64_t h = 0;
        for (int t = DT_NONE + 1; t < DT_COUNT; t++) {
            unsigned char buf[1001 * 8];
            gen_fill(&specs[s], (enum dtype)t, 11, 2, 0, 1001, buf);
            h += gen_hash(buf, 1001 * dtype_bytes((enum dtype)t), (uint64_t)t << 32);
        }
        if (h != want[s])
            fail_msg("spec %zu: data changed: hash 0x%016lx", s, (unsigned long)h);
    }
}

static void sequences_are_uniform_and_repeatable(void **state)
{
    struct rng a = rng_seeded(1, 2), b = rng_seeded(1, 2), c = rng_seeded(1, 3);
    int same = 0, counts[10] = {0};
    for (int i = 0; i < 100000; i++) {
        uint64_t x = rng_u64(&a);
        assert_true(x == rng_u64(&b));
        same += x == rng_u64(&c);
        counts[rng_below(&b, 10)]++;
        b = a;
        int64_t v = rng_range(&a, -2, 2);
        assert_true(v >= -2 && v <= 2);
        b = a;
    }
    assert_int_equal(same, 0);
    for (int i = 0; i < 10; i++)
        assert_true(abs(counts[i] - 10000) < 600);
    assert_true(rng_range(&a, INT64_MIN, INT64_MAX) != rng_range(&a, INT64_MIN, INT64_MAX));
    assert_int_equal(rng_range(&a, 5, 5), 5);
}

/* gen_fill(), which fills a range fast, gives the same elements as gen_element(), also for values
 * at both ends of the range of a type. */
static void ranges_of_every_size(void **state)
{
    (void)state;
    static const enum dtype types[] = {DT_F16, DT_BF16, DT_F32, DT_F8E4M3, DT_I16};
    static const double sizes[] = {1e-9, 1e-5, 1e-3, 1, 1e3, 3e4, 7e4, 1e38};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int normal = 0; normal < 2; normal++) {
                struct gen_spec g = {.dist = normal ? GEN_NORMAL : GEN_UNIFORM,
                                     .a = normal ? sizes[k] / 3 : -sizes[k],
                                     .b = sizes[k]};
                uint64_t first = (UINT64_C(1) << 34) - 333, size = dtype_bytes(types[t]);
                struct gen_plan p = gen_prepare(&g, (int)types[t], 5, 2);
                char got[1000 * 4];
                gen_fill(&g, types[t], 5, 2, first, 1000, got);
                for (uint64_t i = 0; i < 1000; i++) {
                    uint64_t want = gen_element(&p, first + i);
                    assert_memory_equal(got + i * size, &want, size);
                }
            }
}

/* ---- structure ------------------------------------------------------------------------------- */

enum { ROWS = 37, COLS = 29, BATCH = 3, ELEMS = BATCH * ROWS * COLS };

static void fill(struct gen_spec s, float *x)
{
    s.rows = ROWS;
    s.cols = COLS;
    gen_fill(&s, DT_F32, 11, 4, 0, ELEMS, x);
    /* A fill of a single element gives the same value. */
    for (uint64_t i = 0; i < ELEMS; i += 7) {
        float one;
        gen_fill(&s, DT_F32, 11, 4, i, 1, &one);
        assert_memory_equal(&one, &x[i], sizeof one);
    }
}

static void triangles_and_rows_have_their_structure(void **state)
{
    static float x[ELEMS];
    fill((struct gen_spec){.dist = GEN_NORMAL, .b = 1, .mask = GEN_LOWER}, x);
    for (int i = 0; i < ELEMS; i++)
        assert_true((x[i] == 0) == (i % COLS > i / COLS % ROWS));
    fill((struct gen_spec){.dist = GEN_NORMAL, .b = 1, .mask = GEN_UPPER}, x);
    for (int i = 0; i < ELEMS; i++)
        assert_true((x[i] == 0) == (i % COLS < i / COLS % ROWS));
    fill((struct gen_spec){.dist = GEN_SORTED, .a = -2, .b = 5}, x);
    for (int i = 0; i < ELEMS; i++)
        assert_true(x[i] >= -2 && x[i] <= 5 && (i % COLS == 0 || x[i] >= x[i - 1]));
    fill((struct gen_spec){.dist = GEN_ONE_HOT}, x);
    uint64_t seen = 0;
    for (int r = 0; r < BATCH * ROWS; r++) {
        int hot = 0;
        for (int c = 0; c < COLS; c++) {
            assert_true(x[r * COLS + c] == 0 || x[r * COLS + c] == 1);
            hot += x[r * COLS + c] == 1;
            seen |= x[r * COLS + c] == 1 ? UINT64_C(1) << c : 0;
        }
        assert_int_equal(hot, 1);
    }
    assert_true(__builtin_popcountll(seen) > COLS / 2);
}

/* A tensor of lengths (GEN_LENGTHS) and a padded tensor (GEN_PADDED) with the same stream agree:
 * each row is padded from its length on. */
static void lengths_are_those_of_the_padding(void **state)
{
    static float x[ELEMS];
    static int32_t len[BATCH * ROWS];
    struct gen_spec l = {.dist = GEN_LENGTHS, .rows = ROWS, .cols = COLS};
    fill((struct gen_spec){.dist = GEN_UNIFORM, .a = 1, .b = 2, .mask = GEN_PADDED, .pad = -7}, x);
    gen_fill(&l, DT_I32, 11, 4, 0, BATCH * ROWS, len);
    int full = 0, short_ones = 0;
    for (int r = 0; r < BATCH * ROWS; r++) {
        assert_true(len[r] >= 1 && len[r] <= COLS);
        full += len[r] == COLS;
        short_ones += len[r] < COLS / 4;
        for (int c = 0; c < COLS; c++)
            assert_true((x[r * COLS + c] == -7) == (c >= len[r]));
    }
    assert_true(full > 3 && short_ones > 3);
}

/* The task promises that masked elements are 0. A perturbation must not break this promise. */
static void masked_elements_are_not_perturbed(void **state)
{
    struct gen_spec s = {.dist = GEN_NORMAL, .b = 1, .mask = GEN_LOWER, .rows = ROWS, .cols = COLS};
    for (uint64_t i = 0; i < 200; i++) {
        float now, was;
        gen_fill(&s, DT_F32, 1, 0, i, 1, &was);
        gen_fill_perturbed(&s, DT_F32, 1, 0, i, &now);
        assert_true((now == was) == (i % COLS > i / COLS));
    }
    assert_true(gen_has_structure(&s));
}

/* Makes a [rows, 8] tensor in which no row has its largest value last, and applies edges_apply().
 * Returns in how many rows the last value is then the largest. */
static int rows_that_end_with_their_largest(int64_t rows)
{
    float data[64 * 8];
    struct job_buffer b = {.dtype = DT_F32, .rank = 2, .edge_dims = 2, .elems = (uint64_t)rows * 8};
    int n = 0;
    b.dims[0] = rows;
    b.dims[1] = 8;
    for (int64_t i = 0; i < rows * 8; i++)
        data[i] = (float)((i * 37 + i / 8) % 101) - (i % 8 == 7 ? 200 : 0);
    edges_apply(&b, data);
    for (int64_t r = 0; r < rows; r++)
        n += data[r * 8 + 7] > -50;
    return n;
}

static void the_last_value_is_the_largest_in_some_rows(void **state)
{
    (void)state;
    assert_int_equal(rows_that_end_with_their_largest(16), 16);
    assert_in_range(rows_that_end_with_their_largest(64), 8, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triangles_and_rows_have_their_structure),
        cmocka_unit_test(lengths_are_those_of_the_padding),
        cmocka_unit_test(masked_elements_are_not_perturbed),
        cmocka_unit_test(ranges_of_every_size),
        cmocka_unit_test(philox_gives_the_published_answers),
        cmocka_unit_test(an_element_alone_equals_the_fill),
        cmocka_unit_test(a_thin_tensor_has_few_values),
        cmocka_unit_test(the_last_value_is_the_largest_in_some_rows),
        cmocka_unit_test(encoding_rounds_once_to_even),
        cmocka_unit_test(moments_are_as_asked),
        cmocka_unit_test(float32_data_uses_its_whole_mantissa),
        cmocka_unit_test(integers_cover_their_range),
        cmocka_unit_test(specials_come_as_often_as_asked),
        cmocka_unit_test(row_pointers_rise_unevenly),
        cmocka_unit_test(permutations_are_permutations),
        cmocka_unit_test(a_perturbed_element_differs),
        cmocka_unit_test(hashes_of_parts_add_up),
        cmocka_unit_test(data_of_a_seed_is_fixed),
        cmocka_unit_test(sequences_are_uniform_and_repeatable),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
