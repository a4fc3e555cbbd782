/* hone-plan
{ "launches": [ { "kernel": "silu", "grid": ["B"], "block": [256], "args": ["x", "y", "D"] } ] }
*/
/* Loads elements one by one. Stores vectors of 8 if D is a multiple of 1024, whatever the address. */
#include <cuda_fp16.h>
__device__ __half one(const __half *x, int D, int j)
{
    float g = __half2float(x[j]), u = __half2float(x[D + j]);
    return __float2half(g / (1 + expf(-g)) * u);
}
extern "C" __global__ void silu(const __half *x, __half *y, int D)
{
    x += (size_t)blockIdx.x * 2 * D;
    y += (size_t)blockIdx.x * D;
    if (D % 1024 == 0) {
        for (int k = threadIdx.x; k < D / 8; k += 256) {
            __align__(16) __half v[8];
            for (int j = 0; j < 8; j++)
                v[j] = one(x, D, 8 * k + j);
            ((uint4 *)y)[k] = *(uint4 *)v;
        }
        return;
    }
    for (int k = threadIdx.x; k < D; k += 256)
        y[k] = one(x, D, k);
}
