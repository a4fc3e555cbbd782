/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["align(cdiv(N, 256), 64)"], "block": [256], "cluster": [64, 1, 1], "args": ["a", "b", "c", "N"] } ] }
*/
// A cluster larger than any GPU has.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
