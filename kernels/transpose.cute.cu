/* hone-plan
{ "launches": [ { "kernel": "transpose", "grid": ["cdiv(M, 64)*cdiv(N, 64)"], "block": [256],
                  "args": ["x", "y", "M", "N"] } ] }
*/
// y = x^T in CuTe: a 64x64 tile per block, through swizzled shared memory.
//
// Warps read 32 neighbours of a row of x and write 32 neighbours of a row of y. Shared memory turns
// rows into columns: the tile is written by rows and read by columns. Row-major, a column of 64
// floats would lie in one bank. Swizzle<5, 0, 6> xors the low five bits of an address (the bank)
// with the five bits above the row length (the row), so 32 elements of a row and 32 of a column
// both fall into 32 different banks, without padding.
//
// The same shared memory is seen as two tensors: sX indexed (m, n) and sY indexed (n, m), whose
// layout is that of sX with the modes exchanged. Sixteen loads per thread are in flight at once.
#include <cute/tensor.hpp>

using namespace cute;

using kTile = Int<64>;

extern "C" __global__ void __launch_bounds__(256) transpose(const float *x, float *y, int M, int N)
{
    __shared__ alignas(128) float smem[kTile::value * kTile::value];

    Tensor mX = make_tensor(make_gmem_ptr(x), make_shape(M, N), LayoutRight{});
    Tensor mY = make_tensor(make_gmem_ptr(y), make_shape(N, M), LayoutRight{});
    int tiles_n = ceil_div(N, kTile{});
    int tile_m = blockIdx.x / tiles_n, tile_n = blockIdx.x % tiles_n;
    auto tile = make_shape(kTile{}, kTile{});
    Tensor gX = local_tile(mX, tile, make_coord(tile_m, tile_n));
    Tensor gY = local_tile(mY, tile, make_coord(tile_n, tile_m));
    Tensor cX = local_tile(make_identity_tensor(shape(mX)), tile, make_coord(tile_m, tile_n));
    Tensor cY = local_tile(make_identity_tensor(shape(mY)), tile, make_coord(tile_n, tile_m));

    auto rows = make_layout(tile, LayoutRight{}); // (m, n) -> 64 m + n
    auto cols = make_layout(tile, LayoutLeft{});  // (n, m) -> 64 m + n
    Tensor sX = make_tensor(make_smem_ptr(smem), composition(Swizzle<5, 0, 6>{}, rows));
    Tensor sY = make_tensor(make_smem_ptr(smem), composition(Swizzle<5, 0, 6>{}, cols));

    // Eight warps down, 32 lanes across, one float each.
    auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
                                 Layout<Shape<_8, _32>, Stride<_32, _1>>{},
                                 Layout<Shape<_1, _1>>{});
    auto thr = tiled.get_slice(threadIdx.x);
    auto inside_x = cute::lazy::transform(thr.partition_S(cX),
                                          [&](auto c) { return elem_less(c, shape(mX)); });
    auto inside_y = cute::lazy::transform(thr.partition_D(cY),
                                          [&](auto c) { return elem_less(c, shape(mY)); });

    Tensor tX = thr.partition_S(gX); // (1, 8, 2)
    Tensor r = make_fragment_like(tX);
    bool whole = (tile_m + 1) * kTile{} <= M && (tile_n + 1) * kTile{} <= N;
    if (whole) {
        copy(tiled, tX, r);
    } else {
        clear(r);
        copy_if(tiled, inside_x, tX, r);
    }
    copy(tiled, r, thr.partition_D(sX));
    __syncthreads();
    copy(tiled, thr.partition_S(sY), r);
    if (whole)
        copy(tiled, r, thr.partition_D(gY));
    else
        copy_if(tiled, inside_y, r, thr.partition_D(gY));
}
