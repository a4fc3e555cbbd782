/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": [8], "block": [32],
                  "args": ["A", "x", "y", "part", "count", "K"] } ],
  "workspace": {"part": {"bytes": 32}, "count": {"bytes": 4, "init": "zero"}} }
*/
// One row over eight blocks; the block that comes last adds up. The ticket orders the sums.
extern "C" __global__ void matvec(const float *A, const float *x, float *y, float *part, unsigned *count, int K)
{
    float sum = 0;
    for (int k = blockIdx.x * 32 + threadIdx.x; k < K; k += 256)
        sum += A[k] * x[k];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x != 0)
        return;
    part[blockIdx.x] = sum;
    unsigned ticket;
    asm volatile("atom.acq_rel.cta.global.add.u32 %0, [%1], 1;" : "=r"(ticket) : "l"(count) : "memory");
    if (ticket == gridDim.x - 1) {
        float total = 0;
        for (int i = 0; i < 8; i++)
            total += part[i];
        y[0] = total;
    }
}
