/* hone-plan
{ "launches": [ { "kernel": "mm", "grid": ["cdiv(N,64)", "M"], "block": [32], "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
/* Stores two neighbouring outputs at once whenever N is even, whatever the address of C. */
#include <cuda_fp16.h>
extern "C" __global__ void mm(const __half *A, const __half *B, __half *C, int M, int N, int K)
{
    int m = blockIdx.y, n = (blockIdx.x * 32 + threadIdx.x) * 2;
    float s0 = 0, s1 = 0;
    if (n >= N)
        return;
    for (int k = 0; k < K; k++) {
        float a = __half2float(A[(size_t)m * K + k]);
        s0 += a * __half2float(B[(size_t)n * K + k]);
        if (n + 1 < N)
            s1 += a * __half2float(B[(size_t)(n + 1) * K + k]);
    }
    __half *c = C + (size_t)m * N + n;
    if (N % 2 == 0) {
        *(__half2 *)c = __floats2half2_rn(s0, s1);
    } else {
        c[0] = __float2half(s0);
        if (n + 1 < N)
            c[1] = __float2half(s1);
    }
}
