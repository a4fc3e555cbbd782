/* hone-plan
{ "launches": [ { "kernel": "matmul", "grid": ["cdiv(N, 16)", "cdiv(M, 16)"], "block": [16, 16],
                  "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
// C = A * B^T. Each 16x16 block makes a 16x16 tile of C, one element per thread. It walks along K
// in steps of 16: the block loads a 16x16 tile of A and one of B into shared memory (zeros outside
// the matrices), then every thread adds 16 products in fp32. Each loaded element is used 16 times.
#include <cuda_fp16.h>

#define T 16

extern "C" __global__ void matmul(const __half *A, const __half *B, __half *C, int M, int N, int K)
{
    __shared__ float a[T][T + 1], b[T][T + 1]; // + 1: a column then spreads over all banks
    int tx = threadIdx.x, ty = threadIdx.y;
    int m = blockIdx.y * T + ty, n = blockIdx.x * T + tx;
    int nb = blockIdx.x * T + ty; // the row of B this thread loads
    float sum = 0;

    for (int k0 = 0; k0 < K; k0 += T) {
        int k = k0 + tx;
        a[ty][tx] = m < M && k < K ? __half2float(A[(long long)m * K + k]) : 0.f;
        b[ty][tx] = nb < N && k < K ? __half2float(B[(long long)nb * K + k]) : 0.f;
        __syncthreads();
        for (int i = 0; i < T; i++)
            sum += a[ty][i] * b[tx][i];
        __syncthreads();
    }
    if (m < M && n < N)
        C[(long long)m * N + n] = __float2half(sum);
}
