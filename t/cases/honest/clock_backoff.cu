/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N", "lock"] } ],
  "workspace": { "lock": { "bytes": "8", "init": "zero" } } }
*/
// A lock with a backoff by the clock, around a counter; the sums do not depend on either.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n, int *lock)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
    if (threadIdx.x)
        return;
    while (atomicCAS(lock, 0, 1) != 0) {
        long long t = clock64();
        while (clock64() - t < 100)
            ;
        __nanosleep(20);
    }
    __threadfence();
    lock[1] += 1;
    __threadfence();
    atomicExch(lock, 0);
}
