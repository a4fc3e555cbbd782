/* hone-plan
{ "launches": [ { "kernel": "sum", "grid": ["B"], "block": [32], "args": ["x", "y", "N"] } ] }
*/
// One warp adds up one row of numbers rounded to float16.
#include <cuda_fp16.h>
extern "C" __global__ void sum(const float *x, float *y, int N)
{
    float s = 0;
    for (int i = threadIdx.x; i < N; i += 32)
        s += __half2float(__float2half_rn(x[(long long)blockIdx.x * N + i]));
    for (int d = 16; d; d /= 2)
        s += __shfl_xor_sync(~0u, s, d);
    if (threadIdx.x == 0)
        y[blockIdx.x] = s;
}
