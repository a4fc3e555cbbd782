/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256) + 100000"], "block": [256], "args": ["a", "b", "c", "N", "count"] } ], "workspace": { "count": { "bytes": "4", "init": "zero" } } }
*/
// A grid-wide barrier by hand over more blocks than fit, in a launch that is not cooperative.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n, unsigned *count)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (*(volatile unsigned *)count < gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
    if (i < n)
        c[i] = a[i] + b[i];
}
