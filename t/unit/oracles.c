/*
 * Compares the oracles of the elementwise, norm, reduction, scan and gather tasks with independent
 * computations: a closed form, an identity, or the same quantity obtained another way.
 */
#include "oracle_run.h"

static void vector_add(void **state)
{
    struct run r;
    run_open(&r, "vector_add", (int64_t[]){1000});
    for (int i = 0; i < 1000; i++) {
        put(&r, "a", i, i);
        put(&r, "b", i, 1000 - 2 * i);
    }
    put(&r, "a", 7, INFINITY);
    run_oracle(&r);
    for (int i = 0; i < 1000; i++)
        expect(&r, "c", i, i == 7 ? INFINITY : 1000 - i, 0);
    run_close(&r);
}

/* Computes 1 / (1 + e^-x) as (1 + tanh(x / 2)) / 2. Also checks the values at 0 and at both
 * infinities. */
static void sigmoid(void **state)
{
    struct run r;
    run_open(&r, "sigmoid", (int64_t[]){512});
    fill_noise(&r, "x", 4);
    put(&r, "x", 0, 0);
    put(&r, "x", 1, INFINITY);
    put(&r, "x", 2, -INFINITY);
    run_oracle(&r);
    assert_true(value(&r, "y", 0) == 0.5);
    assert_true(value(&r, "y", 1) == 1);
    assert_true(value(&r, "y", 2) == 0);
    for (int i = 3; i < 512; i++) {
        long double x = get(&r, "x", i), t = tanhl(fabsl(x) / 2);
        long double big = (1 + t) / 2; /* the sigmoid of |x| */
        /* For x < 0, expl(x) * big equals 1 - big, but loses no digits. */
        expect(&r, "y", i, x >= 0 ? big : expl(x) * big, 1e-14L);
    }
    run_close(&r);
}

/* Computes x/2 * (1 + tanh u) as x / (1 + e^-2u). Also checks that gelu(x) - gelu(-x) = x. */
static void gelu_tanh(void **state)
{
    struct run r;
    run_open(&r, "gelu_tanh", (int64_t[]){512});
    for (int i = 0; i < 256; i++) {
        long double x = put(&r, "x", i, noise((uint64_t)i));
        put(&r, "x", 256 + i, (double)-x);
    }
    run_oracle(&r);
    for (int i = 0; i < 512; i++) {
        long double x = get(&r, "x", i);
        long double u = sqrtl(2 / acosl(-1)) * x * (1 + 0.044715L * x * x);
        expect(&r, "y", i, x / (1 + expl(-2 * u)), 1e-13L);
        expect_mag(&r, "y", i, fabsl(x));
    }
    for (int i = 0; i < 256; i++)
        assert_true(fabs(value(&r, "y", i) - value(&r, "y", 256 + i) - (double)get(&r, "x", i)) <
                    1e-13);
    run_close(&r);
}

/* Computes the softmax without subtracting the maximum, because a long double has enough range. The
 * first three rows are special. */
static void softmax(void **state)
{
    enum { R = 6, C = 100 };
    struct run r;
    run_open(&r, "softmax", (int64_t[]){R, C});
    for (int i = 0; i < R * C; i++)
        put(&r, "x", i, 90 + noise((uint64_t)i));
    for (int j = 0; j < C; j++) {
        put(&r, "x", j, 500);               /* row 0: constant, and e^500 is out of float's range */
        put(&r, "x", 1 * C + j, -INFINITY); /* row 1: every element is masked */
        if (j % 3 == 0)
            put(&r, "x", 2 * C + j, -INFINITY);
    }
    run_oracle(&r);
    for (int j = 0; j < C; j++) {
        expect(&r, "y", j, 1.0L / C, 1e-15L);
        assert_true(isnan(value(&r, "y", C + j)));
        if (j % 3 == 0)
            assert_true(value(&r, "y", 2 * C + j) == 0);
    }
    for (int i = 2; i < R; i++) {
        long double sum = 0;
        for (int j = C - 1; j >= 0; j--)
            sum += expl(get(&r, "x", i * C + j));
        for (int j = 0; j < C; j++)
            expect(&r, "y", i * C + j, expl(get(&r, "x", i * C + j)) / sum, 1e-13L);
    }
    run_close(&r);
}

/* Row 0 has the values 0, 1, ... C-1, whose mean is (C-1)/2 and whose variance is (C^2-1)/12. Row 1
 * is constant. For the other rows, computes the variance as E[x^2] - E[x]^2 in long double. */
static void layernorm(void **state)
{
    enum { R = 5, C = 129 };
    const long double eps = 1e-5L;
    struct run r;
    run_open(&r, "layernorm", (int64_t[]){R, C});
    fill_noise(&r, "x", 1);
    fill_noise(&r, "w", 1);
    fill_noise(&r, "b", 2);
    for (int j = 0; j < C; j++) {
        put(&r, "x", j, j);
        put(&r, "x", 1 * C + j, 7);
    }
    run_oracle(&r);
    for (int j = 0; j < C; j++) {
        long double w = get(&r, "w", j), b = get(&r, "b", j), mean = (C - 1) / 2.0L;
        long double rstd = 1 / sqrtl((C * (long double)C - 1) / 12 + eps);
        expect(&r, "y", j, (j - mean) * rstd * w + b, 1e-13L);
        expect_mag(&r, "y", j, (j + mean) * rstd * fabsl(w) + fabsl(b));
        expect(&r, "y", C + j, b, 1e-13L); /* of a constant row, only b is left */
    }
    for (int i = 2; i < R; i++) {
        long double s1 = 0, s2 = 0;
        for (int j = C - 1; j >= 0; j--) {
            s1 += get(&r, "x", i * C + j);
            s2 += get(&r, "x", i * C + j) * get(&r, "x", i * C + j);
        }
        long double mean = s1 / C, rstd = 1 / sqrtl(s2 / C - mean * mean + eps);
        for (int j = 0; j < C; j++)
            expect(&r, "y", i * C + j,
                   (get(&r, "x", i * C + j) - mean) * rstd * get(&r, "w", j) + get(&r, "b", j),
                   1e-13L);
    }
    run_close(&r);
}

/* Computes the norm of a row with hypot(), and that of a constant row in closed form. */
static void rmsnorm(void **state)
{
    enum { R = 4, C = 77 };
    const long double eps = 1e-6L;
    struct run r;
    run_open(&r, "rmsnorm", (int64_t[]){R, C});
    fill_noise(&r, "x", 64);
    fill_noise(&r, "w", 1);
    for (int j = 0; j < C; j++)
        put(&r, "x", j, -300);
    run_oracle(&r);
    for (int j = 0; j < C; j++)
        expect(&r, "y", j, -300 / sqrtl(90000 + eps) * get(&r, "w", j), 1e-13L);
    for (int i = 1; i < R; i++) {
        long double norm = sqrtl(C * eps);
        for (int j = 0; j < C; j++)
            norm = hypotl(norm, get(&r, "x", i * C + j));
        for (int j = 0; j < C; j++)
            expect(&r, "y", i * C + j, get(&r, "x", i * C + j) * get(&r, "w", j) * sqrtl(C) / norm,
                   1e-13L);
    }
    run_close(&r);
}

/* Checks both outputs. Computes the norm of the sum with (x + r)^2 = x^2 + 2xr + r^2. */
static void fused_add_rmsnorm(void **state)
{
    enum { B = 3, D = 65 };
    struct run r;
    run_open(&r, "fused_add_rmsnorm", (int64_t[]){B, D});
    fill_noise(&r, "x", 1);
    fill_noise(&r, "r", 2);
    fill_noise(&r, "w", 1);
    run_oracle(&r);
    for (int i = 0; i < B; i++) {
        long double xx = 0, xr = 0, rr = 0;
        for (int j = i * D; j < (i + 1) * D; j++) {
            xx += get(&r, "x", j) * get(&r, "x", j);
            xr += get(&r, "x", j) * get(&r, "r", j);
            rr += get(&r, "r", j) * get(&r, "r", j);
        }
        long double rms = sqrtl((xx + 2 * xr + rr) / D + 1e-6L);
        for (int j = 0; j < D; j++) {
            long double sum = get(&r, "x", i * D + j) + get(&r, "r", i * D + j);
            expect(&r, "r", i * D + j, sum, 0);
            expect(&r, "x", i * D + j, sum / rms * get(&r, "w", j), 1e-13L);
        }
    }
    run_close(&r);
}

static void silu_and_mul(void **state)
{
    enum { B = 3, D = 100 };
    struct run r;
    run_open(&r, "silu_and_mul", (int64_t[]){B, D});
    fill_noise(&r, "x", 2);
    run_oracle(&r);
    for (int i = 0; i < B; i++)
        for (int j = 0; j < D; j++) {
            long double g = get(&r, "x", i * 2 * D + j), u = get(&r, "x", (i * 2 + 1) * D + j);
            long double t = tanhl(fabsl(g) / 2), sig = (1 + t) / 2;
            expect(&r, "y", i * D + j, g * (g >= 0 ? sig : expl(g) * sig) * u, 1e-13L);
        }
    run_close(&r);
}

/* With d = sa - sb, computes s = max(sa, sb) + log1p(e^-|d|) and
 * v = va*sigmoid(d) + vb*sigmoid(-d). Some sa and sb are infinite. */
static void merge_attn_states(void **state)
{
    enum { N = 8, H = 3, D = 5 };
    static const double special[][2] = {
        {INFINITY, 1},        {1, INFINITY},          {-INFINITY, 2},        {2, -INFINITY},
        {INFINITY, INFINITY}, {-INFINITY, -INFINITY}, {INFINITY, -INFINITY}, {0, 0}};
    struct run r;
    run_open(&r, "merge_attn_states", (int64_t[]){N, H, D});
    fill_noise(&r, "va", 1);
    fill_noise(&r, "vb", 1);
    fill_noise(&r, "sa", 3);
    fill_noise(&r, "sb", 3);
    for (size_t i = 0; i < ARRAY_LEN(special); i++) {
        put(&r, "sa", (int64_t)i, special[i][0]);
        put(&r, "sb", (int64_t)i, special[i][1]);
    }
    run_oracle(&r);
    for (int h = 0; h < N * H; h++) {
        long double a = get(&r, "sa", h), b = get(&r, "sb", h), wa, s;
        if (isinf(a) && isinf(b)) {
            wa = 0, s = -INFINITY;
        } else if (isinf(a)) {
            wa = 0, s = b;
        } else if (isinf(b)) {
            wa = 1, s = a;
        } else {
            wa = 1 / (1 + expl(b - a));
            s = fmaxl(a, b) + log1pl(expl(-fabsl(a - b)));
        }
        expect(&r, "s", h, s, 1e-14L);
        for (int d = 0; d < D; d++) {
            long double va = get(&r, "va", h * D + d), vb = get(&r, "vb", h * D + d);
            expect(&r, "v", h * D + d,
                   isinf(s) ? 0
                            : wa * va + (isinf(a)   ? 1
                                         : isinf(b) ? 0
                                                    : 1 / (1 + expl(a - b))) *
                                            vb,
                   1e-13L);
        }
    }
    run_close(&r);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts each column; the maximum is its last element. The largest elements lie in the first two
 * rows, in the last row, and between them. */
static void reduce_max_dim1(void **state)
{
    enum { A = 3, R = 41, C = 7 };
    struct run r;
    run_open(&r, "reduce_max_dim1", (int64_t[]){A, R, C});
    for (int i = 0; i < A * R * C; i++)
        put(&r, "x", i, noise((uint64_t)i) - 10);
    for (int i = 0; i < A * C; i++) {
        int peak = i == 4 ? 0 : i % 2 ? i : R - 1 - i;
        put(&r, "x", (i / C * R + peak) * C + i % C, -1);
    }
    for (int k = 0; k < R; k++)
        put(&r, "x", k * C + 2, -INFINITY); /* a = 0, c = 2 */
    run_oracle(&r);
    for (int a = 0; a < A; a++)
        for (int c = 0; c < C; c++) {
            double col[R];
            for (int k = 0; k < R; k++)
                col[k] = (double)get(&r, "x", (a * R + k) * C + c);
            qsort(col, R, sizeof *col, by_value);
            expect(&r, "y", a * C + c, col[R - 1], 0);
        }
    assert_true(value(&r, "y", 2) == -INFINITY);
    run_close(&r);
}

static void transpose(void **state)
{
    enum { M = 37, N = 53 };
    struct run r;
    run_open(&r, "transpose", (int64_t[]){M, N});
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++)
            put(&r, "x", m * N + n, m * 1000 + n);
    run_oracle(&r);
    for (int i = 0; i < M * N; i++)
        expect(&r, "y", i, i % M * 1000 + i / M, 0);
    run_close(&r);
}

/* The sum 1 + 2 + ... + k is k(k+1)/2. The sum 1 - 2 + 3 - ... up to k is (k+1)/2 for odd k, and
 * -k/2 for even k. */
static void cumsum(void **state)
{
    enum { C = 1001 };
    struct run r;
    run_open(&r, "cumsum", (int64_t[]){2, C});
    for (int j = 0; j < C; j++) {
        put(&r, "x", j, j + 1);
        put(&r, "x", C + j, j % 2 ? -(j + 1) : j + 1);
    }
    run_oracle(&r);
    for (int j = 0; j < C; j++) {
        long double k = j + 1;
        expect(&r, "y", j, k * (k + 1) / 2, 0);
        expect(&r, "y", C + j, j % 2 ? -k / 2 : (k + 1) / 2, 0);
        expect_mag(&r, "y", C + j, k * (k + 1) / 2);
    }
    run_close(&r);
}

/* In each row, a - p is (3, 4, 0, 0) and a - n is (t, t, t, t). The norms of these differences plus
 * eps have closed forms. */
static void triplet_margin_loss(void **state)
{
    enum { B = 600, D = 4 }; /* enough rows for three partial sums */
    const long double eps = 1e-6L;
    struct run r;
    run_open(&r, "triplet_margin_loss", (int64_t[]){B, D});
    long double sum = 0, mag = 0, pos = sqrtl(25 + 14 * eps + 4 * eps * eps);
    for (int i = 0; i < B; i++) {
        double t = i % 10;
        for (int j = 0; j < D; j++) {
            put(&r, "a", i * D + j, 5);
            put(&r, "p", i * D + j, j == 0 ? 2 : j == 1 ? 1 : 5);
            put(&r, "n", i * D + j, 5 - t);
        }
        long double neg = 2 * (t + eps);
        sum += 1 + pos - neg > 0 ? 1 + pos - neg : 0;
        mag += 1 + pos + neg;
    }
    run_oracle(&r);
    expect(&r, "loss", 0, sum / B, 1e-14L);
    expect_mag(&r, "loss", 0, mag / B);
    run_close(&r);
}

/* Computes y = D^-1 * A * x. A is the dense adjacency matrix, and D has the degrees as its
 * diagonal. */
static void segment_mean(void **state)
{
    enum { N = 40, V = 13, D = 6 };
    static double dense[N][V];
    int degree[N], edges = 0;
    for (int i = 0; i < N; i++)
        edges += degree[i] = i % 4 == 3 ? 0 : (i * 7) % 11;
    struct run r;
    run_open(&r, "segment_mean", (int64_t[]){N, edges, V, D});
    fill_noise(&r, "x", 1);
    int e = 0;
    for (int i = 0; i < N; i++) {
        put(&r, "rowptr", i, e);
        for (int k = 0; k < degree[i]; k++, e++) {
            int v = (e * 5 + k * k) % V; /* a node may have the same neighbour twice */
            put(&r, "col", e, v);
            dense[i][v]++;
        }
    }
    put(&r, "rowptr", N, e);
    run_oracle(&r);
    for (int i = 0; i < N; i++)
        for (int d = 0; d < D; d++) {
            long double want = 0;
            for (int v = 0; v < V; v++)
                want += dense[i][v] * get(&r, "x", v * D + d);
            expect(&r, "y", i * D + d, degree[i] ? want / degree[i] : 0, 1e-14L);
        }
    run_close(&r);
}

static void embedding_gather(void **state)
{
    enum { N = 50, V = 20, D = 9 };
    struct run r;
    run_open(&r, "embedding_gather", (int64_t[]){N, V, D});
    for (int i = 0; i < V * D; i++)
        put(&r, "table", i, i);
    for (int i = 0; i < N; i++)
        put(&r, "idx", i, (i * 7 + 3) % V);
    run_oracle(&r);
    for (int i = 0; i < N; i++)
        for (int d = 0; d < D; d++)
            expect(&r, "y", i * D + d, (i * 7 + 3) % V * D + d, 0);
    run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_add),          cmocka_unit_test(sigmoid),
        cmocka_unit_test(gelu_tanh),           cmocka_unit_test(softmax),
        cmocka_unit_test(layernorm),           cmocka_unit_test(rmsnorm),
        cmocka_unit_test(fused_add_rmsnorm),   cmocka_unit_test(silu_and_mul),
        cmocka_unit_test(merge_attn_states),   cmocka_unit_test(reduce_max_dim1),
        cmocka_unit_test(transpose),           cmocka_unit_test(cumsum),
        cmocka_unit_test(triplet_margin_loss), cmocka_unit_test(segment_mean),
        cmocka_unit_test(embedding_gather),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
