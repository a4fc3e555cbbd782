/* hone-plan
{ "launches": [ { "kernel": "gelu", "grid": ["cdiv(N,1024)"], "block": [256],
                  "args": ["x", "y", "N"] } ] }
*/
// GELU with CuTe: each block takes a tile of 1024 elements, each thread four of them.
#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void __launch_bounds__(256) gelu(const float *x, float *y, int n)
{
    auto tiler = make_shape(Int<1024>{});
    Tensor gx = make_tensor(make_gmem_ptr(x), make_layout(n));
    Tensor gy = make_tensor(make_gmem_ptr(y), make_layout(n));
    Tensor bx = local_tile(gx, tiler, make_coord(blockIdx.x));
    Tensor by = local_tile(gy, tiler, make_coord(blockIdx.x));
    Tensor index = local_tile(make_identity_tensor(make_shape(n)), tiler, make_coord(blockIdx.x));
    auto threads = make_layout(Int<256>{});
    Tensor tx = local_partition(bx, threads, threadIdx.x);
    Tensor ty = local_partition(by, threads, threadIdx.x);
    Tensor ti = local_partition(index, threads, threadIdx.x);
    Tensor r = make_fragment_like(tx);
    CUTE_UNROLL
    for (int i = 0; i < size(r); ++i)
        if (get<0>(ti(i)) < n)
            r(i) = tx(i);
    CUTE_UNROLL
    for (int i = 0; i < size(r); ++i)
        r(i) = 0.5f * r(i) * (1.0f + erff(r(i) * 0.70710678f));
    CUTE_UNROLL
    for (int i = 0; i < size(r); ++i)
        if (get<0>(ti(i)) < n)
            ty(i) = r(i);
}
