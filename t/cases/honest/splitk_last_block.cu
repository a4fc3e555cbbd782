/* hone-plan
{ "launches": [ { "kernel": "matmul", "grid": ["cdiv(N, 16)", "cdiv(M, 16)", "cdiv(K, 32)"], "block": [16, 16],
                  "args": ["A", "B", "C", "partial", "arrived", "M", "N", "K"] } ],
  "workspace": { "partial": { "bytes": "4*M*N*cdiv(K, 32)", "init": "none" },
                 "arrived": { "bytes": "4*cdiv(N, 16)*cdiv(M, 16)", "init": "zero" } } }
*/
// Split-K in one launch: every block leaves its partial tile in the workspace, and the last one to
// arrive (a counter, behind a fence) adds them up.
extern "C" __global__ void matmul(const float *A, const float *B, float *C, float *partial,
                                  unsigned *arrived, int M, int N, int K)
{
    __shared__ bool last;
    int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
    int k0 = blockIdx.z * 32, k1 = min(K, k0 + 32);
    bool mine = m < M && n < N;
    if (mine) {
        float sum = 0;
        for (int k = k0; k < k1; k++)
            sum += A[(long long)m * K + k] * B[(long long)k * N + n];
        partial[((long long)blockIdx.z * M + m) * N + n] = sum;
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0)
        last = atomicAdd(&arrived[blockIdx.y * gridDim.x + blockIdx.x], 1u) == gridDim.z - 1;
    __syncthreads();
    if (!last || !mine)
        return;
    __threadfence();
    float sum = 0;
    for (int z = 0; z < (int)gridDim.z; z++)
        sum += __ldcg(&partial[((long long)z * M + m) * N + n]);
    C[(long long)m * N + n] = sum;
}
