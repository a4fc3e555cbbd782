/* hone-plan
{ "launches": [
    { "kernel": "segment4", "grid": ["cdiv(N, kWarps)"], "block": [32, "kWarps"],
      "args": ["row", "col", "node", "x", "y", "N", "D/4", "MEAN"],
      "when": "D % 4 == 0 && alignof(x) >= 8 && alignof(y) >= 16" },
    { "kernel": "segment1", "grid": ["cdiv(N, kWarps)"], "block": [32, "kWarps"],
      "args": ["row", "col", "node", "x", "y", "N", "D", "MEAN"],
      "when": "!(D % 4 == 0 && alignof(x) >= 8 && alignof(y) >= 16)" } ] }
*/
// One warp for each target. The lanes stride over the features, in groups of four where the addresses allow it.
// Loads of kAtOnce rows are in flight at a time. The sum is compensated, as that of segment_sum, and has its bits.
#include <cuda_fp16.h>

#include "../parts/kahan.cuh"

constexpr int kAtOnce = 8; // hone: 4 8 16
constexpr int kWarps = 8;  // hone: 4 8 16

__device__ __forceinline__ float to_float(__half v)
{
    return __half2float(v);
}

__device__ __forceinline__ float4 to_float(uint2 v)
{
    const __half2 *h = reinterpret_cast<const __half2 *>(&v);
    float2 a = __half22float2(h[0]), b = __half22float2(h[1]);
    return make_float4(a.x, a.y, b.x, b.y);
}

// S: some features in the table. T: as many in y.
template <class S, class T>
__device__ __forceinline__ void segment(const int *row, const int *col, const int *node, const S *x, T *y, int targets,
                                        int dim, int mean)
{
    long long i = (long long)blockIdx.x * kWarps + threadIdx.y;
    if (i >= targets)
        return;
    int first = row[i], end = row[i + 1];
    float factor = mean && end > first ? 1.f / (float)(end - first) : 1.f;
    for (int d = threadIdx.x; d < dim; d += 32) {
        lanes<T> sum;
        for (int e = first; e < end; e += kAtOnce) {
            int id[kAtOnce];
            S v[kAtOnce];
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                id[k] = col[min(e + k, end - 1)];
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                id[k] = node[id[k]];
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                if (e + k < end)
                    v[k] = x[(long long)id[k] * dim + d];
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                if (e + k < end)
                    sum.add(to_float(v[k]));
        }
        y[i * dim + d] = sum.times(factor);
    }
}

extern "C" __global__ void segment4(const int *row, const int *col, const int *node, const uint2 *x, float4 *y,
                                    int targets, int dim, int mean)
{
    segment(row, col, node, x, y, targets, dim, mean);
}

extern "C" __global__ void segment1(const int *row, const int *col, const int *node, const __half *x, float *y,
                                    int targets, int dim, int mean)
{
    segment(row, col, node, x, y, targets, dim, mean);
}
