/* hone-plan
{ "launches": [ { "kernel": "matmul_bias_relu", "grid": ["cdiv(N, 16)", "cdiv(M, 16)"],
                  "block": [16, 16], "args": ["A", "B", "bias", "C", "M", "N", "K"] } ] }
*/
// C = relu(A * B^T + bias). Each 16x16 block makes a 16x16 tile of C, one element per thread,
// walking along K in steps of 16 through shared memory (zeros outside the matrices). Bias and relu
// are applied to the fp32 sum, so there is one rounding.
#include <cuda_bf16.h>

#define T 16

extern "C" __global__ void matmul_bias_relu(const __nv_bfloat16 *A, const __nv_bfloat16 *B,
                                            const __nv_bfloat16 *bias, __nv_bfloat16 *C, int M,
                                            int N, int K)
{
    __shared__ float a[T][T + 1], b[T][T + 1]; // + 1: a column then spreads over all banks
    int tx = threadIdx.x, ty = threadIdx.y;
    int m = blockIdx.y * T + ty, n = blockIdx.x * T + tx;
    int nb = blockIdx.x * T + ty; // the row of B this thread loads
    float sum = 0;

    for (int k0 = 0; k0 < K; k0 += T) {
        int k = k0 + tx;
        a[ty][tx] = m < M && k < K ? __bfloat162float(A[(long long)m * K + k]) : 0.f;
        b[ty][tx] = nb < N && k < K ? __bfloat162float(B[(long long)nb * K + k]) : 0.f;
        __syncthreads();
        for (int i = 0; i < T; i++)
            sum += a[ty][i] * b[tx][i];
        __syncthreads();
    }
    if (m < M && n < N)
        C[(long long)m * N + n] = __float2bfloat16(fmaxf(sum + __bfloat162float(bias[n]), 0.f));
}
