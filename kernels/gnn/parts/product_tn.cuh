// The result is small and the sum over M is long, so up to 128 blocks share the rows of each tile.
// add_parts adds their sums in order: the same call gives the same bits. product_vec makes tiles of
// 128 x 64 elements on the tensor cores; cp.async brings pieces of x and dy into a ring of stages. Other
// addresses and sizes, and short sums, take product_any, with plain arithmetic and tiles of 64 x 64.
constexpr bool kTurnedA = true, kTurnedB = false;
#include "tf32_tile.cuh"

// Element i of x^T dy by plain arithmetic.
__device__ __noinline__ float plain_product(const float *x, const float *dy, long long i, int M, int N, int K)
{
    long long k = i / N, n = i % N;
    float sum = 0;
    for (long long m = 0; m < M; m++)
        sum += x[m * K + k] * dy[m * N + n];
    return sum;
}

extern "C" __global__ void __launch_bounds__(128, 3)
    product_vec(const float *x, const float *dy, float *partial, int M, int N, int K)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
    int n0 = blockIdx.x * kWide, k0 = blockIdx.y * kHigh;
    long long share = ((M + gridDim.z - 1) / gridDim.z + kStep - 1) / kStep * kStep;
    long long first = blockIdx.z * share, end = min((long long)M, first + share);
    sums sum = {};
    tile_product(sum, x, dy, k0, n0, K, N, first, end, M);
    partial += (long long)blockIdx.z * K * N;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int c = 0; c < 4; c++) {
                int k = k0 + warp / 2 * 64 + 16 * i + g + c / 2 * 8;
                int n = n0 + warp % 2 * 32 + 8 * j + 2 * t + c % 2;
                if (k < K && n < N)
                    partial[(long long)k * N + n] = sum[i][j][c];
            }
}

extern "C" __global__ void __launch_bounds__(256)
    product_any(const float *x, const float *dy, float *partial, int M, int N, int K)
{
    constexpr int kFew = 64;
    __shared__ float a[kStep][kFew], b[kStep][kFew];
    int t = threadIdx.x, row = t / 16 * 4, column = t % 16 * 4;
    int n0 = blockIdx.x * kFew, k0 = blockIdx.y * kFew;
    int share = ((M + gridDim.z - 1) / gridDim.z + kStep - 1) / kStep * kStep;
    long long first = (long long)blockIdx.z * share, end = min((long long)M, first + share);
    float sum[4][4] = {};
    for (long long m0 = first; m0 < end; m0 += kStep) {
        for (int i = t; i < kFew * kStep; i += 256) {
            int m = i / kFew, c = i % kFew;
            bool inside = m0 + m < end;
            a[m][c] = inside && k0 + c < K ? x[(m0 + m) * K + k0 + c] : 0.f;
            b[m][c] = inside && n0 + c < N ? dy[(m0 + m) * N + n0 + c] : 0.f;
        }
        __syncthreads();
#pragma unroll
        for (int m = 0; m < kStep; m++) {
            float4 u = *reinterpret_cast<const float4 *>(&a[m][row]);
            float4 v = *reinterpret_cast<const float4 *>(&b[m][column]);
            float p[4] = {u.x, u.y, u.z, u.w}, q[4] = {v.x, v.y, v.z, v.w};
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] = fmaf(p[i], q[j], sum[i][j]);
        }
        __syncthreads();
    }
    partial += (long long)blockIdx.z * K * N;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (k0 + row + i < K && n0 + column + j < N)
                partial[(long long)(k0 + row + i) * N + n0 + column + j] = sum[i][j];
}

extern "C" __global__ void add_parts(const float *x, const float *dy, const float *partial, float *dw, int M,
                                     int N, int K, int parts)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, size = (long long)K * N;
    if (i >= size)
        return;
    float sum = 0;
#pragma unroll 8
    for (int p = 0; p < parts; p++)
        sum += partial[p * size + i];
    dw[i] = is_finite(sum) ? sum : plain_product(x, dy, i, M, N, K);
}
