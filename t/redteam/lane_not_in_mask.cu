/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// All lanes execute a shuffle whose mask names only lane 0. What the other lanes get is undefined.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    int first = __shfl_sync(1, (int)threadIdx.x, 0);
    if (i < n)
        c[i] = first == 1234 ? 0 : a[i] + b[i];
}
