/* hone-plan
{ "launches": [ { "kernel": "gemm", "grid": ["M/128", "N/128"], "block": [128],
                  "smem": "3*(128+128)*64*2 + 2048", "args": ["tmA", "tmB", "C", "M", "N", "K"] } ],
  "tensormaps": { "tmA": { "tensor": "A", "box": [64, 128], "swizzle": "128B" },
                  "tmB": { "tensor": "B", "box": [64, 128], "swizzle": "128B" } } }
*/
// C = A * B^T in fp16 with fp32 sums, for Hopper. TMA fills a ring of tiles in shared memory, with
// a 128-byte swizzle. One warpgroup multiplies them there. M and N are multiples of 128, K of 64.
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;

struct alignas(64) TensorMap {
    char opaque[128];
};

using TileShape = Shape<Int<128>, Int<128>, Int<64>>;
using Stages = Int<3>;
using Atom = GMMA::Layout_K_SW128_Atom<half_t>;
using SmemA = decltype(tile_to_shape(
    Atom{}, make_shape(get<0>(TileShape{}), get<2>(TileShape{}), Stages{})));
using SmemB = decltype(tile_to_shape(
    Atom{}, make_shape(get<1>(TileShape{}), get<2>(TileShape{}), Stages{})));
using Mma = decltype(make_tiled_mma(
    SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));

struct alignas(1024) Storage {
    alignas(1024) half_t a[cosize_v<SmemA>];
    alignas(1024) half_t b[cosize_v<SmemB>];
    uint64_t full[Stages{}];
};

extern "C" __global__ void __launch_bounds__(128)
    gemm(const __grid_constant__ TensorMap tmA, const __grid_constant__ TensorMap tmB, half_t *C,
         int M, int N, int K)
{
    using Barrier = cutlass::arch::ClusterTransactionBarrier;
    extern __shared__ char raw[];
    Storage &s = *reinterpret_cast<Storage *>((reinterpret_cast<uintptr_t>(raw) + 1023) & ~1023ull);
    Tensor sA = make_tensor(make_smem_ptr(s.a), SmemA{});
    Tensor sB = make_tensor(make_smem_ptr(s.b), SmemB{});
    Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(N, Int<1>{}));
    Tensor gC = local_tile(mC, TileShape{}, make_coord(blockIdx.x, blockIdx.y, _),
                           Step<_1, _1, X>{});

    Mma mma;
    auto thr = mma.get_thread_slice(threadIdx.x);
    Tensor tCsA = thr.partition_A(sA);
    Tensor tCsB = thr.partition_B(sB);
    Tensor tCrA = thr.make_fragment_A(tCsA);
    Tensor tCrB = thr.make_fragment_B(tCsB);
    Tensor tCgC = thr.partition_C(gC);
    Tensor acc = thr.make_fragment_C(tCgC);
    clear(acc);

    constexpr int bytes = (size<0>(TileShape{}) + size<1>(TileShape{})) * size<2>(TileShape{}) * 2;
    int tiles = K / size<2>(TileShape{});
    bool leader = threadIdx.x == 0;
    if (leader)
        for (int i = 0; i < Stages{}; ++i)
            Barrier::init(&s.full[i], 1);
    cutlass::arch::fence_barrier_init();
    __syncthreads();

    auto load = [&](int tile) {
        int stage = tile % Stages{};
        Barrier::arrive_and_expect_tx(&s.full[stage], bytes);
        SM90_TMA_LOAD_2D::copy(&tmA, &s.full[stage], 0, &sA(0, 0, stage), tile * 64,
                               int(blockIdx.x) * 128);
        SM90_TMA_LOAD_2D::copy(&tmB, &s.full[stage], 0, &sB(0, 0, stage), tile * 64,
                               int(blockIdx.y) * 128);
    };
    if (leader)
        for (int t = 0; t < Stages{} - 1 && t < tiles; ++t)
            load(t);
    for (int t = 0; t < tiles; ++t) {
        int stage = t % Stages{};
        Barrier::wait(&s.full[stage], (t / Stages{}) & 1);
        warpgroup_fence_operand(acc);
        warpgroup_arrive();
        cute::gemm(mma, tCrA(_, _, _, stage), tCrB(_, _, _, stage), acc);
        warpgroup_commit_batch();
        warpgroup_wait<0>();
        warpgroup_fence_operand(acc);
        __syncthreads();
        if (leader && t + Stages{} - 1 < tiles)
            load(t + Stages{} - 1);
    }
    CUTE_UNROLL
    for (int i = 0; i < size(acc); ++i)
        tCgC(i) = half_t(acc(i));
}
