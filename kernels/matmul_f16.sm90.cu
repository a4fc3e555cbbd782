/* hone-plan
{ "launches": [
    { "kernel": "gemm",
      "when": "K % 8 == 0 && N % 8 == 0 && min(alignof(A), alignof(B), alignof(C)) >= 16",
      "grid": ["2*cdiv(M, 256)*cdiv(N, 256)"], "block": [384], "cluster": [2],
      "smem": "4*(128 + 256)*64*2 + 128", "args": ["tmA", "tmB", "tmC", "M", "N", "K"] },
    { "kernel": "gemm_simple",
      "when": "K % 8 != 0 || N % 8 != 0 || min(alignof(A), alignof(B), alignof(C)) < 16",
      "grid": ["cdiv(N, 16)", "cdiv(M, 16)"], "block": [16, 16],
      "args": ["A", "B", "C", "M", "N", "K"] } ],
  "tensormaps": { "tmA": { "tensor": "A", "box": [64, 128], "swizzle": "128B" },
                  "tmB": { "tensor": "B", "box": [64, 128], "swizzle": "128B" },
                  "tmC": { "tensor": "C", "box": [64, 64], "swizzle": "128B" } } }
*/
// C = A * B^T for Hopper: TMA, WGMMA, warp specialisation, clusters of two.
//
// A block makes a 128x256 tile of C. Its first warpgroup is the producer: one thread of it asks the
// TMA for tiles of A (128x64) and B (256x64) into a ring of four stages in shared memory. The other
// two warpgroups are consumers: each multiplies 64 of the 128 rows with all of B by WGMMA, straight
// from shared memory, with the sums in registers. Registers move from the producer, which needs
// few, to the consumers, which hold 128 sums per thread.
//
// Two mbarriers per stage join producer and consumers: `full` completes when the bytes of a stage
// have arrived; `empty` when every consumer warp is done with it. The two blocks of a cluster are
// neighbours in M and need the same tile of B: each asks for one half of it and multicasts it into
// both. So `empty` counts the consumers of both blocks, since a producer writes into both.
//
// The result goes through shared memory (the ring is free by then) and leaves by TMA. TMA drops
// elements outside the matrix; on the way in it fills them with zeros. TMA needs rows whose size
// is a multiple of 16 bytes; other shapes go to a simple kernel at the end.
#include <cuda_fp16.h>
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

constexpr int kStages = 4;
constexpr int kGroup = 8; // clusters down before the next column: L2 holds tiles that run together
using BM = Int<128>;
using BN = Int<256>;
using BK = Int<64>;

using SwizzleAtom = GMMA::Layout_K_SW128_Atom<half_t>; // 8 rows of 64 halves
using SmemA = decltype(tile_to_shape(SwizzleAtom{}, Shape<BM, BK, Int<kStages>>{}));
using SmemB = decltype(tile_to_shape(SwizzleAtom{}, Shape<BN, BK, Int<kStages>>{}));
using SmemC = decltype(tile_to_shape(SwizzleAtom{}, Shape<BM, BN>{})); // 4 panels of 64 columns
using Mma = decltype(make_tiled_mma(SM90_64x256x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{},
                                    Layout<Shape<_2, _1, _1>>{})); // two warpgroups along M

constexpr int kStageBytes = (BM::value + BN::value) * BK::value * sizeof(half_t);

struct Smem {
    half_t a[cosize_v<SmemA>];
    half_t b[cosize_v<SmemB>];
    uint64_t full[kStages], empty[kStages];
};

// Position in the ring: the stage, and the parity of the number of its uses.
struct Cursor {
    int stage = 0;
    uint32_t phase = 0;
    __device__ void next()
    {
        if (++stage == kStages) {
            stage = 0;
            phase ^= 1;
        }
    }
};

// This block's tile (m, n): clusters walk down kGroup pairs of tiles before the next column.
__device__ int2 tile_of_block(int M, int N)
{
    int pairs = ceil_div(M, 2 * BM{}), cols = ceil_div(N, BN{});
    int cluster = blockIdx.x / 2, group = cluster / (kGroup * cols);
    int first = group * kGroup, height = min(kGroup, pairs - first);
    int in_group = cluster % (kGroup * cols);
    int pair = first + in_group % height;
    return {2 * pair + (int)block_rank_in_cluster(), in_group / height};
}

__device__ void produce(Smem &smem, const TmaDescriptor &tmA, const TmaDescriptor &tmB, int2 tile,
                        int k_tiles)
{
    constexpr uint64_t hint = static_cast<uint64_t>(TMA::CacheHintSm90::EVICT_NORMAL);
    int half = block_rank_in_cluster() * (BN::value / 2); // the rows of B that this block loads
    Cursor at;
    for (int k = 0; k < k_tiles; k++, at.next()) {
        half_t *a = smem.a + at.stage * BM{} * BK{};
        half_t *b = smem.b + at.stage * BN{} * BK{} + half * BK{};
        ClusterBarrier::wait(&smem.empty[at.stage], at.phase ^ 1);
        ClusterTransactionBarrier::arrive_and_expect_tx(&smem.full[at.stage], kStageBytes);
        SM90_TMA_LOAD_2D::copy(&tmA, &smem.full[at.stage], hint, a, k * BK{}, tile.x * BM{});
        SM90_TMA_LOAD_MULTICAST_2D::copy(&tmB, &smem.full[at.stage], 0b11, hint, b, k * BK{},
                                         tile.y * BN{} + half);
    }
}

// One lane for each block of the cluster tells that block: this warp is done with the stage.
__device__ void release(Smem &smem, int stage)
{
    int lane = threadIdx.x % 32;
    ClusterBarrier::arrive(&smem.empty[stage], lane, lane < 2);
}

__device__ void consume(Smem &smem, const TmaDescriptor &tmC, int2 tile, int M, int N, int k_tiles)
{
    int thread = threadIdx.x - 128, group = thread / 128; // among the consumers
    Mma mma;
    auto thr = mma.get_slice(thread);
    Tensor sA = make_tensor(make_smem_ptr(smem.a), SmemA{});
    Tensor sB = make_tensor(make_smem_ptr(smem.b), SmemB{});
    Tensor rA = thr.partition_fragment_A(sA); // descriptors: (1, 1, 4, stages)
    Tensor rB = thr.partition_fragment_B(sB);
    Tensor acc = partition_fragment_C(mma, Shape<BM, BN>{});

    // One WGMMA batch stays in flight: after batch k is issued, the warpgroup waits for batch k - 1
    // and frees its stage.
    Cursor at;
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
            release(smem, last);
        last = at.stage;
        at.next();
    }
    warpgroup_wait<0>();
    warpgroup_fence_operand(acc);

    // The ring becomes the output tile once both consumers are through with it.
    NamedBarrier::sync(256, 1);
    Tensor sC = make_tensor(make_smem_ptr(smem.a), SmemC{});
    auto to_smem = make_tiled_copy_C(Copy_Atom<SM90_U32x4_STSM_N, half_t>{}, mma);
    auto thrC = to_smem.get_slice(thread);
    Tensor rC = make_tensor_like<half_t>(acc);
    CUTE_UNROLL
    for (int i = 0; i < size(acc); i++)
        rC(i) = half_t(acc(i));
    copy(to_smem, thrC.retile_S(rC), thrC.partition_D(sC));
    tma_store_fence();               // makes the writes visible to the TMA
    NamedBarrier::sync(128, 2 + group); // all of this warpgroup have written
    if (thread % 128 == 0) {
        int m = tile.x * BM{} + group * 64;
        for (int panel = 0; panel < BN{} / 64; panel++) {
            int n = tile.y * BN{} + panel * 64;
            if (m < M && n < N)
                SM90_TMA_STORE_2D::copy(&tmC, &sC(group * 64, panel * 64), n, m);
        }
        tma_store_arrive();
        tma_store_wait<0>(); // the TMA has read shared memory
    }
}

extern "C" __global__ void __launch_bounds__(384, 1)
    gemm(const __grid_constant__ TmaDescriptor tmA, const __grid_constant__ TmaDescriptor tmB,
         const __grid_constant__ TmaDescriptor tmC, int M, int N, int K)
{
    extern __shared__ __align__(1024) char bytes[];
    Smem &smem = *reinterpret_cast<Smem *>(bytes);
    int2 tile = tile_of_block(M, N);
    int k_tiles = ceil_div(K, BK{});

    if (threadIdx.x == 0) {
        for (int s = 0; s < kStages; s++) {
            ClusterBarrier::init(&smem.full[s], 1);
            ClusterBarrier::init(&smem.empty[s], 2 * 8); // consumer warps of both blocks
        }
        cutlass::arch::fence_barrier_init();
    }
    cluster_arrive_relaxed();
    cluster_wait(); // both blocks' barriers are initialised

    if (threadIdx.x < 128) {
        cutlass::arch::warpgroup_reg_dealloc<40>();
        if (threadIdx.x == 0)
            produce(smem, tmA, tmB, tile, k_tiles);
    } else {
        cutlass::arch::warpgroup_reg_alloc<232>();
        consume(smem, tmC, tile, M, N, k_tiles);
    }
    cluster_arrive();
    cluster_wait(); // the other block may still arrive at our barriers
}

// One element per thread, through 16x16 tiles in shared memory: any shape, any address.
extern "C" __global__ void gemm_simple(const __half *A, const __half *B, __half *C, int M, int N,
                                       int K)
{
    __shared__ float a[16][17], b[16][17];
    int tx = threadIdx.x, ty = threadIdx.y;
    int m = blockIdx.y * 16 + ty, n = blockIdx.x * 16 + tx, nb = blockIdx.x * 16 + ty;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        int k = k0 + tx;
        a[ty][tx] = m < M && k < K ? __half2float(A[(long long)m * K + k]) : 0.f;
        b[ty][tx] = nb < N && k < K ? __half2float(B[(long long)nb * K + k]) : 0.f;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += a[ty][i] * b[tx][i];
        __syncthreads();
    }
    if (m < M && n < N)
        C[(long long)m * N + n] = __float2half(sum);
}
