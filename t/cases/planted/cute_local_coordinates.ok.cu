/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["cdiv(N, 512)"], "block": [128],
                  "args": ["a", "b", "c", "N"] } ] }
*/
#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    using Tile = Shape<Int<512>>;
    auto at = make_coord(blockIdx.x);
    Tensor gA = local_tile(make_tensor(make_gmem_ptr(a), make_shape(n)), Tile{}, at);
    Tensor gB = local_tile(make_tensor(make_gmem_ptr(b), make_shape(n)), Tile{}, at);
    Tensor gC = local_tile(make_tensor(make_gmem_ptr(c), make_shape(n)), Tile{}, at);
    Tensor id = local_tile(make_identity_tensor(make_shape(n)), Tile{}, at);
    auto thr = Layout<Int<128>>{};
    Tensor tA = local_partition(gA, thr, threadIdx.x);
    Tensor tB = local_partition(gB, thr, threadIdx.x);
    Tensor tC = local_partition(gC, thr, threadIdx.x);
    Tensor tId = local_partition(id, thr, threadIdx.x);
    for (int i = 0; i < size(tA); i++)
        if (elem_less(tId(i), make_shape(n)))
            tC(i) = tA(i) + tB(i);
}
