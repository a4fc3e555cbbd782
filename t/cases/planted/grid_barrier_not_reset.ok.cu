/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": [4], "block": [32], "cooperative": true,
                  "args": ["A", "x", "y", "part", "count", "K"] } ],
  "workspace": {"part": {"bytes": 32}, "count": {"bytes": 4, "init": "zero"}} }
*/
__device__ void grid_barrier(unsigned *count, unsigned target)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (*(volatile unsigned *)count < target);
        __threadfence();
    }
    __syncthreads();
}
// Every block sums a quarter, the first adds up, the last writes.
extern "C" __global__ void matvec(const float *A, const float *x, float *y, float *part, unsigned *count, int K)
{
    float sum = 0;
    for (int k = blockIdx.x * 32 + threadIdx.x; k < K; k += 128)
        sum += A[k] * x[k];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0)
        part[blockIdx.x] = sum;
    grid_barrier(count, gridDim.x);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        part[4] = part[0] + part[1] + part[2] + part[3];
    grid_barrier(count, 2 * gridDim.x);
    if (blockIdx.x == 3 && threadIdx.x == 0)
        y[0] = part[4];
}
