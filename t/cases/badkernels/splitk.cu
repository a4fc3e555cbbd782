#include <cute/tensor.hpp>
using namespace cute;

using TileM = _64; using TileN = _64; using TileK = _16;

extern "C" __global__ void splitk(const float *A, const float *B, float *partial, int M, int N, int K, int splits)
{
    Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(M, K), LayoutLeft{});
    Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(N, K), LayoutLeft{});
    Tensor mP = make_tensor(make_gmem_ptr(partial), make_shape(M, N, splits), LayoutLeft{});
    Tensor gA = local_tile(mA, make_tile(TileM{}, TileK{}), make_coord(blockIdx.x, _));
    Tensor gB = local_tile(mB, make_tile(TileN{}, TileK{}), make_coord(blockIdx.y, _));
    Tensor gP = local_tile(mP(_, _, blockIdx.z), make_tile(TileM{}, TileN{}), make_coord(blockIdx.x, blockIdx.y));
    auto threads = Layout<Shape<_16, _16>>{};
    Tensor tA = local_partition(gA, threads, threadIdx.x, Step<_1, X>{});
    Tensor tB = local_partition(gB, threads, threadIdx.x, Step<X, _1>{});
    Tensor tP = local_partition(gP, threads, threadIdx.x);
    Tensor acc = make_fragment_like(tP);
    clear(acc);
    int per = size<2>(gA) / splits;
    for (int k = blockIdx.z * per; k < (blockIdx.z + 1) * per; ++k)
        gemm(tA(_, _, k), tB(_, _, k), acc);
    copy(acc, tP);
}
