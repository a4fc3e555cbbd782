/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": [8], "block": [32],
                  "args": ["A", "x", "y", "work", "K"] } ],
  "workspace": {"work": {"bytes": 12, "init": "zero"}} }
*/
// One row over eight blocks, which add up under a lock; the last writes.
struct Work {
    int lock, count;
    float sum;
};
extern "C" __global__ void matvec(const float *A, const float *x, float *y, void *work, int K)
{
    volatile Work *w = (volatile Work *)work;
    float sum = 0;
    for (int k = blockIdx.x * 32 + threadIdx.x; k < K; k += 256)
        sum += A[k] * x[k];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x != 0)
        return;
    while (atomicCAS((int *)work, 0, 1) != 0);
    __threadfence();
    w->sum = w->sum + sum;
    w->count = w->count + 1;
    if (w->count == gridDim.x)
        y[0] = w->sum;
    __threadfence();
    atomicExch((int *)work, 0);
}
