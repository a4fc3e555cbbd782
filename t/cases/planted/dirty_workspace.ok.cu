/* hone-plan
{ "launches": [ { "kernel": "partial", "grid": ["4", "M"], "block": [128], "args": ["A", "x", "acc", "K"] },
                { "kernel": "finish", "grid": ["cdiv(M, 64)"], "block": [64], "args": ["acc", "y", "M"] } ],
  "workspace": { "acc": { "bytes": "4*M", "init": "zero" } } }
*/
// Split K four ways; the parts meet in a workspace by atomics.
extern "C" __global__ void partial(const float *A, const float *x, float *acc, int K)
{
    float sum = 0;
    for (int k = blockIdx.x * 128 + threadIdx.x; k < K; k += 512)
        sum += A[(long long)blockIdx.y * K + k] * x[k];
    atomicAdd(acc + blockIdx.y, sum);
}
extern "C" __global__ void finish(const float *acc, float *y, int M)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < M)
        y[i] = acc[i];
}
