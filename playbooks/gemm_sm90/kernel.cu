/* hone-plan
{ "launches": [
    { "kernel": "gemm",
      "when": "@{K} % 8 == 0 && @{N} % 8 == 0 && min(alignof(@{A}), alignof(@{B}), alignof(@{C})) >= 16 && (@{M} > 64 || @{skinny} == 0)",
      "grid": ["@{cluster}*cdiv(@{M}, @{cluster}*@{bm})*cdiv(@{N}, @{bn})"],
      "block": ["128 + 2*@{bm}"], "cluster": [@{cluster}],
      "smem": "@{stages}*(@{bm} + @{bn})*64*2 + 128",
      "args": ["tmA", "tmB", "tmC", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_skinny",
      "when": "@{K} % 8 == 0 && @{N} % 8 == 0 && min(alignof(@{A}), alignof(@{B}), alignof(@{C})) >= 16 && @{M} <= 64 && @{skinny} > 0",
      "grid": ["cdiv(@{N}, max(64, @{skinny}))"], "block": [256],
      "smem": "8*(64 + max(64, @{skinny}))*64*2 + 128",
      "args": ["tmA1", "tmB1", "tmC", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_any",
      "when": "!(@{K} % 8 == 0 && @{N} % 8 == 0 && min(alignof(@{A}), alignof(@{B}), alignof(@{C})) >= 16)",
      "grid": ["cdiv(@{N}, 16)", "cdiv(@{M}, 16)"], "block": [16, 16],
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] } ],
  "tensormaps": { "tmA": { "tensor": "@{A}", "dims": ["@{K}", "@{M}"], "box": [64, @{bm}], "swizzle": "128B" },
                  "tmB": { "tensor": "@{B}", "dims": ["@{K}", "@{N}"], "box": [64, "@{bn}/@{cluster}"], "swizzle": "128B" },
                  "tmA1": { "tensor": "@{A}", "dims": ["@{K}", "@{M}"], "box": [64, 64], "swizzle": "128B" },
                  "tmB1": { "tensor": "@{B}", "dims": ["@{K}", "@{N}"], "box": [64, "max(64, @{skinny})"], "swizzle": "128B" },
                  "tmC": { "tensor": "@{C}", "dims": ["@{N}", "@{M}"], "box": [64, 64], "swizzle": "128B" } } }
*/
// C = epilogue(A * B^T) for Hopper: TMA, WGMMA, warp specialisation, clusters.
//
// A block makes a tile of C. Its first warpgroup is the producer: one thread of it asks the TMA for
// tiles of A and B into a ring of stages in shared memory. The others are consumers: each
// multiplies 64 rows of the tile with all of B's by WGMMA, straight from shared memory, with the
// sums in registers. Where there are two, registers move to them from the producer.
//
// Two mbarriers per stage join them: `full` completes when the bytes of a stage have arrived;
// `empty` when every consumer warp is done with it. The blocks of a cluster are neighbours in M and
// need the same tile of B: each asks for a share of it and multicasts that to all. So `empty`
// counts the consumers of the whole cluster, since a producer writes into all its blocks.
//
// The result goes through shared memory (the ring is free by then) and leaves by TMA, which cuts
// off what lies outside the matrix, as it fills with zeros on the way in. TMA wants rows that are
// multiples of 16 bytes; other shapes go to a simple kernel at the end.
#include <cute/arch/cluster_sm90.hpp>
#include <cute/arch/copy_sm90.hpp>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/arch/reg_reconfig.h>

using namespace cute;
using cutlass::arch::ClusterBarrier;
using cutlass::arch::ClusterTransactionBarrier;
using cutlass::arch::NamedBarrier;

using T = @{A:type};
constexpr int kBM = @{bm};
constexpr int kBN = @{bn};
constexpr int kStages = @{stages};
constexpr int kCluster = @{cluster};
constexpr int kGroup = @{group};
constexpr int kSkinny = @{skinny} > 0 ? @{skinny} : 64;

@{part:epilogue}

// A kernel's tile and ring, and what follows from them.
template <int BlockM, int BlockN, int Stages, int Blocks>
struct Shape_ {
    static constexpr int kStages = Stages, kBlocks = Blocks, kConsumers = BlockM / 64;
    using BM = Int<BlockM>;
    using BN = Int<BlockN>;
    using BK = Int<64>;
    using Atom = GMMA::Layout_K_SW128_Atom<T>; // 8 rows of 64 halves
    using SmemA = decltype(tile_to_shape(Atom{}, Shape<BM, BK, Int<Stages>>{}));
    using SmemB = decltype(tile_to_shape(Atom{}, Shape<BN, BK, Int<Stages>>{}));
    using SmemC = decltype(tile_to_shape(Atom{}, Shape<BM, BN>{})); // panels of 64 columns
    using Op = decltype(GMMA::ss_op_selector<T, T, float, Shape<_64, BN, BK>>());
    using Mma = decltype(make_tiled_mma(Op{}, Layout<Shape<Int<kConsumers>, _1, _1>>{}));
    static constexpr int kStageBytes = (BlockM + BlockN) * 64 * sizeof(T);

    struct Smem {
        T a[cosize_v<SmemA>];
        T b[cosize_v<SmemB>];
        uint64_t full[Stages], empty[Stages];
    };
};

// Position in the ring: stage, and the parity of how often it was used.
template <int kRing>
struct Cursor {
    int stage = 0;
    uint32_t phase = 0;
    __device__ void next()
    {
        if (++stage == kRing) {
            stage = 0;
            phase ^= 1;
        }
    }
};

// This block's tile (m, n): clusters walk down kGroup tiles before the next column.
template <class S>
__device__ int2 tile_of_block(int M, int N)
{
    int down = ceil_div(M, S::kBlocks * typename S::BM{}), cols = ceil_div(N, typename S::BN{});
    int cluster = blockIdx.x / S::kBlocks, group = cluster / (kGroup * cols);
    int first = group * kGroup, height = min(kGroup, down - first);
    int in_group = cluster % (kGroup * cols);
    int m = first + in_group % height;
    return {S::kBlocks * m + int(blockIdx.x % S::kBlocks), in_group / height};
}

template <class S>
__device__ void produce(typename S::Smem &smem, const TmaDescriptor &tmA, const TmaDescriptor &tmB,
                        int2 tile, int k_tiles)
{
    constexpr uint64_t hint = static_cast<uint64_t>(TMA::CacheHintSm90::EVICT_NORMAL);
    typename S::BM BM;
    typename S::BN BN;
    typename S::BK BK;
    int share = blockIdx.x % S::kBlocks * (BN / S::kBlocks); // the rows of B this block brings
    Cursor<S::kStages> at;
    for (int k = 0; k < k_tiles; k++, at.next()) {
        T *a = smem.a + at.stage * BM * BK;
        T *b = smem.b + at.stage * BN * BK + share * BK;
        uint64_t *full = &smem.full[at.stage];
        ClusterBarrier::wait(&smem.empty[at.stage], at.phase ^ 1);
        ClusterTransactionBarrier::arrive_and_expect_tx(full, S::kStageBytes);
        SM90_TMA_LOAD_2D::copy(&tmA, full, hint, a, k * BK, tile.x * BM);
        if constexpr (S::kBlocks > 1)
            SM90_TMA_LOAD_MULTICAST_2D::copy(&tmB, full, (1 << S::kBlocks) - 1, hint, b, k * BK,
                                             tile.y * BN + share);
        else
            SM90_TMA_LOAD_2D::copy(&tmB, full, hint, b, k * BK, tile.y * BN);
    }
}

// One lane of the warp per block of the cluster says: this warp is done with the stage.
template <class S>
__device__ void release(typename S::Smem &smem, int stage)
{
    int lane = threadIdx.x % 32;
    ClusterBarrier::arrive(&smem.empty[stage], lane, lane < S::kBlocks);
}

template <class S>
__device__ void consume(typename S::Smem &smem, const TmaDescriptor &tmC, const Extra &extra, int2 tile,
                        int M, int N, int k_tiles)
{
    int thread = threadIdx.x - 128, group = thread / 128; // among the consumers
    typename S::BM BM;
    typename S::BN BN;
    typename S::Mma mma;
    auto thr = mma.get_slice(thread);
    Tensor sA = make_tensor(make_smem_ptr(smem.a), typename S::SmemA{});
    Tensor sB = make_tensor(make_smem_ptr(smem.b), typename S::SmemB{});
    Tensor rA = thr.partition_fragment_A(sA); // descriptors: (1, 1, 4, stages)
    Tensor rB = thr.partition_fragment_B(sB);
    Tensor acc = partition_fragment_C(mma, make_shape(BM, BN));

    // One WGMMA batch stays in flight: when batch k has been issued, batch k - 1 is waited for and
    // its stage handed back.
    Cursor<S::kStages> at;
    int last = 0;
    mma.accumulate_ = GMMA::ScaleOut::Zero;
    for (int k = 0; k < k_tiles; k++) {
        ClusterBarrier::wait(&smem.full[at.stage], at.phase);
        warpgroup_fence_operand(acc);
        warpgroup_arrive();
        CUTE_UNROLL
        for (int i = 0; i < size<2>(rA); i++) {
            cute::gemm(mma, rA(_, _, i, at.stage), rB(_, _, i, at.stage), acc);
            mma.accumulate_ = GMMA::ScaleOut::One;
        }
        warpgroup_commit_batch();
        warpgroup_wait<1>();
        warpgroup_fence_operand(acc);
        if (k > 0)
            release<S>(smem, last);
        last = at.stage;
        at.next();
    }
    warpgroup_wait<0>();
    warpgroup_fence_operand(acc);

    // The ring becomes the output tile once all consumers are through with it.
    NamedBarrier::sync(128 * S::kConsumers, 1);
    Tensor sC = make_tensor(make_smem_ptr(smem.a), typename S::SmemC{});
    Tensor tC = thr.partition_C(make_identity_tensor(make_shape(BM, BN)));
    auto to_smem = make_tiled_copy_C(Copy_Atom<SM90_U32x4_STSM_N, T>{}, mma);
    auto thrC = to_smem.get_slice(thread);
    Tensor rC = make_tensor_like<T>(acc);
    CUTE_UNROLL
    for (int i = 0; i < size(acc); i++)
        rC(i) = T(finish(acc(i), extra, 0, tile.x * BM + get<0>(tC(i)),
                         tile.y * BN + get<1>(tC(i)), M, N));
    copy(to_smem, thrC.retile_S(rC), thrC.partition_D(sC));
    tma_store_fence();                  // what was written is visible to the TMA
    NamedBarrier::sync(128, 2 + group); // and written by all of this warpgroup
    if (thread % 128 == 0) {
        int m = tile.x * BM + group * 64;
        for (int panel = 0; panel < BN / 64; panel++) {
            int n = tile.y * BN + panel * 64;
            if (m < M && n < N)
                SM90_TMA_STORE_2D::copy(&tmC, &sC(group * 64, panel * 64), n, m);
        }
        tma_store_arrive();
        tma_store_wait<0>(); // shared memory must outlive the reads
    }
}

template <class S>
__device__ void run(const TmaDescriptor &tmA, const TmaDescriptor &tmB, const TmaDescriptor &tmC,
                    const Extra &extra, int M, int N, int K)
{
    extern __shared__ __align__(1024) char bytes[];
    auto &smem = *reinterpret_cast<typename S::Smem *>(bytes);
    int2 tile = tile_of_block<S>(M, N);
    int k_tiles = ceil_div(K, typename S::BK{});

    if (threadIdx.x == 0) {
        for (int s = 0; s < S::kStages; s++) {
            ClusterBarrier::init(&smem.full[s], 1);
            ClusterBarrier::init(&smem.empty[s], S::kBlocks * S::kConsumers * 4); // their warps
        }
        cutlass::arch::fence_barrier_init();
    }
    // All blocks' barriers stand before anyone uses them.
    if constexpr (S::kBlocks > 1) {
        cluster_arrive_relaxed();
        cluster_wait();
    } else {
        __syncthreads();
    }

    if (threadIdx.x < 128) {
        if constexpr (S::kConsumers > 1)
            cutlass::arch::warpgroup_reg_dealloc<40>();
        if (threadIdx.x == 0)
            produce<S>(smem, tmA, tmB, tile, k_tiles);
    } else {
        if constexpr (S::kConsumers > 1)
            cutlass::arch::warpgroup_reg_alloc<232>();
        consume<S>(smem, tmC, extra, tile, M, N, k_tiles);
    }
    if constexpr (S::kBlocks > 1) {
        cluster_arrive();
        cluster_wait(); // the other blocks may still arrive at our barriers
    }
}

extern "C" __global__ void __launch_bounds__(128 + 2 * kBM, 1)
    gemm(const __grid_constant__ TmaDescriptor tmA, const __grid_constant__ TmaDescriptor tmB,
         const __grid_constant__ TmaDescriptor tmC, @{params}int M, int N, int K)
{
    run<Shape_<kBM, kBN, kStages, kCluster>>(tmA, tmB, tmC, Extra{@{data}}, M, N, K);
}

// A has few rows: all is bound by reading B, so small tiles and a deep ring on every processor.
extern "C" __global__ void __launch_bounds__(256, 1)
    gemm_skinny(const __grid_constant__ TmaDescriptor tmA,
                const __grid_constant__ TmaDescriptor tmB,
                const __grid_constant__ TmaDescriptor tmC, @{params}int M, int N, int K)
{
    if constexpr (@{skinny} > 0)
        run<Shape_<64, kSkinny, 8, 1>>(tmA, tmB, tmC, Extra{@{data}}, M, N, K);
}

// One element per thread, through 16x16 tiles in shared memory: any shape, any address.
extern "C" __global__ void gemm_any(const T *A, const T *B, T *C, @{params}int M, int N, int K)
{
    __shared__ float a[16][17], b[16][17];
    int tx = threadIdx.x, ty = threadIdx.y;
    int m = blockIdx.y * 16 + ty, n = blockIdx.x * 16 + tx, nb = blockIdx.x * 16 + ty;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        int k = k0 + tx;
        a[ty][tx] = m < M && k < K ? float(A[int64_t(m) * K + k]) : 0.f;
        b[ty][tx] = nb < N && k < K ? float(B[int64_t(nb) * K + k]) : 0.f;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += a[ty][i] * b[tx][i];
        __syncthreads();
    }
    if (m < M && n < N)
        C[int64_t(m) * N + n] = T(finish(sum, Extra{@{data}}, 0, m, n, M, N));
}
