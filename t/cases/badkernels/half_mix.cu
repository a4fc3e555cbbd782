#include <cute/tensor.hpp>
#include <cuda_fp16.h>
using namespace cute;

extern "C" __global__ void add_half(const __half *a, const __half *b, half_t *c, int n)
{
    Tensor ga = make_tensor(make_gmem_ptr(a), make_layout(n));
    Tensor gb = make_tensor(make_gmem_ptr(b), make_layout(n));
    Tensor gc = make_tensor(make_gmem_ptr(c), make_layout(n));
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    half_t va = ga(i), vb = gb(i);
    gc(i) = va + vb * __float2half(0.5f);
}
