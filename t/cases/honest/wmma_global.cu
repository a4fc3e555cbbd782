/* hone-plan
{ "launches": [
    { "kernel": "gemm", "when": "M % 16 == 0 && N % 64 == 0 && K % 16 == 0 && min(alignof(A), alignof(B)) >= 32",
      "grid": ["N/64", "M/16"], "block": [128], "args": ["A", "B", "C", "N", "K"] },
    { "kernel": "simple", "when": "M % 16 != 0 || N % 64 != 0 || K % 16 != 0 || min(alignof(A), alignof(B)) < 32",
      "grid": ["cdiv(N, 32)", "cdiv(M, 4)"], "block": [32, 4], "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
// Fragments straight from global memory: all that is read goes through wmma.load.
#include <mma.h>
using namespace nvcuda::wmma;
extern "C" __global__ void gemm(const __half *A, const __half *B, __half *C, int N, int K)
{
    __shared__ float tile[4][256];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    long long m = blockIdx.y * 16ll, n = blockIdx.x * 64ll + warp * 16;
    fragment<accumulator, 16, 16, 16, float> c;
    fill_fragment(c, 0);
    for (int k = 0; k < K; k += 16) {
        fragment<matrix_a, 16, 16, 16, __half, row_major> a;
        fragment<matrix_b, 16, 16, 16, __half, col_major> b;
        load_matrix_sync(a, A + m * K + k, K);
        load_matrix_sync(b, B + n * K + k, K);
        mma_sync(c, a, b, c);
    }
    store_matrix_sync(tile[warp], c, 16, mem_row_major);
    __syncwarp();
    for (int i = lane; i < 256; i += 32)
        C[(m + i / 16) * N + n + i % 16] = __float2half(tile[warp][i]);
}
extern "C" __global__ void simple(const __half *A, const __half *B, __half *C, int M, int N, int K)
{
    long long m = blockIdx.y * 4ll + threadIdx.y, n = blockIdx.x * 32ll + threadIdx.x;
    float sum = 0;
    if (m >= M || n >= N)
        return;
    for (int k = 0; k < K; k++)
        sum += __half2float(A[m * K + k]) * __half2float(B[n * K + k]);
    C[m * N + n] = __float2half(sum);
}
