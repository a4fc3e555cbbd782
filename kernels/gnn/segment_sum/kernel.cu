/* hone-plan
{ "launches": [
    { "kernel": "segment4", "grid": ["cdiv(N, kWarps)"], "block": [32, "kWarps"],
      "args": ["row", "col", "x", "y", "N", "D/4", "MEAN"],
      "when": "D % 4 == 0 && alignof(x) >= 16 && alignof(y) >= 16" },
    { "kernel": "segment1", "grid": ["cdiv(N, kWarps)"], "block": [32, "kWarps"],
      "args": ["row", "col", "x", "y", "N", "D", "MEAN"],
      "when": "!(D % 4 == 0 && alignof(x) >= 16 && alignof(y) >= 16)" } ] }
*/
// One warp for each target. The lanes stride over the features, in groups of four where the addresses allow
// it. Loads of kAtOnce rows are in flight at a time. The kernel waits for memory, so it can afford Kahan's
// compensated sum: a target with thousands of neighbours gets the same precision as one with ten.
constexpr int kAtOnce = 4; // hone: 2 4 8
constexpr int kWarps = 8;  // hone: 4 8 16

#include "../parts/kahan.cuh"

template <class T>
__device__ __forceinline__ void segment(const int *row, const int *col, const T *x, T *y, int targets,
                                        int dim, int mean)
{
    long long i = (long long)blockIdx.x * kWarps + threadIdx.y;
    if (i >= targets)
        return;
    int first = row[i], end = row[i + 1];
    float factor = mean && end > first ? 1.f / (float)(end - first) : 1.f;
    for (int d = threadIdx.x; d < dim; d += 32) {
        lanes<T> sum;
        int e = first;
        for (; e + kAtOnce <= end; e += kAtOnce) {
            T v[kAtOnce];
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                v[k] = x[(long long)col[e + k] * dim + d];
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                sum.add(v[k]);
        }
        for (; e < end; e++)
            sum.add(x[(long long)col[e] * dim + d]);
        y[i * dim + d] = sum.times(factor);
    }
}

extern "C" __global__ void segment4(const int *row, const int *col, const float4 *x, float4 *y,
                                    int targets, int dim, int mean)
{
    segment(row, col, x, y, targets, dim, mean);
}

extern "C" __global__ void segment1(const int *row, const int *col, const float *x, float *y,
                                    int targets, int dim, int mean)
{
    segment(row, col, x, y, targets, dim, mean);
}
