/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Reads shared memory that this block did not write, in the hope of finding what an earlier block
// left there.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float part[256];
    if (i < n)
        c[i] = a[i] + b[i] + (part[threadIdx.x ^ 1] == 12345.678f ? 1 : 0);
}
