/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["N/1024"], "block": [64],
                  "args": ["a", "b", "c", "N"] } ] }
*/
#include <cute/tensor.hpp>
using namespace cute;

// A block adds four tiles of 256; a thread only ever reads what it copied itself.
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    constexpr int kStages = 3;
    __shared__ alignas(128) float as[kStages * 256], bs[kStages * 256];
    auto gmem = [&](auto *p) {
        Tensor block = local_tile(make_tensor(make_gmem_ptr(p), make_shape(n)), Shape<Int<1024>>{}, make_coord(blockIdx.x));
        return local_tile(block, Shape<Int<256>>{}, make_coord(_));
    };
    Tensor sA = make_tensor(make_smem_ptr(as), Shape<Int<256>, Int<kStages>>{});
    Tensor sB = make_tensor(make_smem_ptr(bs), Shape<Int<256>, Int<kStages>>{});
    auto tiled = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, float>{}, Layout<Int<64>>{},
                                 Layout<Int<4>>{});
    auto thr = tiled.get_slice(threadIdx.x);
    Tensor tA = thr.partition_S(gmem(a));
    Tensor tB = thr.partition_S(gmem(b));
    Tensor tC = thr.partition_D(gmem(c));
    Tensor tAs = thr.partition_D(sA);
    Tensor tBs = thr.partition_D(sB);
    constexpr int tiles = 4;
    auto load = [&](int k, int stage) {
        copy(tiled, tA(_, _, k), tAs(_, _, stage));
        copy(tiled, tB(_, _, k), tBs(_, _, stage));
    };
    for (int k = 0; k < 2; k++) {
        load(k, k);
        cp_async_fence();
    }
    for (int k = 0; k < tiles; k++) {
        cp_async_wait<1>();
        for (int i = 0; i < 4; i++)
            tC(i, 0, k) = tAs(i, 0, k % 3) + tBs(i, 0, k % 3);
        if (k + 2 < tiles)
            load(k + 2, (k + 2) % 3);
        cp_async_fence();
    }
}
