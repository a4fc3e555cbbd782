/* hone-plan
{ "launches": [ { "kernel": "zero", "grid": ["cdiv(M, 64)"], "block": [64], "args": ["y", "M"] },
                { "kernel": "partial", "grid": ["4", "M"], "block": [32], "args": ["A", "x", "y", "K"] } ] }
*/
extern "C" __global__ void zero(float *y, int M)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < M)
        y[i] = 0;
}
extern "C" __global__ void partial(const float *A, const float *x, float *y, int K)
{
    float sum = 0;
    for (int k = blockIdx.x * 32 + threadIdx.x; k < K; k += 128)
        sum += A[(long long)blockIdx.y * K + k] * x[k];
    for (int o = 16; o; o /= 2)
        sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x == 0)
        atomicAdd(&y[blockIdx.y], sum);
}
