#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void transpose(const float *in, float *out, int M, int N)
{
    using Tile = Int<32>;
    __shared__ float smem[32 * 33];
    Tensor mI = make_tensor(make_gmem_ptr(in), make_shape(M, N), make_stride(N, Int<1>{}));
    Tensor mO = make_tensor(make_gmem_ptr(out), make_shape(N, M), make_stride(M, Int<1>{}));
    Tensor sT = make_tensor(make_smem_ptr(smem), Layout<Shape<Tile, Tile>, Stride<Int<33>, _1>>{});
    Tensor gI = local_tile(mI, Shape<Tile, Tile>{}, make_coord(blockIdx.y, blockIdx.x));
    Tensor gO = local_tile(mO, Shape<Tile, Tile>{}, make_coord(blockIdx.x, blockIdx.y));
    auto thr = make_layout(Shape<_8, _32>{}, LayoutRight{});
    Tensor tI = local_partition(gI, thr, threadIdx.x);
    Tensor tS = local_partition(sT, thr, threadIdx.x);
    copy(tI, tS);
    __syncthreads();
    Tensor sTt = make_tensor(sT.data(), transpose(sT.layout()));
    Tensor tSt = local_partition(sTt, thr, threadIdx.x);
    Tensor tO = local_partition(gO, thr, threadIdx.x);
    copy(tSt, tO);
}
