/* hone-plan
{ "launches": [ { "kernel": "transpose", "grid": ["N/32", "M/32"], "block": [256],
                  "args": ["x", "y", "M", "N"] } ] }
*/
#include <cute/tensor.hpp>
using namespace cute;

constexpr int kPitch = 36;
extern "C" __global__ void transpose(const float *x, float *y, int M, int N)
{
    __shared__ alignas(128) float smem[32 * kPitch];
    Tensor mX = make_tensor(make_gmem_ptr(x), make_shape(M, N), LayoutRight{});
    Tensor mY = make_tensor(make_gmem_ptr(y), make_shape(N, M), LayoutRight{});
    Tensor gX = local_tile(mX, Shape<_32, _32>{}, make_coord(blockIdx.y, blockIdx.x));
    Tensor gY = local_tile(mY, Shape<_32, _32>{}, make_coord(blockIdx.x, blockIdx.y));
    Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<Int<kPitch>, _1>>{});
    Tensor st = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<_1, Int<kPitch>>>{});
    auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
                                 Layout<Shape<_32, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{});
    auto mine = tiled.get_slice(threadIdx.x);
    Tensor r = make_fragment_like(mine.partition_S(gX));
    copy(tiled, mine.partition_S(gX), r);
    copy(tiled, r, mine.partition_D(s));
    __syncthreads();
    auto thr = Layout<Shape<_8, _32>, Stride<_32, _1>>{};
    copy(local_partition(st, thr, threadIdx.x), local_partition(gY, thr, threadIdx.x));
}
