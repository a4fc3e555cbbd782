/* hone-plan
{ "launches": [ { "kernel": "transpose", "grid": ["cdiv(M, 32)*cdiv(N, 32)"], "block": [256],
                  "args": ["x", "y", "M", "N"] } ] }
*/
#include <cute/tensor.hpp>
using namespace cute;
// A 32x32 tile through padded shared memory; edges are predicated.
extern "C" __global__ void transpose(const float *x, float *y, int M, int N)
{
    __shared__ float smem[32 * 33];
    Tensor mX = make_tensor(make_gmem_ptr(x), make_shape(M, N), LayoutRight{});
    Tensor mY = make_tensor(make_gmem_ptr(y), make_shape(N, M), LayoutRight{});
    int tn = ceil_div(N, 32), bm = blockIdx.x / tn, bn = blockIdx.x % tn;
    auto tile = Shape<_32, _32>{};
    Tensor gX = local_tile(mX, tile, make_coord(bm, bn));
    Tensor gY = local_tile(mY, tile, make_coord(bn, bm));
    Tensor cX = local_tile(make_identity_tensor(shape(mX)), tile, make_coord(bm, bn));
    Tensor cY = local_tile(make_identity_tensor(shape(mY)), tile, make_coord(bn, bm));
    Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<Int<33>, _1>>{});
    auto thr = Layout<Shape<_8, _32>, Stride<_32, _1>>{};
    Tensor tX = local_partition(gX, thr, threadIdx.x);
    Tensor tcX = local_partition(cX, thr, threadIdx.x);
    Tensor tS = local_partition(s, thr, threadIdx.x);
    for (int i = 0; i < size(tX); i++)
        if (elem_less(tcX(i), shape(mX)))
            tS(i) = tX(i);

    Tensor st = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<_1, Int<33>>>{});
    Tensor tY = local_partition(gY, thr, threadIdx.x);
    Tensor tcY = local_partition(cY, thr, threadIdx.x);
    Tensor tT = local_partition(st, thr, threadIdx.x);
    for (int i = 0; i < size(tY); i++)
        if (elem_less(tcY(i), shape(mY)))
            tY(i) = tT(i);
}
