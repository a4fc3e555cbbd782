/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["N/1024"], "block": [128],
                  "args": ["a", "b", "c", "N"] } ] }
*/
#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    using Tile = Shape<Int<1024>>;
    auto at = make_coord(blockIdx.x);
    Tensor gA = local_tile(make_tensor(make_gmem_ptr(a), make_shape(n)), Tile{}, at);
    Tensor gB = local_tile(make_tensor(make_gmem_ptr(b), make_shape(n)), Tile{}, at);
    Tensor gC = local_tile(make_tensor(make_gmem_ptr(c), make_shape(n)), Tile{}, at);
    auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<Int<128>>{}, Layout<_4>{});
    auto thr = tiled.get_slice(threadIdx.x);
    Tensor tC = thr.partition_D(gC);
    Tensor rA = make_fragment_like(thr.partition_S(gA));
    Tensor rB = make_fragment_like(rA);
    copy(tiled, thr.partition_S(gA), rA);
    copy(tiled, thr.partition_S(gB), rB);
    for (int i = 0; i < size<0>(rA); i++)
        tC(i) = rA(i) + rB(i);
}
