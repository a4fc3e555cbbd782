// product_wide and product_deep use WGMMA, for sums of up to 128 and 256 terms, or 512 in half precision
// (wgmma_rows.cuh).
// In product_vec, a block makes tiles of 128 x 64 elements of dx on the tensor cores, a warp 64 x 32 of them. cp.async
// brings pieces of dy and w into a ring of stages. Other addresses and sizes, and short sums, take
// product_any, with plain arithmetic.
constexpr bool kTurnedA = false, kTurnedB = true;
#include "tf32_tile.cuh"
#include "wgmma_rows.cuh"

// dy is multiplied by 2^shift before it is rounded to half precision (kHalf), and the sums are divided by it. Other
// precisions need no shift: it is 0.

// Element (m, k) of dy w^T by plain arithmetic.
__device__ __noinline__ float plain_product(const float *dy, const float *w, long long m, long long k, int N)
{
    float sum = 0;
    for (int n = 0; n < N; n++)
        sum += dy[m * N + n] * w[k * N + n];
    return sum;
}

// The sum without its factor 1 / down.
__device__ __forceinline__ float unscaled(float sum, float down)
{
    return kHalf ? sum * down : sum;
}

// Two elements from (m, k) on, computed again.
__device__ __forceinline__ void add_plain(const float *dy, const float *w, float *dx, long long m, int k, int N, int K,
                                          int accumulate)
{
    for (int c = 0; c < 2; c++)
        dx[m * K + k + c] = (accumulate ? dx[m * K + k + c] : 0.f) + plain_product(dy, w, m, k + c, N);
}

extern "C" __global__ void __launch_bounds__(128, 3)
    product_vec(const float *dy, const float *w, float *dx, int M, int N, int K, int accumulate, int shift)
{
    float down = power_of_two(-shift);
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
    int k0 = blockIdx.x * kWide + warp % 2 * 32;
    for (long long m0 = (long long)blockIdx.y * kHigh; m0 < M; m0 += (long long)gridDim.y * kHigh) {
        sums sum = {};
        unsigned bad = 0;
        long long m1 = m0 + warp / 2 * 64 + g;
        tile_product(sum, dy, w, m0, blockIdx.x * kWide, M, K, 0, N, N, {power_of_two(shift), 1.f});
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int h = 0; h < 2; h++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    long long m = m1 + 16 * i + 8 * h;
                    int k = k0 + 8 * j + 2 * t;
                    if (m >= M || k >= K)
                        continue;
                    float2 *at = reinterpret_cast<float2 *>(dx + m * K + k);
                    float2 old = accumulate ? *at : make_float2(0.f, 0.f);
                    float a = sum[i][j][2 * h], b = sum[i][j][2 * h + 1];
                    if (is_finite(a) && is_finite(b))
                        *at = make_float2(old.x + unscaled(a, down), old.y + unscaled(b, down));
                    else
                        bad |= 1u << (8 * i + 4 * h + j);
                }
        for (; bad; bad &= bad - 1) {
            int bit = __ffs(bad) - 1, k = k0 + bit % 4 * 8 + 2 * t;
            long long m = m1 + bit / 8 * 16 + bit / 4 % 2 * 8;
            add_plain(dy, w, dx, m, k, N, K, accumulate);
        }
        __syncthreads(); // the next tile overwrites the stages
    }
}

// Rows of w, which has its steps of the sum side by side.
struct row_of_w {
    static constexpr int kColumns = 1;
    const float *w;
    int N, K;

    __device__ __forceinline__ void operator()(float (&v)[1][4], int k, int n, int) const
    {
        float4 four = make_float4(0.f, 0.f, 0.f, 0.f);
        if (k < K && n < N)
            four = *reinterpret_cast<const float4 *>(w + (long long)k * N + n);
        v[0][0] = four.x, v[0][1] = four.y, v[0][2] = four.z, v[0][3] = four.w;
    }
};

template <int kCols, int kSlots>
__device__ __forceinline__ void product_rows(const TmaDescriptor &map, const float *dy, const float *w, float *dx,
                                             int M, int N, int K, int accumulate, int shift)
{
    float down = power_of_two(-shift);
    auto done = [&](float(&sum)[kCols / 8][4], long long m0, int k0) {
        int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
        unsigned bad = 0; // one bit for the two columns of a row of a fragment
#pragma unroll
        for (int i = 0; i < kCols / 2; i++)
            sum[i / 4][i % 4] = unscaled(sum[i / 4][i % 4], down);
        if (accumulate)
            add_old(sum, dx, m0, k0, M, K); // all loads before the first store
        if (plain_tile(sum, m0, k0, M, K)) {
#pragma unroll
            for (int h = 0; h < 2; h++) {
                float *at = dx + (m0 + g + 8 * h) * K + k0 + 2 * t;
#pragma unroll
                for (int j = 0; j < kCols / 8; j++)
                    *reinterpret_cast<float2 *>(at + 8 * j) = make_float2(sum[j][2 * h], sum[j][2 * h + 1]);
            }
            return;
        }
#pragma unroll
        for (int j = 0; j < kCols / 8; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                long long m = m0 + g + 8 * h;
                int k = k0 + 8 * j + 2 * t;
                float a = sum[j][2 * h], b = sum[j][2 * h + 1];
                if (m >= M || k >= K)
                    continue;
                if (is_finite(a) && is_finite(b))
                    *reinterpret_cast<float2 *>(dx + m * K + k) = make_float2(a, b);
                else
                    bad |= 1u << (2 * j + h);
            }
        for (; bad; bad &= bad - 1) {
            int bit = __ffs(bad) - 1, k = k0 + bit / 2 * 8 + 2 * t;
            add_plain(dy, w, dx, m0 + g + bit % 2 * 8, k, N, K, accumulate);
        }
    };
    rows_product<kCols, kSlots>(map, map, 1, M, K, N, row_of_w{w, N, K}, done, power_of_two(shift));
}

extern "C" __global__ void __launch_bounds__(kBlock, 1)
    product_wide(const __grid_constant__ TmaDescriptor map, const float *dy, const float *w, float *dx, int M, int N,
                 int K, int accumulate, int shift)
{
    product_rows<kWideCols, 128 / kPiece>(map, dy, w, dx, M, N, K, accumulate, shift);
}

extern "C" __global__ void __launch_bounds__(kBlock, 1)
    product_deep(const __grid_constant__ TmaDescriptor map, const float *dy, const float *w, float *dx, int M, int N,
                 int K, int accumulate, int shift)
{
    product_rows<kDeepCols, kDeepest / kPiece>(map, dy, w, dx, M, N, K, accumulate, shift);
}

extern "C" __global__ void __launch_bounds__(256)
    product_any(const float *dy, const float *w, float *dx, int M, int N, int K, int accumulate, int shift)
{
    float up = power_of_two(shift), down = power_of_two(-shift);
    constexpr int kFew = 64;
    __shared__ float a[kStep][kFew + 4], b[kStep][kFew + 4];
    int t = threadIdx.x, row = t / 16 * 4, column = t % 16 * 4;
    int k0 = blockIdx.x * kFew;
    for (long long m0 = (long long)blockIdx.y * kFew; m0 < M; m0 += (long long)gridDim.y * kFew) {
        float sum[4][4] = {};
        for (int n0 = 0; n0 < N; n0 += kStep) {
            for (int i = t; i < kFew * kStep; i += 256) {
                int r = i / kStep, n = i % kStep;
                bool inside = n0 + n < N;
                a[n][r] = inside && m0 + r < M ? plain_operand(dy[(m0 + r) * N + n0 + n], up) : 0.f;
                b[n][r] = inside && k0 + r < K ? plain_operand(w[(long long)(k0 + r) * N + n0 + n]) : 0.f;
            }
            __syncthreads();
#pragma unroll
            for (int n = 0; n < kStep; n++) {
                float4 u = *reinterpret_cast<const float4 *>(&a[n][row]);
                float4 v = *reinterpret_cast<const float4 *>(&b[n][column]);
                float p[4] = {u.x, u.y, u.z, u.w}, q[4] = {v.x, v.y, v.z, v.w};
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++)
                        sum[i][j] = fmaf(p[i], q[j], sum[i][j]);
            }
            __syncthreads();
        }
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                long long m = m0 + row + i;
                int k = k0 + column + j;
                if (m >= M || k >= K)
                    continue;
                float e = kHalf && !is_finite(sum[i][j]) ? plain_product(dy, w, m, k, N) : unscaled(sum[i][j], down);
                dx[m * K + k] = accumulate ? dx[m * K + k] + e : e;
            }
    }
}
