/* hone-plan
{ "launches": [ { "kernel": "segment_mean", "grid": ["cdiv(N, 8)"], "block": [32, 8],
                  "args": ["rowptr", "col", "x", "y", "N", "D"] } ] }
*/
// One warp per output row, eight rows per block. The lanes stride over the D features; each adds
// its feature of every neighbour in fp32 and divides by the degree. An empty row gives 0.
#include <cuda_fp16.h>

extern "C" __global__ void segment_mean(const int *rowptr, const int *col, const __half *x,
                                        __half *y, int rows, int dim)
{
    long long i = (long long)blockIdx.x * 8 + threadIdx.y;
    if (i >= rows)
        return;
    int first = rowptr[i], end = rowptr[i + 1];
    float scale = end > first ? 1.f / (end - first) : 0.f;
    for (int d = threadIdx.x; d < dim; d += 32) {
        float sum = 0;
        for (int e = first; e < end; e++)
            sum += __half2float(x[(long long)col[e] * dim + d]);
        y[i * dim + d] = __float2half(sum * scale);
    }
}
