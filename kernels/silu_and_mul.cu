/* hone-plan
{ "launches": [ { "kernel": "silu_and_mul", "grid": ["cdiv(B*D, 256)"], "block": [256],
                  "args": ["x", "y", "B", "D"] } ] }
*/
// One thread per output element (row, j): the gate is x[row, j], the factor x[row, D + j].
#include <cuda_fp16.h>

extern "C" __global__ void silu_and_mul(const __half *x, __half *y, int rows, int dim)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)rows * dim)
        return;
    long long row = i / dim, j = i % dim;
    float gate = __half2float(x[row * 2 * dim + j]);
    float up = __half2float(x[row * 2 * dim + dim + j]);
    y[i] = __float2half(gate / (1.f + expf(-gate)) * up);
}
