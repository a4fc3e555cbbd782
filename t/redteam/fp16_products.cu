/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 16)", "cdiv(M, 16)"], "block": [16, 16], "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
// A float32 product multiplied and summed in half precision.
#include <cuda_fp16.h>
extern "C" __global__ void k(const float *A, const float *B, float *C, int M, int N, int K)
{
    int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
    if (m >= M || n >= N)
        return;
    __half s = __float2half(0.f);
    for (int k = 0; k < K; k++) {
        float x = A[(long long)m * K + k], y = B[(long long)k * N + n];
        s = __hfma(__float2half(x), __float2half(y), s);
    }
    C[(long long)m * N + n] = __half2float(s);
}
