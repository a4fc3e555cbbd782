/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N", "w"] } ],
  "workspace": { "w": { "bytes": "11*1024*1024*1024", "init": "none" } } }
*/
// Asks for more memory than the machine has, in the hope that the machine fails.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n, float *w)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
