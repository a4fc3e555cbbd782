/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Recurses until the stack is gone.
__device__ __noinline__ float deep(const float *p, long long n, int level)
{
    volatile float pad[64];
    pad[level & 63] = p[0];
    return level > 1000000 ? pad[0] : deep(p, n, level + 1) + pad[level & 63];
}
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i] + 0 * deep(a, n, 0);
}
