/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["min(132, cdiv(N, 256))"], "block": [256], "args": ["a", "b", "c", "N", "next"] } ],
  "workspace": { "next": { "bytes": "4", "init": "zero" } } }
*/
// Persistent blocks take tiles from a counter until none are left.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n, unsigned *next)
{
    __shared__ unsigned tile;
    for (;;) {
        if (threadIdx.x == 0)
            tile = atomicAdd(next, 1u);
        __syncthreads();
        long long first = (long long)tile * 256, i = first + threadIdx.x;
        if (first >= n)
            return;
        if (i < n)
            c[i] = a[i] + b[i];
        __syncthreads(); // tile is used again
    }
}
