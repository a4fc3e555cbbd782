// y = epilogue(x w), or epilogue(x w + u v) if PAIR = 1.
//
// product_wide and product_deep use WGMMA, for sums over up to 128 and 256 columns (wgmma_rows.cuh). Two products
// with more columns in all take two launches. In half precision product_deep takes up to 512 columns.
// In product_vec, a block makes tiles of 128 x 64 elements of y on the tensor cores, a warp 64 x 32 of them.
// cp.async brings pieces of x and w into a ring of stages. The epilogue works on the sums in registers. Other
// addresses and sizes, and short sums, take product_any, with plain arithmetic.
constexpr bool kTurnedA = false, kTurnedB = false;
#include "tf32_tile.cuh"
#include "wgmma_rows.cuh"

// The product is x w, or x w + u v if there are two terms. x and u are M x K, w and v are K x N.
struct operands {
    const float *x, *w, *u, *v;
    int terms, M, N, K;
};

// Element (m, n) of the product by plain arithmetic.
__device__ __noinline__ float plain_product(const operands &of, long long m, int n)
{
    float sum = 0;
    for (int term = 0; term < of.terms; term++) {
        const float *a = (term ? of.u : of.x) + m * of.K, *b = (term ? of.v : of.w) + n;
        for (long long k = 0; k < of.K; k++)
            sum += a[k] * b[k * of.N];
    }
    return sum;
}

#include "dropout.cuh"

struct epilogue {
    const float *bias;
    const int *node;
    int accumulate, has_bias;
    float slope;
    unsigned limit, place, step, k0, k1;

    // From the sum, the old value of y and the bias to the value before dropout.
    __device__ __forceinline__ float before_drop(float v, float old, float add) const
    {
        v += old + add;
        return v < 0 ? slope != 0 ? slope * v : 0.f : v;
    }
    __device__ __forceinline__ float scale() const { return 65536.f / (65536.f - (float)limit); }
};

// Two elements from (m, n) on, computed again.
__device__ __noinline__ void finish_again(const epilogue &ep, const operands &of, float *y, long long m, int n)
{
    dropout drop(ep.limit, ep.place, ep.step, ep.k0, ep.k1);
    int N = of.N;
    for (int end = n + 2; n < end; n++) {
        float v = ep.before_drop(plain_product(of, m, n), ep.accumulate ? y[m * N + n] : 0.f,
                                 ep.has_bias ? ep.bias[n] : 0.f);
        if (ep.limit)
            v = drop.keeps((unsigned long long)ep.node[m] * N + n) ? ep.scale() * v : 0.f;
        y[m * N + n] = v;
    }
}

// The random words of a row for the elements of this thread, from element `first` on: word j is for fragment j.
// N is a multiple of 8 if there is dropout, so the eight elements of a row of a fragment, which four lanes
// share, have one block of random words, and lane t needs word t of it. Lane t makes the block of fragment t.
// Then the lanes exchange words: the four of them transpose a matrix of 4 x 4.
__device__ __forceinline__ void row_words(unsigned (&word)[4], const epilogue &ep, unsigned long long first)
{
    int t = threadIdx.x % 4;
    random_block b = random_words(first / 8 + t, ep.place, ep.step, ep.k0, ep.k1);
    bool odd = t & 1, upper = t & 2;
    unsigned a = __shfl_xor_sync(~0u, odd ? b.w[0] : b.w[1], 1), c = __shfl_xor_sync(~0u, odd ? b.w[2] : b.w[3], 1);
    unsigned w0 = odd ? a : b.w[0], w1 = odd ? b.w[1] : a, w2 = odd ? c : b.w[2], w3 = odd ? b.w[3] : c;
    unsigned d = __shfl_xor_sync(~0u, upper ? w0 : w2, 2), e = __shfl_xor_sync(~0u, upper ? w1 : w3, 2);
    word[0] = upper ? d : w0;
    word[1] = upper ? e : w1;
    word[2] = upper ? w2 : d;
    word[3] = upper ? w3 : e;
}

// Finishes the sums of a warp's 16 * kHeight x 32 elements at (m0, n0). kOldIsIn: the sums include the old
// values of y.
template <bool kOldIsIn, int kHeight>
__device__ __forceinline__ void finish(const float (&sum)[kHeight][4][4], const epilogue &ep, const operands &of,
                                       float *y, long long m0, int n0)
{
    int M = of.M, N = of.N;
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    float scale = ep.scale();
    unsigned bad = 0;
#pragma unroll
    for (int i = 0; i < kHeight; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            long long m = m0 + 16 * i + g + 8 * h;
            unsigned word[4] = {};
            if (ep.limit)
                row_words(word, ep, m < M ? (unsigned long long)ep.node[m] * N + n0 : 0);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int n = n0 + 8 * j + 2 * t;
                if (m >= M || n >= N)
                    continue;
                float2 *at = reinterpret_cast<float2 *>(y + m * N + n);
                float2 old = !kOldIsIn && ep.accumulate ? *at : make_float2(0.f, 0.f);
                float2 add = ep.has_bias ? make_float2(ep.bias[n], ep.bias[n + 1]) : make_float2(0.f, 0.f);
                float a = sum[i][j][2 * h], b = sum[i][j][2 * h + 1];
                if (!is_finite(a) || !is_finite(b)) {
                    bad |= 1u << (8 * i + 4 * h + j);
                    continue;
                }
                a = ep.before_drop(a, old.x, add.x);
                b = ep.before_drop(b, old.y, add.y);
                if (ep.limit) {
                    a = (word[j] & 0xffffu) >= ep.limit ? scale * a : 0.f;
                    b = word[j] >> 16 >= ep.limit ? scale * b : 0.f;
                }
                *at = make_float2(a, b);
            }
        }
    for (; bad; bad &= bad - 1) {
        int bit = __ffs(bad) - 1;
        finish_again(ep, of, y, m0 + bit / 8 * 16 + g + bit / 4 % 2 * 8, n0 + bit % 4 * 8 + 2 * t);
    }
}

extern "C" __global__ void __launch_bounds__(128, 3)
    product_vec(const float *x, const float *w, const float *u, const float *v, const float *bias, const int *node,
                float *y, int M, int N, int K, int pair, int accumulate, int has_bias, int slope_ppm, unsigned limit,
                unsigned seed_low, unsigned seed_high, unsigned step, unsigned place)
{
    epilogue ep = {bias,  node, accumulate, has_bias, (float)(slope_ppm / 1e6), limit,
                   place, step, seed_low,   seed_high};
    operands of = {x, w, u, v, 1 + pair, M, N, K};
    int warp = threadIdx.x / 32, n0 = blockIdx.x * kWide;
    for (long long m0 = (long long)blockIdx.y * kHigh; m0 < M; m0 += (long long)gridDim.y * kHigh) {
        sums sum = {};
        tile_product(sum, x, w, m0, n0, M, N, 0, K, K);
        if (pair) {
            __syncthreads(); // the second term overwrites the stages
            tile_product(sum, u, v, m0, n0, M, N, 0, K, K);
        }
        finish<false>(sum, ep, of, y, m0 + warp / 2 * 64, n0 + warp % 2 * 32);
        __syncthreads(); // the next tile overwrites the stages
    }
}

// Squares of w or v, which have a row for each step of the sum.
struct square_of_w {
    static constexpr int kColumns = 4;
    const operands &of;

    __device__ __forceinline__ void operator()(float (&v)[4][4], int n, int k, int term) const
    {
        const float *from = (term ? of.v : of.w) + (long long)k * of.N + n;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float4 row = make_float4(0.f, 0.f, 0.f, 0.f);
            if (k + j < of.K && n < of.N)
                row = *reinterpret_cast<const float4 *>(from + (long long)j * of.N);
            v[0][j] = row.x, v[1][j] = row.y, v[2][j] = row.z, v[3][j] = row.w;
        }
    }
};

// The same for a tile at the edge of y, or with sums that are not finite. They are rare, so this is a call.
__device__ __noinline__ void finish_edge(const float (&sum)[1][4][4], const epilogue &ep, const operands &of, float *y,
                                         long long m0, int n0)
{
    finish<true>(sum, ep, of, y, m0, n0);
}

// Finishes a warp's 16 rows for which plain_tile() holds. The sums include the old values of y.
template <int kFragments>
__device__ __forceinline__ void finish_plain(float (&sum)[kFragments][4], const epilogue &ep, float *y, long long m0,
                                             int n0, int N)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    float scale = ep.scale();
    if (ep.has_bias)
#pragma unroll
        for (int j = 0; j < kFragments; j++) {
            float2 add = make_float2(ep.bias[n0 + 8 * j + 2 * t], ep.bias[n0 + 8 * j + 2 * t + 1]);
            sum[j][0] += add.x, sum[j][1] += add.y, sum[j][2] += add.x, sum[j][3] += add.y;
        }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        long long m = m0 + g + 8 * h;
        float *at = y + m * N + n0 + 2 * t;
        unsigned long long first = ep.limit ? (unsigned long long)ep.node[m] * N + n0 : 0;
#pragma unroll
        for (int q = 0; q < kFragments / 4; q++) {
            unsigned word[4];
            if (ep.limit)
                row_words(word, ep, first + 32 * q);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float a = ep.before_drop(sum[4 * q + j][2 * h], 0.f, 0.f);
                float b = ep.before_drop(sum[4 * q + j][2 * h + 1], 0.f, 0.f);
                if (ep.limit) {
                    a = (word[j] & 0xffffu) >= ep.limit ? scale * a : 0.f;
                    b = word[j] >> 16 >= ep.limit ? scale * b : 0.f;
                }
                *reinterpret_cast<float2 *>(at + 32 * q + 8 * j) = make_float2(a, b);
            }
        }
    }
}

template <int kCols, int kSlots>
__device__ __forceinline__ void product_rows(const TmaDescriptor &rows_x, const TmaDescriptor &rows_u,
                                             const operands &of, float *y, const epilogue &ep)
{
    auto done = [&](float(&sum)[kCols / 8][4], long long m0, int n0) {
        if (ep.accumulate)
            add_old(sum, y, m0, n0, of.M, of.N); // all loads before the first store
        if (plain_tile(sum, m0, n0, of.M, of.N)) {
            finish_plain(sum, ep, y, m0, n0, of.N);
            return;
        }
#pragma unroll
        for (int q = 0; q < kCols / 32; q++) {
            float few[1][4][4];
#pragma unroll
            for (int i = 0; i < 16; i++)
                few[0][i / 4][i % 4] = sum[4 * q + i / 4][i % 4];
            if (n0 + 32 * q < of.N)
                finish_edge(few, ep, of, y, m0, n0 + 32 * q);
        }
    };
    rows_product<kCols, kSlots>(rows_x, rows_u, of.terms, of.M, of.N, of.K, square_of_w{of}, done);
}

extern "C" __global__ void __launch_bounds__(kBlock, 1)
    product_wide(const __grid_constant__ TmaDescriptor rows_x, const __grid_constant__ TmaDescriptor rows_u, const float *x,
                 const float *w, const float *u, const float *v, const float *bias, const int *node, float *y, int M,
                 int N, int K, int pair, int accumulate, int has_bias, int slope_ppm, unsigned limit,
                 unsigned seed_low, unsigned seed_high, unsigned step, unsigned place)
{
    epilogue ep = {bias,  node, accumulate, has_bias, (float)(slope_ppm / 1e6), limit,
                   place, step, seed_low,   seed_high};
    operands of = {x, w, u, v, 1 + pair, M, N, K};
    product_rows<kWideCols, 128 / kPiece>(rows_x, rows_u, of, y, ep);
}

extern "C" __global__ void __launch_bounds__(kBlock, 1)
    product_deep(const __grid_constant__ TmaDescriptor rows_x, const __grid_constant__ TmaDescriptor rows_u, const float *x,
                 const float *w, const float *u, const float *v, const float *bias, const int *node, float *y, int M,
                 int N, int K, int pair, int accumulate, int has_bias, int slope_ppm, unsigned limit,
                 unsigned seed_low, unsigned seed_high, unsigned step, unsigned place)
{
    epilogue ep = {bias,  node, accumulate, has_bias, (float)(slope_ppm / 1e6), limit,
                   place, step, seed_low,   seed_high};
    operands of = {x, w, u, v, 1 + pair, M, N, K};
    product_rows<kDeepCols, kDeepest / kPiece>(rows_x, rows_u, of, y, ep);
}

extern "C" __global__ void __launch_bounds__(256)
    product_any(const float *x, const float *w, const float *u, const float *v, const float *bias, const int *node,
                float *y, int M, int N, int K, int pair, int accumulate, int has_bias, int slope_ppm, unsigned limit,
                unsigned seed_low, unsigned seed_high, unsigned step, unsigned place)
{
    constexpr int kFew = 64;
    __shared__ float a[kStep][kFew + 4], b[kStep][kFew];
    int t = threadIdx.x, row = t / 16 * 4, column = t % 16 * 4;
    int n0 = blockIdx.x * kFew;
    float slope = (float)(slope_ppm / 1e6);
    for (long long m0 = (long long)blockIdx.y * kFew; m0 < M; m0 += (long long)gridDim.y * kFew) {
        float sum[4][4] = {};
        int steps = (K + kStep - 1) / kStep;
        for (int s = 0; s < (1 + pair) * steps; s++) {
            const float *left = s < steps ? x : u, *right = s < steps ? w : v;
            int k0 = s % steps * kStep;
            for (int i = t; i < kFew * kStep; i += 256) {
                int r = i / kStep, k = i % kStep;
                a[k][r] = m0 + r < M && k0 + k < K ? plain_operand(left[(m0 + r) * K + k0 + k]) : 0.f;
            }
            for (int i = t; i < kFew * kStep; i += 256) {
                int k = i / kFew, c = i % kFew;
                b[k][c] = k0 + k < K && n0 + c < N ? plain_operand(right[(long long)(k0 + k) * N + n0 + c]) : 0.f;
            }
            __syncthreads();
#pragma unroll
            for (int k = 0; k < kStep; k++) {
                float4 f = *reinterpret_cast<const float4 *>(&a[k][row]);
                float4 h = *reinterpret_cast<const float4 *>(&b[k][column]);
                float p[4] = {f.x, f.y, f.z, f.w}, q[4] = {h.x, h.y, h.z, h.w};
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++)
                        sum[i][j] = fmaf(p[i], q[j], sum[i][j]);
            }
            __syncthreads();
        }
        dropout drop(limit, place, step, seed_low, seed_high);
        for (int i = 0; i < 4; i++) {
            long long m = m0 + row + i;
            for (int j = 0; j < 4 && m < M; j++) {
                int n = n0 + column + j;
                if (n >= N)
                    break;
                float e = sum[i][j];
                if (kHalf && !is_finite(e))
                    e = plain_product({x, w, u, v, 1 + pair, M, N, K}, m, n);
                if (accumulate)
                    e += y[m * N + n];
                if (has_bias)
                    e += bias[n];
                if (e < 0)
                    e = slope_ppm ? slope * e : 0.f;
                if (limit)
                    e = drop.keeps((unsigned long long)node[m] * N + n) ? drop.scale() * e : 0.f;
                y[m * N + n] = e;
            }
        }
    }
}
