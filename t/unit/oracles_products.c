/*
 * Compares the oracles of products (matrix products, convolutions, attention, chains of products)
 * with independent computations. These use integers, which give exact sums in any order, or
 * algebraic identities, or they add each input to all outputs that it reaches.
 */
#include "oracle_run.h"

/* Checks C[m, n] = sum over k of A[m, k] * B[n * b_row + k * b_col], with integers. Checks that the
 * magnitude is the sum of the absolute values. Here the loop over k is the outermost one. */
static void check_int_product(struct run *r, int M, int N, int K, int b_row, int b_col)
{
    int64_t *sum = xcalloc((size_t)M * (size_t)N, sizeof *sum);
    int64_t *mag = xcalloc((size_t)M * (size_t)N, sizeof *mag);
    for (int k = K - 1; k >= 0; k--)
        for (int n = 0; n < N; n++)
            for (int m = 0; m < M; m++) {
                int64_t p =
                    (int64_t)get(r, "A", m * K + k) * (int64_t)get(r, "B", n * b_row + k * b_col);
                sum[m * N + n] += p;
                mag[m * N + n] += p < 0 ? -p : p;
            }
    for (int i = 0; i < M * N; i++) {
        expect(r, "C", i, sum[i], 0);
        expect_mag(r, "C", i, mag[i]);
    }
    free(sum);
    free(mag);
}

static void matmul_f32(void **state)
{
    struct run r;
    run_open(&r, "matmul_f32", (int64_t[]){9, 14, 35});
    fill_ints(&r, "A", 100);
    fill_ints(&r, "B", 100);
    run_oracle(&r);
    check_int_product(&r, 9, 14, 35, 1, 14);
    run_close(&r);
}

static void matmul_f16(void **state)
{
    struct run r;
    run_open(&r, "matmul_f16", (int64_t[]){11, 6, 50});
    fill_ints(&r, "A", 100);
    fill_ints(&r, "B", 100);
    run_oracle(&r);
    check_int_product(&r, 11, 6, 50, 50, 1);
    run_close(&r);
}

static void matmul_bias_relu_bf16(void **state)
{
    enum { M = 8, N = 9, K = 21 };
    struct run r;
    run_open(&r, "matmul_bias_relu_bf16", (int64_t[]){M, N, K});
    fill_ints(&r, "A", 100);
    fill_ints(&r, "B", 100);
    fill_ints(&r, "bias", 200);
    run_oracle(&r);
    int clipped = 0;
    for (int n = 0; n < N; n++)
        for (int m = 0; m < M; m++) {
            int64_t sum = (int64_t)get(&r, "bias", n), mag = llabs(sum);
            for (int k = K - 1; k >= 0; k--) {
                int64_t p = (int64_t)get(&r, "A", m * K + k) * (int64_t)get(&r, "B", n * K + k);
                sum += p;
                mag += llabs(p);
            }
            clipped += sum < 0;
            expect(&r, "C", m * N + n, sum < 0 ? 0 : sum, 0);
            expect_mag(&r, "C", m * N + n, mag);
        }
    assert_in_range(clipped, 1, M * N - 1);
    run_close(&r);
}

/* The oracle adds up long sums in chunks. These sums have more terms than two chunks. The test adds
 * them in reverse order. */
static void matvec_f32(void **state)
{
    enum { M = 5, K = 9001 };
    struct run r;
    run_open(&r, "matvec_f32", (int64_t[]){M, K});
    fill_ints(&r, "A", 100);
    fill_ints(&r, "x", 100);
    run_oracle(&r);
    for (int m = 0; m < M; m++) {
        int64_t sum = 0, mag = 0;
        for (int k = K - 1; k >= 0; k--) {
            int64_t p = (int64_t)get(&r, "A", m * K + k) * (int64_t)get(&r, "x", k);
            sum += p;
            mag += llabs(p);
        }
        expect(&r, "y", m, sum, 0);
        expect_mag(&r, "y", m, mag);
    }
    run_close(&r);
}

/* Here every input pixel adds to the nine outputs that it reaches. The canvas has the outputs, with
 * a border around them. */
static void conv2d_depthwise(void **state)
{
    enum { N = 2, C = 3, H = 6, W = 5 };
    int64_t canvas[H + 2][W + 2];
    struct run r;
    run_open(&r, "conv2d_depthwise", (int64_t[]){N, C, H, W});
    fill_ints(&r, "x", 50);
    fill_ints(&r, "w", 50);
    for (int k = 0; k < 9; k++) /* the weights of channel 0 move the image down and right by 1 */
        put(&r, "w", k, k == 0);
    run_oracle(&r);
    for (int p = 0; p < N * C; p++) {
        memset(canvas, 0, sizeof canvas);
        for (int i = 0; i < H * W; i++)
            for (int k = 0; k < 9; k++)
                canvas[i / W + 2 - k / 3][i % W + 2 - k % 3] +=
                    (int64_t)get(&r, "x", p * H * W + i) * (int64_t)get(&r, "w", p % C * 9 + k);
        for (int i = 0; i < H * W; i++) {
            expect(&r, "y", p * H * W + i, canvas[i / W + 1][i % W + 1], 0);
            if (p % C == 0)
                expect(&r, "y", p * H * W + i,
                       i / W > 0 && i % W > 0 ? get(&r, "x", p * H * W + i - W - 1) : 0, 0);
        }
    }
    run_close(&r);
}

/* Here every input pixel adds integers to the outputs that it reaches in all output channels. After
 * that come a scale of 2 or -2, a shift, and a relu. */
static void conv3x3_bn_relu(void **state)
{
    enum { N = 2, H = 4, W = 5, C = 3, K = 4 };
    static int64_t canvas[N][H + 2][W + 2][K], mags[N][H + 2][W + 2][K];
    struct run r;
    run_open(&r, "conv3x3_bn_relu", (int64_t[]){N, H, W, C, K});
    fill_ints(&r, "x", 20);
    fill_ints(&r, "w", 20);
    for (int k = 0; k < K; k++) {
        put(&r, "scale", k, k % 2 ? -2 : 2);
        put(&r, "shift", k, 10 * k);
    }
    run_oracle(&r);
    for (int n = 0; n < N; n++)
        for (int i = 0; i < H * W; i++)
            for (int c = 0; c < C; c++)
                for (int t = 0; t < 9; t++)
                    for (int k = 0; k < K; k++) {
                        int64_t p = (int64_t)get(&r, "x", (n * H * W + i) * C + c) *
                                    (int64_t)get(&r, "w", (k * 9 + t) * C + c);
                        canvas[n][i / W + 2 - t / 3][i % W + 2 - t % 3][k] += p;
                        mags[n][i / W + 2 - t / 3][i % W + 2 - t % 3][k] += llabs(p);
                    }
    int clipped = 0;
    for (int i = 0; i < N * H * W * K; i++) {
        int k = i % K, v = i / K % W, h = i / K / W % H, n = i / K / W / H;
        int64_t want = canvas[n][h + 1][v + 1][k] * (k % 2 ? -2 : 2) + 10 * k;
        clipped += want < 0;
        expect(&r, "y", i, want < 0 ? 0 : want, 0);
        expect_mag(&r, "y", i, mags[n][h + 1][v + 1][k] * 2 + 10 * k);
    }
    assert_in_range(clipped, 1, N * H * W * K - 1);
    run_close(&r);
}

/* Computes the whole matrix of attention weights and normalises it, and then multiplies it by V, in
 * long double. */
static void attention_f16(void **state)
{
    enum { B = 2, H = 2, S = 19, D = 24 };
    static long double p[S][S];
    struct run r;
    run_open(&r, "attention_f16", (int64_t[]){B, H, S, D});
    fill_noise(&r, "Q", 1);
    fill_noise(&r, "K", 0.5);
    fill_noise(&r, "V", 1);
    for (int d = 0; d < D; d++)
        put(&r, "Q", d, 0); /* a zero query gives the mean of the values */
    run_oracle(&r);
    for (int h = 0; h < B * H; h++) {
        for (int i = 0; i < S; i++) {
            long double sum = 0;
            for (int j = S - 1; j >= 0; j--) {
                long double dot = 0;
                for (int d = D - 1; d >= 0; d--)
                    dot += get(&r, "Q", (h * S + i) * D + d) * get(&r, "K", (h * S + j) * D + d);
                sum += p[i][j] = expl(dot / sqrtl(D));
            }
            for (int j = 0; j < S; j++)
                p[i][j] /= sum;
        }
        for (int i = 0; i < S; i++)
            for (int d = 0; d < D; d++) {
                long double want = 0, mag = 0;
                for (int j = 0; j < S; j++) {
                    long double v = get(&r, "V", (h * S + j) * D + d);
                    want += (h + i == 0 ? 1.0L / S : p[i][j]) * v;
                    mag += p[i][j] * fabsl(v);
                }
                expect(&r, "O", (h * S + i) * D + d, want, 1e-13L);
                expect_mag(&r, "O", (h * S + i) * D + d, mag);
            }
    }
    run_close(&r);
}

/* Handles one hidden unit after the other: computes its activation with tanh, and adds its part to
 * all elements of y. */
static void mlp_swiglu(void **state)
{
    enum { N = 7, D = 12, F = 17 };
    static long double y[N][D], mag[N][D];
    struct run r;
    run_open(&r, "mlp_swiglu", (int64_t[]){N, D, F});
    fill_noise(&r, "x", 1);
    fill_noise(&r, "wg", 0.25);
    fill_noise(&r, "wu", 0.25);
    fill_noise(&r, "wd", 0.25);
    run_oracle(&r);
    for (int f = F - 1; f >= 0; f--)
        for (int n = 0; n < N; n++) {
            long double gate = 0, up = 0;
            for (int d = D - 1; d >= 0; d--) {
                gate += get(&r, "x", n * D + d) * get(&r, "wg", f * D + d);
                up += get(&r, "wu", f * D + d) * get(&r, "x", n * D + d);
            }
            long double h = gate * (1 + tanhl(gate / 2)) / 2 * up;
            for (int d = 0; d < D; d++) {
                y[n][d] += h * get(&r, "wd", d * F + f);
                mag[n][d] += fabsl(h * get(&r, "wd", d * F + f));
            }
        }
    for (int i = 0; i < N * D; i++) {
        expect(&r, "y", i, y[i / D][i % D], 1e-13L);
        expect_mag(&r, "y", i, mag[i / D][i % D]);
    }
    run_close(&r);
}

/* Does not normalise x before the product. Computes
 * y = rstd * (x * (gW)^T - mean * sum(gW)) + sum(bW) + r. */
static void layernorm_matmul_residual(void **state)
{
    enum { M = 6, N = 8, K = 31 };
    struct run r;
    run_open(&r, "layernorm_matmul_residual", (int64_t[]){M, N, K});
    fill_noise(&r, "x", 1);
    fill_noise(&r, "g", 0.5);
    fill_noise(&r, "b", 0.25);
    fill_noise(&r, "W", 0.5);
    fill_noise(&r, "r", 2);
    run_oracle(&r);
    for (int m = 0; m < M; m++) {
        long double s1 = 0, s2 = 0;
        for (int k = 0; k < K; k++) {
            s1 += get(&r, "x", m * K + k);
            s2 += get(&r, "x", m * K + k) * get(&r, "x", m * K + k);
        }
        long double mean = s1 / K, rstd = 1 / sqrtl(s2 / K - mean * mean + 1e-5L);
        for (int n = 0; n < N; n++) {
            long double xgw = 0, gw = 0, bw = 0;
            for (int k = 0; k < K; k++) {
                long double w = get(&r, "W", n * K + k);
                xgw += get(&r, "x", m * K + k) * get(&r, "g", k) * w;
                gw += get(&r, "g", k) * w;
                bw += get(&r, "b", k) * w;
            }
            expect(&r, "y", m * N + n, rstd * (xgw - mean * gw) + bw + get(&r, "r", m * N + n),
                   1e-13L);
        }
    }
    run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_f32),
        cmocka_unit_test(matmul_f16),
        cmocka_unit_test(matmul_bias_relu_bf16),
        cmocka_unit_test(matvec_f32),
        cmocka_unit_test(conv2d_depthwise),
        cmocka_unit_test(conv3x3_bn_relu),
        cmocka_unit_test(attention_f16),
        cmocka_unit_test(mlp_swiglu),
        cmocka_unit_test(layernorm_matmul_residual),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
