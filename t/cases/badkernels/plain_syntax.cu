#include <cuda_bf16.h>

extern "C" __global__ void __launch_bounds__(256)
silu_mul(const __nv_bfloat16 *x, __nv_bfloat16 *y, int D)
{
    const __nv_bfloat162 *g = reinterpret_cast<const __nv_bfloat162 *>(x + (size_t)blockIdx.x * 2 * D);
    const __nv_bfloat162 *u = g + D / 2;
    __nv_bfloat162 *o = reinterpret_cast<__nv_bfloat162 *>(y + (size_t)blockIdx.x * D);
    for (int i = threadIdx.x; i < D / 2; i += blockDim.x) {
        float2 a = __bfloat1622float2(g[i]);
        float2 b = __bfloat1622float2(u[i]);
        a.x = a.x / (1.f + __expf(-a.x)) * b.x;
        a.y = a.y / (1.f + __expf(-a.y)) * b.y
        o[i] = __float22bfloat162_rn(a);
    }
}
