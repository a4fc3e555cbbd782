/* hone-plan
{ "launches": [ { "kernel": "transpose", "grid": ["N/32", "M/32"], "block": [256],
                  "args": ["x", "y", "M", "N"] } ] }
*/
#include <cute/tensor.hpp>
using namespace cute;

using Padded = Layout<Shape<_32, _32>, Stride<Int<33>, _1>>;
using Turned = Layout<Shape<_32, _32>, Stride<_1, Int<33>>>;
extern "C" __global__ void transpose(const float *x, float *y, int M, int N)
{
    __shared__ float smem[cosize_v<Padded>];
    Tensor mX = make_tensor(make_gmem_ptr(x), make_shape(M, N), LayoutRight{});
    Tensor mY = make_tensor(make_gmem_ptr(y), make_shape(N, M), LayoutRight{});
    Tensor gX = local_tile(mX, Shape<_32, _32>{}, make_coord(blockIdx.y, blockIdx.x));
    Tensor gY = local_tile(mY, Shape<_32, _32>{}, make_coord(blockIdx.x, blockIdx.y));
    auto thr = Layout<Shape<_8, _32>, Stride<_32, _1>>{};
    Tensor s = make_tensor(make_smem_ptr(smem), Padded{});
    Tensor st = make_tensor(make_smem_ptr(smem), Turned{});
    copy(local_partition(gX, thr, threadIdx.x), local_partition(s, thr, threadIdx.x));
    __syncthreads();
    copy(local_partition(st, thr, threadIdx.x), local_partition(gY, thr, threadIdx.x));
}
