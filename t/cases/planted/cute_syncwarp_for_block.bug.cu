/* hone-plan
{ "launches": [ { "kernel": "transpose", "grid": ["N/32", "M/32"], "block": [256],
                  "args": ["x", "y", "M", "N"] } ] }
*/
#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void transpose(const float *x, float *y, int M, int N)
{
    __shared__ alignas(128) float smem[32 * 36];
    Tensor mX = make_tensor(make_gmem_ptr(x), make_shape(M, N), LayoutRight{});
    Tensor mY = make_tensor(make_gmem_ptr(y), make_shape(N, M), LayoutRight{});
    Tensor gX = local_tile(mX, Shape<_32, _32>{}, make_coord(blockIdx.y, blockIdx.x));
    Tensor gY = local_tile(mY, Shape<_32, _32>{}, make_coord(blockIdx.x, blockIdx.y));
    auto thr = Layout<Shape<_8, _32>, Stride<_32, _1>>{};
    Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<Int<33>, _1>>{});
    Tensor st = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<_1, Int<33>>>{});
    Tensor r = make_fragment_like(local_partition(gX, thr, threadIdx.x));
    copy(local_partition(gX, thr, threadIdx.x), r);
    copy(r, local_partition(s, thr, threadIdx.x));
    __syncwarp();
    copy(local_partition(st, thr, threadIdx.x), local_partition(gY, thr, threadIdx.x));
}
