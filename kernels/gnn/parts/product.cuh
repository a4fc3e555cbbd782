// product_wide and product_deep use WGMMA, for sums of up to 128 and 256 terms (wgmma_rows.cuh).
// In product_vec, a block makes tiles of 128 x 64 elements of y on the tensor cores, a warp 64 x 32 of them.
// cp.async brings pieces of x and w into a ring of stages. The epilogue works on the sums in registers. Other
// addresses and sizes, and short sums, take product_any, with plain arithmetic.
constexpr bool kTurnedA = false, kTurnedB = false;
#include "tf32_tile.cuh"
#include "wgmma_rows.cuh"

// Element (m, n) of x w by plain arithmetic.
__device__ __noinline__ float plain_product(const float *x, const float *w, long long m, int n, int N, int K)
{
    float sum = 0;
    for (long long k = 0; k < K; k++)
        sum += x[m * K + k] * w[k * N + n];
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
__device__ __noinline__ void finish_again(const epilogue &ep, const float *x, const float *w, float *y, long long m,
                                          int n, int N, int K)
{
    dropout drop(ep.limit, ep.place, ep.step, ep.k0, ep.k1);
    for (int end = n + 2; n < end; n++) {
        float v = ep.before_drop(plain_product(x, w, m, n, N, K), ep.accumulate ? y[m * N + n] : 0.f,
                                 ep.has_bias ? ep.bias[n] : 0.f);
        if (ep.limit)
            v = drop.keeps((unsigned long long)ep.node[m] * N + n) ? ep.scale() * v : 0.f;
        y[m * N + n] = v;
    }
}

// The random words of a row for the elements of this thread: word j is for fragment j. N is a multiple of 8
// if there is dropout, so the eight elements of a row of a fragment, which four lanes share, have one block
// of random words, and lane t needs word t of it. Lane t makes the block of fragment t, and the lanes
// exchange words.
__device__ __forceinline__ void row_words(unsigned (&word)[4], const epilogue &ep, long long m, int n0, int M, int N)
{
    int t = threadIdx.x % 4, lane = threadIdx.x % 32;
    unsigned long long first = m < M ? (unsigned long long)ep.node[m] * N + n0 + 8 * t : 0;
    random_block b = random_words(first / 8, ep.place, ep.step, ep.k0, ep.k1);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        unsigned at = lane / 4 * 4 + j;
        unsigned w0 = __shfl_sync(~0u, b.w[0], at), w1 = __shfl_sync(~0u, b.w[1], at);
        unsigned w2 = __shfl_sync(~0u, b.w[2], at), w3 = __shfl_sync(~0u, b.w[3], at);
        word[j] = t < 2 ? (t == 0 ? w0 : w1) : (t == 2 ? w2 : w3);
    }
}

// Finishes the sums of a warp's 16 * kHeight x 32 elements at (m0, n0). kOldIsIn: the sums include the old
// values of y.
template <bool kOldIsIn, int kHeight>
__device__ __forceinline__ void finish(const float (&sum)[kHeight][4][4], const epilogue &ep, const float *x,
                                       const float *w, float *y, long long m0, int n0, int M, int N, int K)
{
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
                row_words(word, ep, m, n0, M, N);
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
        finish_again(ep, x, w, y, m0 + bit / 8 * 16 + g + bit / 4 % 2 * 8, n0 + bit % 4 * 8 + 2 * t, N, K);
    }
}

extern "C" __global__ void __launch_bounds__(128, 3)
    product_vec(const float *x, const float *w, const float *bias, const int *node, float *y, int M, int N, int K,
                int accumulate, int has_bias, int slope_ppm, unsigned limit, unsigned seed_low,
                unsigned seed_high, unsigned step, unsigned place)
{
    epilogue ep = {bias,  node, accumulate, has_bias, (float)(slope_ppm / 1e6), limit,
                   place, step, seed_low,   seed_high};
    int warp = threadIdx.x / 32, n0 = blockIdx.x * kWide;
    for (long long m0 = (long long)blockIdx.y * kHigh; m0 < M; m0 += (long long)gridDim.y * kHigh) {
        sums sum = {};
        tile_product(sum, x, w, m0, n0, M, N, 0, K, K);
        finish<false>(sum, ep, x, w, y, m0 + warp / 2 * 64, n0 + warp % 2 * 32, M, N, K);
        __syncthreads(); // the next tile overwrites the stages
    }
}

// Squares of w, which has a row for each step of the sum.
struct square_of_w {
    static constexpr int kColumns = 4;
    const float *w;
    int N, K;

    __device__ __forceinline__ void operator()(float (&v)[4][4], int n, int k) const
    {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float4 row = make_float4(0.f, 0.f, 0.f, 0.f);
            if (k + j < K && n < N)
                row = *reinterpret_cast<const float4 *>(w + (long long)(k + j) * N + n);
            v[0][j] = row.x, v[1][j] = row.y, v[2][j] = row.z, v[3][j] = row.w;
        }
    }
};

template <int kCols, int kSlots>
__device__ __forceinline__ void product_rows(const TmaDescriptor &map, const float *x, const float *w, float *y,
                                             const epilogue &ep, int M, int N, int K)
{
    auto done = [&](float(&sum)[kCols / 8][4], long long m0, int n0) {
        if (ep.accumulate)
            add_old(sum, y, m0, n0, M, N); // all loads before the first store
#pragma unroll
        for (int q = 0; q < kCols / 32; q++)
            if (n0 + 32 * q < N)
                finish<true>(reinterpret_cast<const float(&)[1][4][4]>(sum[4 * q]), ep, x, w, y, m0, n0 + 32 * q, M,
                             N, K);
    };
    rows_product<kCols, kSlots>(map, M, N, K, square_of_w{w, N, K}, done);
}

extern "C" __global__ void __launch_bounds__(kBlock, 1)
    product_wide(const __grid_constant__ TmaDescriptor map, const float *x, const float *w, const float *bias,
                 const int *node, float *y, int M, int N, int K, int accumulate, int has_bias, int slope_ppm,
                 unsigned limit, unsigned seed_low, unsigned seed_high, unsigned step, unsigned place)
{
    epilogue ep = {bias,  node, accumulate, has_bias, (float)(slope_ppm / 1e6), limit,
                   place, step, seed_low,   seed_high};
    product_rows<kWideCols, 128 / kPiece>(map, x, w, y, ep, M, N, K);
}

extern "C" __global__ void __launch_bounds__(kBlock, 1)
    product_deep(const __grid_constant__ TmaDescriptor map, const float *x, const float *w, const float *bias,
                 const int *node, float *y, int M, int N, int K, int accumulate, int has_bias, int slope_ppm,
                 unsigned limit, unsigned seed_low, unsigned seed_high, unsigned step, unsigned place)
{
    epilogue ep = {bias,  node, accumulate, has_bias, (float)(slope_ppm / 1e6), limit,
                   place, step, seed_low,   seed_high};
    product_rows<kDeepCols, 256 / kPiece>(map, x, w, y, ep, M, N, K);
}

extern "C" __global__ void __launch_bounds__(256)
    product_any(const float *x, const float *w, const float *bias, const int *node, float *y, int M, int N, int K,
                int accumulate, int has_bias, int slope_ppm, unsigned limit, unsigned seed_low,
                unsigned seed_high, unsigned step, unsigned place)
{
    constexpr int kFew = 64;
    __shared__ float a[kStep][kFew + 4], b[kStep][kFew];
    int t = threadIdx.x, row = t / 16 * 4, column = t % 16 * 4;
    int n0 = blockIdx.x * kFew;
    float slope = (float)(slope_ppm / 1e6);
    for (long long m0 = (long long)blockIdx.y * kFew; m0 < M; m0 += (long long)gridDim.y * kFew) {
        float sum[4][4] = {};
        for (int k0 = 0; k0 < K; k0 += kStep) {
            for (int i = t; i < kFew * kStep; i += 256) {
                int r = i / kStep, k = i % kStep;
                a[k][r] = m0 + r < M && k0 + k < K ? x[(m0 + r) * K + k0 + k] : 0.f;
            }
            for (int i = t; i < kFew * kStep; i += 256) {
                int k = i / kFew, c = i % kFew;
                b[k][c] = k0 + k < K && n0 + c < N ? w[(long long)(k0 + k) * N + n0 + c] : 0.f;
            }
            __syncthreads();
#pragma unroll
            for (int k = 0; k < kStep; k++) {
                float4 u = *reinterpret_cast<const float4 *>(&a[k][row]);
                float4 v = *reinterpret_cast<const float4 *>(&b[k][column]);
                float p[4] = {u.x, u.y, u.z, u.w}, q[4] = {v.x, v.y, v.z, v.w};
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
                float v = sum[i][j];
                if (accumulate)
                    v += y[m * N + n];
                if (has_bias)
                    v += bias[n];
                if (v < 0)
                    v = slope_ppm ? slope * v : 0.f;
                if (limit)
                    v = drop.keeps((unsigned long long)node[m] * N + n) ? drop.scale() * v : 0.f;
                y[m * N + n] = v;
            }
        }
    }
}
