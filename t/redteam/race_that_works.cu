/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Exchanges data through shared memory without a barrier.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float part[256];
    part[threadIdx.x] = i < n ? a[i] : 0;
    float other = part[threadIdx.x ^ 64]; // another warp's, perhaps not written yet
    if (i < n)
        c[i] = a[i] + b[i] + (other == 12345.678f ? 1 : 0);
}
