/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 16)", "cdiv(M, 16)"], "block": [16, 16], "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
// A half-precision product with a half-precision accumulator instead of float.
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half *A, const __half *B, __half *C, int M, int N, int K)
{
    int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
    if (m >= M || n >= N)
        return;
    __half s = __float2half(0.f);
    for (int k = 0; k < K; k++)
        s = __hfma(A[(long long)m * K + k], B[(long long)n * K + k], s);
    C[(long long)m * N + n] = s;
}
