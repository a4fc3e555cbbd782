/* hone-plan
{ "launches": [ { "kernel": "gemm", "grid": ["M/128", "N/128"], "block": [128],
                  "smem": "3*(128+128)*64*2", "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
// C = A * B^T in fp16 with fp32 sums, for Ampere and later: cp.async into a ring of swizzled
// shared-memory tiles, ldmatrix into registers, mma.sync. M, N, K are multiples of the tile.
#include <cute/tensor.hpp>
using namespace cute;

using TileShape = Shape<Int<128>, Int<128>, Int<64>>;
using Stages = Int<3>;
using Atom = decltype(composition(Swizzle<3, 3, 3>{},
                                  Layout<Shape<Int<8>, Int<64>>, Stride<Int<64>, Int<1>>>{}));
using SmemA = decltype(tile_to_shape(
    Atom{}, make_shape(get<0>(TileShape{}), get<2>(TileShape{}), Stages{})));
using SmemB = decltype(tile_to_shape(
    Atom{}, make_shape(get<1>(TileShape{}), get<2>(TileShape{}), Stages{})));
using CopyG = decltype(make_tiled_copy(
    Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<Int<16>, Int<8>>, Stride<Int<8>, Int<1>>>{}, Layout<Shape<Int<1>, Int<8>>>{}));
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<Int<2>, Int<2>, Int<1>>>,
                     cute::Tile<Int<32>, Int<32>, Int<16>>>;
using CopyS = Copy_Atom<SM75_U32x4_LDSM_N, half_t>;

extern "C" __global__ void __launch_bounds__(128)
    gemm(const half_t *A, const half_t *B, half_t *C, int M, int N, int K)
{
    extern __shared__ char smem[];
    half_t *sa = reinterpret_cast<half_t *>(smem);
    Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(M, K), make_stride(K, Int<1>{}));
    Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(N, K), make_stride(K, Int<1>{}));
    Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(N, Int<1>{}));
    auto coord = make_coord(blockIdx.x, blockIdx.y, _);
    Tensor gA = local_tile(mA, TileShape{}, coord, Step<_1, X, _1>{});
    Tensor gB = local_tile(mB, TileShape{}, coord, Step<X, _1, _1>{});
    Tensor gC = local_tile(mC, TileShape{}, coord, Step<_1, _1, X>{});
    Tensor sA = make_tensor(make_smem_ptr(sa), SmemA{});
    Tensor sB = make_tensor(make_smem_ptr(sa + cosize_v<SmemA>), SmemB{});

    CopyG copy_g;
    auto thr_g = copy_g.get_slice(threadIdx.x);
    Tensor tAgA = thr_g.partition_S(gA);
    Tensor tAsA = thr_g.partition_D(sA);
    Tensor tBgB = thr_g.partition_S(gB);
    Tensor tBsB = thr_g.partition_D(sB);

    Mma mma;
    auto thr_mma = mma.get_slice(threadIdx.x);
    Tensor tCrA = thr_mma.partition_fragment_A(sA(_, _, 0));
    Tensor tCrB = thr_mma.partition_fragment_B(sB(_, _, 0));
    Tensor tCgC = thr_mma.partition_C(gC);
    Tensor acc = thr_mma.make_fragment_C(tCgC);
    clear(acc);

    auto copy_a = make_tiled_copy_A(CopyS{}, mma);
    auto thr_a = copy_a.get_slice(threadIdx.x);
    Tensor tXsA = thr_a.partition_S(sA);
    Tensor tXrA = thr_a.retile_D(tCrA);
    auto copy_b = make_tiled_copy_B(CopyS{}, mma);
    auto thr_b = copy_b.get_slice(threadIdx.x);
    Tensor tXsB = thr_b.partition_S(sB);
    Tensor tXrB = thr_b.retile_D(tCrB);

    int tiles = size<3>(tAgA), next = 0;
    CUTE_UNROLL
    for (int s = 0; s < Stages{} - 1; ++s) {
        if (next < tiles) {
            copy(copy_g, tAgA(_, _, _, next), tAsA(_, _, _, s));
            copy(copy_g, tBgB(_, _, _, next), tBsB(_, _, _, s));
        }
        cp_async_fence();
        ++next;
    }
    for (int t = 0; t < tiles; ++t) {
        cp_async_wait<Stages{} - 2>();
        __syncthreads();
        int stage = t % Stages{};
        if (next < tiles) {
            copy(copy_g, tAgA(_, _, _, next), tAsA(_, _, _, next % Stages{}));
            copy(copy_g, tBgB(_, _, _, next), tBsB(_, _, _, next % Stages{}));
        }
        cp_async_fence();
        ++next;
        CUTE_UNROLL
        for (int k = 0; k < size<2>(tCrA); ++k) {
            copy(copy_a, tXsA(_, _, k, stage), tXrA(_, _, k));
            copy(copy_b, tXsB(_, _, k, stage), tXrB(_, _, k));
            cute::gemm(mma, tCrA(_, _, k), tCrB(_, _, k), acc);
        }
    }
    CUTE_UNROLL
    for (int i = 0; i < size(acc); ++i)
        tCgC(i) = half_t(acc(i));
}
