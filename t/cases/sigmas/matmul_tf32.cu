/* hone-plan
{ "launches": [ { "kernel": "matmul", "grid": ["cdiv(N, 16)", "cdiv(M, 16)"], "block": [16, 16],
                  "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
// C = A * B. Each 16x16 block makes a 16x16 tile of C, one element per thread. It walks along K in
// steps of 16: the block loads a 16x16 tile of A and one of B into shared memory (zeros outside the
// matrices), then every thread adds 16 products. Each loaded element is used 16 times.
#define T 16

extern "C" __global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float a[T][T], b[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int m = blockIdx.y * T + ty, n = blockIdx.x * T + tx;
    float sum = 0;

    for (int k0 = 0; k0 < K; k0 += T) {
        a[ty][tx] = m < M && k0 + tx < K ? A[(long long)m * K + k0 + tx] : 0.f;
        b[ty][tx] = n < N && k0 + ty < K ? B[(long long)(k0 + ty) * N + n] : 0.f;
        __syncthreads();
        for (int i = 0; i < T; i++)
            sum += __uint_as_float(__float_as_uint(a[ty][i]) + 0x1000 & 0xffffe000u) * __uint_as_float(__float_as_uint(b[i][tx]) + 0x1000 & 0xffffe000u);
        __syncthreads();
    }
    if (m < M && n < N)
        C[(long long)m * N + n] = sum;
}
