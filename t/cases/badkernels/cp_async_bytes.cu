#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void stage_half(const half_t *x, half_t *y)
{
    __shared__ half_t buf[64 * 64];
    Tensor g = make_tensor(make_gmem_ptr(x), Shape<_64, _64>{}, Stride<_64, _1>{});
    Tensor s = make_tensor(make_smem_ptr(buf), Shape<_64, _64>{}, Stride<_64, _1>{});
    auto tc = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint64_t>, half_t>{},
                              Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{});
    auto t = tc.get_slice(threadIdx.x);
    copy(tc, t.partition_S(g), t.partition_D(s));
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
    y[threadIdx.x] = s(threadIdx.x % 64, 0);
}
