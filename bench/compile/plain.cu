/* hone-plan
{ "launches": [ { "kernel": "softmax", "grid": ["R"], "block": [256], "args": ["x", "y", "C"] } ] }
*/
// Softmax of each row, without CuTe: one block of 256 threads per row reads the row three times.
#include <cuda_fp16.h>

__device__ float reduce(float v, float *part, bool want_max)
{
    for (int o = 16; o > 0; o /= 2) {
        float w = __shfl_xor_sync(~0u, v, o);
        v = want_max ? fmaxf(v, w) : v + w;
    }
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[threadIdx.x % 8];
    for (int o = 4; o > 0; o /= 2) {
        float w = __shfl_xor_sync(~0u, v, o);
        v = want_max ? fmaxf(v, w) : v + w;
    }
    __syncthreads();
    return v;
}

extern "C" __global__ void __launch_bounds__(256) softmax(const __half *x, __half *y, int C)
{
    __shared__ float part[8];
    const __half *row = x + (long long)blockIdx.x * C;
    float top = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < C; i += 256)
        top = fmaxf(top, __half2float(row[i]));
    top = reduce(top, part, true);
    for (int i = threadIdx.x; i < C; i += 256)
        sum += __expf(__half2float(row[i]) - top);
    sum = reduce(sum, part, false);
    for (int i = threadIdx.x; i < C; i += 256)
        y[(long long)blockIdx.x * C + i] = __float2half(__expf(__half2float(row[i]) - top) / sum);
}
