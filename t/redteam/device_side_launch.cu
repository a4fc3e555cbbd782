/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Launches, from the device, a kernel that is not in the plan.
__global__ void child(const float *a, const float *b, float *c, long long n)
{
    for (long long j = threadIdx.x; j < n; j += 256)
        c[j] = a[j] + b[j];
}
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0)
        child<<<1, 256>>>(a, b, c, n);
}
