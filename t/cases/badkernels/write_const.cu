#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void inplace_relu(const half_t *x, int n)
{
    Tensor g = make_tensor(make_gmem_ptr(x), make_layout(n));
    Tensor b = local_tile(g, make_shape(_2048{}), make_coord(blockIdx.x));
    Tensor t = local_partition(b, make_layout(_256{}), threadIdx.x);
    CUTE_UNROLL
    for (int i = 0; i < size(t); ++i)
        t(i) = t(i) > half_t(0) ? t(i) : half_t(0);
}
