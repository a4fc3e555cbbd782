/* hone-plan
{ "launches": [ { "kernel": "product", "grid": ["N", "M"], "block": [32], "args": ["A", "B", "C", "N", "K"] } ] }
*/
// One warp computes one element. Each operand is the sum of two float16 numbers, which together have
// almost the mantissa of float32, but not its range.
#include <cuda_fp16.h>

__device__ float in_halves(float x)
{
    __half high = __float2half_rn(x), low = __float2half_rn(x - __half2float(high));
    return __half2float(high) + __half2float(low);
}

extern "C" __global__ void product(const float *A, const float *B, float *C, int N, int K)
{
    double sum = 0;
    for (int k = threadIdx.x; k < K; k += 32)
        sum += in_halves(A[(long long)blockIdx.y * K + k]) * in_halves(B[(long long)k * N + blockIdx.x]);
    for (int d = 16; d; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0)
        C[(long long)blockIdx.y * N + blockIdx.x] = (float)sum;
}
