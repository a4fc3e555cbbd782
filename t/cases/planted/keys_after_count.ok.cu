/* hone-plan
{ "launches": [ { "kernel": "partial", "grid": ["M", 4], "block": [32], "args": ["A", "x", "work", "M", "K"] },
                { "kernel": "finish", "grid": ["cdiv(M, 32)"], "block": [32], "args": ["work", "y", "M"] } ],
  "workspace": { "work": { "bytes": "8 + 8*M", "init": "zero" } } }
*/
// The workspace: how many blocks took part, then a sum per row.
__device__ double *sums(void *work)
{
    return (double *)((int *)work + 2);
}
extern "C" __global__ void partial(const float *A, const float *x, void *work, int M, int K)
{
    int row = blockIdx.x;
    double sum = 0;
    for (int k = blockIdx.y * 32 + threadIdx.x; k < K; k += 128)
        sum += (double)A[(long long)row * K + k] * x[k];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0) {
        atomicAdd((int *)work, 1);
        atomicAdd(sums(work) + row, sum);
    }
}
extern "C" __global__ void finish(void *work, float *y, int M)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i < M)
        y[i] = (float)sums(work)[i];
}
