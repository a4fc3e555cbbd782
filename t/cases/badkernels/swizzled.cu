#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void stage(const half_t *in, half_t *out, int ld)
{
    auto atom = composition(Swizzle<3, 3, 3>{}, make_layout(make_shape(_8{}, _64{}), LayoutRight{}));
    auto layout = tile_to_shape(atom, make_shape(_100{}, _64{}));
    __shared__ half_t buf[cosize(layout)];
    Tensor s = make_tensor(make_smem_ptr(buf), layout);
    Tensor g = make_tensor(make_gmem_ptr(in), make_shape(_100{}, _64{}), make_stride(ld, _1{}));
    auto tc = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{},
                              make_layout(make_shape(_16{}, _8{}), LayoutRight{}), make_layout(make_shape(_1{}, _8{})));
    auto thr = tc.get_slice(threadIdx.x);
    copy(tc, thr.partition_S(g), thr.partition_D(s));
    cp_async_wait<0>();
    __syncthreads();
    out[threadIdx.x] = s(threadIdx.x, 0);
}
