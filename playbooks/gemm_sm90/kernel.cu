/* hone-plan
{ "launches": [
    { "kernel": "pack", "when": "!(@{ready})", "block": [256],
      "grid": ["cdiv(@{a_cols}, 2048)", "min(@{ZA}*@{a_rows}, 65535)"], "args": ["@{A}", "packA", "@{ZA}*@{a_rows}", "@{a_cols}"] },
    { "kernel": "pack", "when": "!(@{ready})", "block": [256],
      "grid": ["cdiv(@{b_cols}, 2048)", "min(@{ZB}*@{b_rows}, 65535)"], "args": ["@{B}", "packB", "@{ZB}*@{b_rows}", "@{b_cols}"] },
    { "kernel": "gemm", "when": "@{ready} && !(@{few}) && @{by_tma}",
      "grid": ["@{grid}"], "block": ["128 + 2*@{bm}"], "cluster": [@{cluster}], "smem": "@{smem}",
      "args": ["mapA", "mapB", "mapC", 1, "@{C}", @{extra}"@{M}", "@{N}", "@{K}", "@{Z}"] },
    { "kernel": "gemm", "when": "@{ready} && !(@{few}) && !(@{by_tma})",
      "grid": ["@{grid}"], "block": ["128 + 2*@{bm}"], "cluster": [@{cluster}], "smem": "@{smem}",
      "args": ["mapA", "mapB", "mapA", 0, "@{C}", @{extra}"@{M}", "@{N}", "@{K}", "@{Z}"] },
    { "kernel": "gemm", "when": "!(@{ready}) && !(@{few}) && @{by_tma}",
      "grid": ["@{grid}"], "block": ["128 + 2*@{bm}"], "cluster": [@{cluster}], "smem": "@{smem}",
      "args": ["packedA", "packedB", "mapC", 1, "@{C}", @{extra}"@{M}", "@{N}", "@{K}", "@{Z}"] },
    { "kernel": "gemm", "when": "!(@{ready}) && !(@{few}) && !(@{by_tma})",
      "grid": ["@{grid}"], "block": ["128 + 2*@{bm}"], "cluster": [@{cluster}], "smem": "@{smem}",
      "args": ["packedA", "packedB", "packedA", 0, "@{C}", @{extra}"@{M}", "@{N}", "@{K}", "@{Z}"] },
    { "kernel": "gemm_few<16>", "when": "@{ready} && @{few} && @{M} <= 16",
      "grid": ["@{share}*@{tiles}"], "block": [160], "cluster": ["@{share}"], "smem": "11*(64 + 16)*256 + 256",
      "args": ["mapFew16", "mapRows", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_few<16>", "when": "!(@{ready}) && @{few} && @{M} <= 16",
      "grid": ["@{share}*@{tiles}"], "block": [160], "cluster": ["@{share}"], "smem": "11*(64 + 16)*256 + 256",
      "args": ["packedFew16", "packedRows", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_few<64>", "when": "@{ready} && @{few} && @{M} > 16",
      "grid": ["@{share}*@{tiles}"], "block": [160], "cluster": ["@{share}"], "smem": "7*(64 + 64)*256 + 256",
      "args": ["mapFew64", "mapRows", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_few<64>", "when": "!(@{ready}) && @{few} && @{M} > 16",
      "grid": ["@{share}*@{tiles}"], "block": [160], "cluster": ["@{share}"], "smem": "7*(64 + 64)*256 + 256",
      "args": ["packedFew64", "packedRows", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] } ],
  "tensormaps": {
    "mapA": { "tensor": "@{A}", "dims": ["@{a_cols}", "@{a_rows}", "@{ZA}"], "box": [64, "@{across_a} ? 64 : @{bm}", 1], "swizzle": "128B", "l2promo": "256B" },
    "mapB": { "tensor": "@{B}", "dims": ["@{b_cols}", "@{b_rows}", "@{ZB}"], "box": [64, "@{across_b} ? 64 : @{bn}/@{cluster}", 1], "swizzle": "128B", "l2promo": "256B" },
    "mapC": { "tensor": "@{C}", "dims": ["@{N}", "@{M}", "@{Z}"], "box": [64, 64, 1], "swizzle": "128B" },
    "mapFew16": { "tensor": "@{A}", "dims": ["@{a_cols}", "@{a_rows}", "@{ZA}"], "box": [64, 16, 1], "swizzle": "128B" },
    "mapFew64": { "tensor": "@{A}", "dims": ["@{a_cols}", "@{a_rows}", "@{ZA}"], "box": [64, 64, 1], "swizzle": "128B" },
    "mapRows": { "tensor": "@{B}", "dims": ["@{b_cols}", "@{b_rows}", "@{ZB}"], "box": [64, 64, 1], "swizzle": "128B" },
    "packedA": { "tensor": "packA", "dtype": "float16", "dims": ["@{a_cols}", "@{a_rows}", "@{ZA}"], "strides": ["2*align(@{a_cols}, 8)", "2*align(@{a_cols}, 8)*@{a_rows}"], "box": [64, "@{across_a} ? 64 : @{bm}", 1], "swizzle": "128B", "l2promo": "256B" },
    "packedB": { "tensor": "packB", "dtype": "float16", "dims": ["@{b_cols}", "@{b_rows}", "@{ZB}"], "strides": ["2*align(@{b_cols}, 8)", "2*align(@{b_cols}, 8)*@{b_rows}"], "box": [64, "@{across_b} ? 64 : @{bn}/@{cluster}", 1], "swizzle": "128B", "l2promo": "256B" },
    "packedFew16": { "tensor": "packA", "dtype": "float16", "dims": ["@{a_cols}", "@{a_rows}", "@{ZA}"], "strides": ["2*align(@{a_cols}, 8)", "2*align(@{a_cols}, 8)*@{a_rows}"], "box": [64, 16, 1], "swizzle": "128B" },
    "packedFew64": { "tensor": "packA", "dtype": "float16", "dims": ["@{a_cols}", "@{a_rows}", "@{ZA}"], "strides": ["2*align(@{a_cols}, 8)", "2*align(@{a_cols}, 8)*@{a_rows}"], "box": [64, 64, 1], "swizzle": "128B" },
    "packedRows": { "tensor": "packB", "dtype": "float16", "dims": ["@{b_cols}", "@{b_rows}", "@{ZB}"], "strides": ["2*align(@{b_cols}, 8)", "2*align(@{b_cols}, 8)*@{b_rows}"], "box": [64, 64, 1], "swizzle": "128B" } },
  "workspace": { "packA": { "bytes": "2*@{ZA}*@{a_rows}*align(@{a_cols}, 8)", "init": "none" },
                 "packB": { "bytes": "2*@{ZB}*@{b_rows}*align(@{b_cols}, 8)", "init": "none" } } }
*/
// C = epilogue(A * B) in half precision on the tensor cores of Hopper, for each matrix of a batch.
// Either operand may be stored transposed.
//
// `gemm`: a block makes tiles of C, one after the other. Its first warpgroup is the producer: one
// thread of it asks the TMA for tiles of A and B into a ring of stages in shared memory. The other
// warpgroups are consumers: each multiplies 64 rows of the tile with all of B's columns by WGMMA,
// straight from shared memory, with the sums in registers. While they store a tile, the producer
// already loads for the next one.
//
// Two mbarriers per stage join them: `full` completes when the bytes of a stage have arrived;
// `empty` completes when every consumer warp is done with the stage. The blocks of a cluster are
// neighbours in M and need the same tile of B: each asks for a share of it and multicasts that to
// all. So `empty` counts the consumers of the whole cluster, since a producer writes into all its
// blocks.
//
// The result goes through shared memory and leaves by TMA, which cuts off what lies outside the
// matrix, as it fills with zeros on the way in. The TMA wants rows that are multiples of 16 bytes.
// If those of A or B are not, both are first copied to rows that are. If those of C are not,
// threads store the result from shared memory.
//
// `gemm_few`: A has few rows, so reading B bounds the time. A block takes 64 columns of B. They are
// the rows of its product, and the rows of A are its columns: so a tile has no more columns than
// A has rows, and nearly all of the ring is B. Where B has too few columns to keep the GPU busy,
// the blocks of a cluster share K, and add up their sums at the end.
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
constexpr bool kAcrossA = @{across_a}; // A is stored in rows of M: neighbours along M lie side by side
constexpr bool kAcrossB = @{across_b}; // B is stored in rows of N
constexpr bool kBatchA = @{batched_a}; // A has a matrix for each of the batch
constexpr bool kBatchB = @{batched_b};
constexpr int kBM = @{bm};
constexpr int kBN = @{bn};
constexpr int kStages = @{stages};
constexpr int kCluster = @{cluster};
constexpr int kGroup = @{group};

@{part:epilogue}

extern __shared__ __align__(1024) char bytes[];

@{part:wgmma}

// Neighbours along K lie side by side in shared memory, or neighbours along M or N.
constexpr GMMA::Major kMajorA = kAcrossA ? GMMA::Major::MN : GMMA::Major::K;
constexpr GMMA::Major kMajorB = kAcrossB ? GMMA::Major::MN : GMMA::Major::K;
constexpr int kPanelBytes = 64 * 64 * sizeof(T); // 64 rows or columns of C, by 64 elements of K

// Multiplies 64 rows of a tile by kCols columns.
template <int kCols, GMMA::Major kMajorRows, GMMA::Major kMajorCols>
using OpFor =
    decltype(GMMA::ss_op_selector<T, T, float, Shape<_64, Int<kCols>, _64>, kMajorRows, kMajorCols>());

@{part:cursor}

// Asks for a tile of kRows rows that begins at `row` and `k`. `cluster` is not 0 if all blocks in
// this mask get the tile.
template <int kRows, bool kAcross>
__device__ void load(const TmaDescriptor &map, uint64_t *full, T *to, int row, int k, int z,
                     uint16_t cluster = 0)
{
    constexpr uint64_t hint = static_cast<uint64_t>(TMA::CacheHintSm90::EVICT_NORMAL);
    CUTE_UNROLL
    for (int i = 0; i < (kAcross ? kRows : 64); i += 64) {
        int x = kAcross ? row + i : k, y = kAcross ? k : row;
        if (cluster)
            SM90_TMA_LOAD_MULTICAST_3D::copy(&map, full, cluster, hint, to + i * 64, x, y, z);
        else
            SM90_TMA_LOAD_3D::copy(&map, full, hint, to + i * 64, x, y, z);
    }
}

// Adds the product of one tile of each operand to the sums of this warpgroup. `scale` is for the first
// product: Zero if it does not matter what the sums were.
template <GMMA::Major kMajorRows, GMMA::Major kMajorCols, int kSums>
__device__ __forceinline__ void multiply(float (&acc)[kSums], const void *rows, const void *cols,
                                         GMMA::ScaleOut scale = GMMA::ScaleOut::One)
{
    using Op = OpFor<2 * kSums, kMajorRows, kMajorCols>;
    constexpr int kStepRows = kMajorRows == GMMA::Major::MN ? 16 * 128 : 32; // bytes, for 16 elements of K
    constexpr int kStepCols = kMajorCols == GMMA::Major::MN ? 16 * 128 : 32;
    uint64_t r = swizzled_operand(rows, kMajorRows == GMMA::Major::MN ? kPanelBytes : 16);
    uint64_t c = swizzled_operand(cols, kMajorCols == GMMA::Major::MN ? kPanelBytes : 16);
    CUTE_UNROLL
    for (int i = 0; i < 4; i++)
        begin_product<Op>(acc, i == 0 ? scale : GMMA::ScaleOut::One, make_int_sequence<kSums>{},
                          operand_behind(r, i * kStepRows), operand_behind(c, i * kStepCols));
}

/* ---- gemm ------------------------------------------------------------------------------------ */

constexpr int kConsumers = kBM / 64;
constexpr int kStageBytes = (kBM + kBN) * 64 * sizeof(T);
constexpr int kPanels = kBN < 128 ? 1 : 2; // buffers of 64 columns in which a warpgroup's sums leave

struct Smem {
    T a[kStages][kBM * 64];
    T b[kStages][kBN * 64];
    T c[kConsumers][kPanels][64 * 64];
    uint64_t full[kStages], empty[kStages];
};

struct Place {
    int m, n, z; // in tiles, and the matrix of the batch
};

// Tile number `at` of this block's cluster. The order walks down kGroup clusters before the next
// column.
__device__ Place tile_at(int at, int M, int N)
{
    int down = ceil_div(M, kCluster * kBM), across = ceil_div(N, kBN);
    int z = at / (down * across);
    at -= z * down * across;
    int group = at / (kGroup * across), in_group = at % (kGroup * across);
    int first = group * kGroup, height = min(kGroup, down - first);
    int m = kCluster * (first + in_group % height) + int(blockIdx.x % kCluster);
    return {m, in_group / height, z};
}

__device__ int tiles(int M, int N, int Z)
{
    return Z * ceil_div(M, kCluster * kBM) * ceil_div(N, kBN);
}

__device__ void produce(Smem &smem, const TmaDescriptor &mapA, const TmaDescriptor &mapB, int M,
                        int N, int K, int Z)
{
    constexpr int kPart = kBN / kCluster; // the columns of B that this block brings
    int part = int(blockIdx.x % kCluster) * kPart;
    Cursor<kStages> at;
    for (int i = blockIdx.x / kCluster; i < tiles(M, N, Z); i += gridDim.x / kCluster) {
        Place t = tile_at(i, M, N);
        for (int k = 0; k < K; k += 64, at.next()) {
            uint64_t *full = &smem.full[at.stage];
            ClusterBarrier::wait(&smem.empty[at.stage], at.phase ^ 1);
            ClusterTransactionBarrier::arrive_and_expect_tx(full, kStageBytes);
            load<kBM, kAcrossA>(mapA, full, smem.a[at.stage], t.m * kBM, k, kBatchA ? t.z : 0);
            load<kPart, kAcrossB>(mapB, full, smem.b[at.stage] + part * 64, t.n * kBN + part, k,
                                  kBatchB ? t.z : 0, kCluster > 1 ? (1 << kCluster) - 1 : 0);
        }
    }
}

// One lane of the warp for each block of the cluster says: this warp is done with the stage.
__device__ void release(Smem &smem, int stage)
{
    int lane = threadIdx.x % 32;
    ClusterBarrier::arrive(&smem.empty[stage], lane, lane < kCluster);
}

// Element i of a thread's sums lies this many rows and columns from element 0.
__device__ constexpr int row_of(int i)
{
    return i / 2 % 2 * 8;
}
__device__ constexpr int col_of(int i)
{
    return i / 4 * 8 + i % 2;
}

// Stores a warpgroup's sums, 64 rows from m and kBN columns from n, through shared memory: by the TMA,
// or by its threads.
__device__ void store(T (&c)[kPanels][64 * 64], const TmaDescriptor &mapC, bool by_tma, T *C,
                      const float (&acc)[kBN / 2], const Extra &extra, int z, int m, int n, int M, int N)
{
    int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32, barrier = threadIdx.x / 128;
    int row = warp * 16 + lane / 4, col = 2 * (lane % 4); // of the thread's first sum
    // stmatrix stores four matrices of 8x8 halves. Each lane passes the address of one row of them.
    int to_row = warp * 16 + lane % 16, to_vector = lane / 16;
    int64_t first = int64_t(z) * M * N;
    CUTE_UNROLL
    for (int panel = 0; panel < kBN / 64; panel++) {
        T *to = c[panel % kPanels];
        int left = n + panel * 64; // the panel's first column
        if (thread == 0)
            tma_store_wait<kPanels - 1>(); // the panel that left from here before was read
        NamedBarrier::sync(128, barrier);
        CUTE_UNROLL
        for (int pair = 0; pair < 4; pair++) { // 16 columns
            uint32_t halves[4];
            CUTE_UNROLL
            for (int i = 0; i < 4; i++) {
                alignas(4) T two[2];
                CUTE_UNROLL
                for (int j = 0; j < 2; j++) {
                    int at = panel * 32 + pair * 8 + i * 2 + j;
                    two[j] =
                        T(finish(acc[at], extra, first, m + row + row_of(at), n + col + col_of(at), M, N));
                }
                halves[i] = reinterpret_cast<uint32_t &>(two);
            }
            int vector = (2 * pair + to_vector) ^ (to_row % 8);
            SM90_U32x4_STSM_N::copy(halves[0], halves[1], halves[2], halves[3],
                                    *reinterpret_cast<uint128_t *>(to + to_row * 64 + vector * 8));
        }
        tma_store_fence(); // what was written is visible to the TMA
        NamedBarrier::sync(128, barrier);
        if (by_tma && thread == 0) {
            if (m < M && left < N)
                SM90_TMA_STORE_3D::copy(&mapC, to, left, m, z);
            tma_store_arrive();
        }
        if (!by_tma) {
            int x = thread % 64; // a warp stores neighbours of a row
            for (int y = thread / 64; y < 64 && m + y < M && left + x < N; y += 2)
                C[first + int64_t(m + y) * N + left + x] = to[y * 64 + (x / 8 ^ y % 8) * 8 + x % 8];
        }
    }
}

__device__ void consume(Smem &smem, const TmaDescriptor &mapC, bool by_tma, T *C, const Extra &extra,
                        int M, int N, int K, int Z)
{
    int thread = threadIdx.x - 128, group = thread / 128; // among the consumers
    float acc[kBN / 2];
    Cursor<kStages> at;
    for (int i = blockIdx.x / kCluster; i < tiles(M, N, Z); i += gridDim.x / kCluster) {
        Place t = tile_at(i, M, N);
        // One batch of WGMMA stays in flight: when batch k has been issued, the warpgroup waits for
        // batch k - 1 and hands its stage back.
        int last = -1;
        GMMA::ScaleOut scale = GMMA::ScaleOut::Zero;
        for (int k = 0; k < K; k += 64, at.next()) {
            ClusterBarrier::wait(&smem.full[at.stage], at.phase);
            fence_registers(acc);
            warpgroup_arrive();
            multiply<kMajorA, kMajorB>(acc, smem.a[at.stage] + group * 64 * 64, smem.b[at.stage], scale);
            scale = GMMA::ScaleOut::One;
            warpgroup_commit_batch();
            warpgroup_wait<1>();
            fence_registers(acc);
            if (last >= 0)
                release(smem, last);
            last = at.stage;
        }
        warpgroup_wait<0>();
        fence_registers(acc);
        release(smem, last);
        int m = t.m * kBM + group * 64, n = t.n * kBN;
        store(smem.c[group], mapC, by_tma, C, acc, extra, t.z, m, n, M, N);
    }
    if (thread % 128 == 0)
        tma_store_wait<0>(); // shared memory must outlive the reads
}

extern "C" __global__ void __launch_bounds__(128 + 2 * kBM, 1)
    gemm(const __grid_constant__ TmaDescriptor mapA, const __grid_constant__ TmaDescriptor mapB,
         const __grid_constant__ TmaDescriptor mapC, int by_tma, T *C, @{params}int M, int N, int K, int Z)
{
    auto &smem = *reinterpret_cast<Smem *>(bytes);
    if (threadIdx.x == 0) {
        for (int s = 0; s < kStages; s++) {
            ClusterBarrier::init(&smem.full[s], 1);
            ClusterBarrier::init(&smem.empty[s], kCluster * kConsumers * 4); // their warps
        }
        cutlass::arch::fence_barrier_init();
    }
    // All blocks' barriers stand before anyone uses them.
    if constexpr (kCluster > 1) {
        cluster_arrive_relaxed();
        cluster_wait();
    } else {
        __syncthreads();
    }
    if (threadIdx.x < 128) {
        if constexpr (kConsumers > 1)
            cutlass::arch::warpgroup_reg_dealloc<40>();
        if (threadIdx.x == 0)
            produce(smem, mapA, mapB, M, N, K, Z);
    } else {
        if constexpr (kConsumers > 1)
            cutlass::arch::warpgroup_reg_alloc<232>();
        consume(smem, mapC, by_tma, C, Extra{@{data}}, M, N, K, Z);
    }
    if constexpr (kCluster > 1) {
        cluster_arrive();
        cluster_wait(); // the other blocks may still arrive at our barriers
    }
}

/* ---- A with few rows ------------------------------------------------------------------------- */

// A stage has 128 elements of K: two tiles of 64 columns of B, and two of kFew rows of A.
template <int kFew>
struct FewSmem {
    static constexpr int kRing = kFew == 16 ? 11 : 7, kBytes = 2 * (64 + kFew) * 64 * sizeof(T);
    T b[2 * kRing][64 * 64];
    T a[2 * kRing][kFew * 64];
    uint64_t full[kRing], empty[kRing];
};

constexpr int kPitch = 68; // of a row of sums: those of a warp then lie in different banks

__device__ float4 read_from(const float *p, int block)
{
    float4 v;
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"(set_block_rank(cast_smem_ptr_to_uint(p), block))
                 : "memory");
    return v;
}

template <int kFew>
__device__ void run_few(const TmaDescriptor &mapA, const TmaDescriptor &mapB, T *C, const Extra &extra,
                        int M, int N, int K)
{
    auto &smem = *reinterpret_cast<FewSmem<kFew> *>(bytes);
    int share = cluster_shape().x, rank = blockIdx.x % share, tile = blockIdx.x / share;
    int across = ceil_div(N, 64), n = tile % across * 64, z = tile / across;
    int all = ceil_div(K, 128), first = rank * all / share, chunks = (rank + 1) * all / share - first;
    if (threadIdx.x == 0) {
        for (int s = 0; s < smem.kRing; s++) {
            ClusterBarrier::init(&smem.full[s], 1);
            ClusterBarrier::init(&smem.empty[s], 4); // the consumer's warps
        }
        cutlass::arch::fence_barrier_init();
    }
    __syncthreads();
    float *sums = reinterpret_cast<float *>(bytes); // [kFew][kPitch], after the ring
    Cursor<FewSmem<kFew>::kRing> at;
    if (threadIdx.x == 128) {
        for (int i = 0; i < chunks; i++, at.next()) {
            uint64_t *full = &smem.full[at.stage];
            int k = 128 * (first + i);
            ClusterBarrier::wait(&smem.empty[at.stage], at.phase ^ 1);
            ClusterTransactionBarrier::arrive_and_expect_tx(full, smem.kBytes);
            for (int half = 0; half < 2; half++) {
                load<64, kAcrossB>(mapB, full, smem.b[2 * at.stage + half], n, k + half * 64,
                                   kBatchB ? z : 0);
                load<kFew, kAcrossA>(mapA, full, smem.a[2 * at.stage + half], 0, k + half * 64,
                                     kBatchA ? z : 0);
            }
        }
    } else if (threadIdx.x < 128) {
        float acc[kFew / 2] = {}; // this block's part of K may be empty
        int last = -1;
        for (int i = 0; i < chunks; i++, at.next()) {
            ClusterBarrier::wait(&smem.full[at.stage], at.phase);
            fence_registers(acc);
            warpgroup_arrive();
            CUTE_UNROLL
            for (int half = 0; half < 2; half++)
                multiply<kMajorB, kMajorA>(acc, smem.b[2 * at.stage + half], smem.a[2 * at.stage + half]);
            warpgroup_commit_batch();
            warpgroup_wait<1>();
            fence_registers(acc);
            if (last >= 0 && threadIdx.x % 32 == 0)
                ClusterBarrier::arrive(&smem.empty[last]);
            last = at.stage;
        }
        warpgroup_wait<0>();
        fence_registers(acc);
        NamedBarrier::sync(128, 0); // no warp reads the ring now, and all that was asked for has come
        int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, col = 2 * (threadIdx.x % 4);
        CUTE_UNROLL
        for (int i = 0; i < kFew / 2; i++)
            sums[(col + col_of(i)) * kPitch + row + row_of(i)] = acc[i];
    }
    cluster_arrive();
    cluster_wait();
    // Each block adds up a part of the sums, four neighbours in a thread, and stores it.
    int part = ceil_div(kFew * 16, share);
    bool vectors = N % 4 == 0 && reinterpret_cast<uintptr_t>(C) % 8 == 0;
    int64_t start = int64_t(z) * M * N;
    for (int i = rank * part + threadIdx.x; i < min(kFew * 16, (rank + 1) * part); i += blockDim.x) {
        int m = i / 16, col = n + i % 16 * 4;
        float4 sum = read_from(sums + m * kPitch + i % 16 * 4, 0);
        for (int block = 1; block < share; block++) {
            float4 v = read_from(sums + m * kPitch + i % 16 * 4, block);
            sum = {sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w};
        }
        float in[4] = {sum.x, sum.y, sum.z, sum.w};
        alignas(8) T out[4];
        CUTE_UNROLL
        for (int j = 0; j < 4; j++)
            out[j] = T(finish(in[j], extra, start, m, col + j, M, N));
        T *to = C + start + int64_t(m) * N + col;
        if (m < M && col < N && vectors)
            *reinterpret_cast<uint2 *>(to) = reinterpret_cast<uint2 &>(out);
        for (int j = 0; j < 4 && !vectors; j++)
            if (m < M && col + j < N)
                to[j] = out[j];
    }
    cluster_arrive();
    cluster_wait(); // the other blocks may still read our sums
}

template <int kFew>
__global__ void __launch_bounds__(160, 1)
    gemm_few(const __grid_constant__ TmaDescriptor mapA, const __grid_constant__ TmaDescriptor mapB, T *C,
             @{params}int M, int N, int K)
{
    if constexpr (!kAcrossA)
        run_few<kFew>(mapA, mapB, C, Extra{@{data}}, M, N, K);
}

/* ---- rows that are no multiple of 16 bytes --------------------------------------------------- */

// Copies each row to one that begins at a multiple of 16 bytes. A thread copies 8 elements.
extern "C" __global__ void __launch_bounds__(256) pack(const T *from, T *to, int64_t rows, int64_t cols)
{
    int64_t pitch = ceil_div(cols, int64_t(8)) * 8, col = (int64_t(blockIdx.x) * 256 + threadIdx.x) * 8;
    for (int64_t row = blockIdx.y; row < rows && col < cols; row += gridDim.y) {
        alignas(16) T v[8];
        CUTE_UNROLL
        for (int i = 0; i < 8; i++)
            v[i] = col + i < cols ? from[row * cols + col + i] : T(0.f);
        *reinterpret_cast<uint4 *>(to + row * pitch + col) = reinterpret_cast<uint4 &>(v);
    }
}
