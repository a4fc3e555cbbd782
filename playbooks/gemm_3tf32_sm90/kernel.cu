/* hone-plan
{ "launches": [
    { "kernel": "pack<0>", "when": "@{pack} % 2 == 1 && @{K} >= 32", "block": [256], "smem": "4*128*33",
      "grid": ["cdiv(@{M}, 32)", "cdiv(@{K}, 128)", "@{ZA}"], "args": ["@{A}", "packA", "@{M}", "@{K}"] },
    { "kernel": "pack<1>", "when": "@{pack} >= 2 && @{K} >= 32", "block": [256], "smem": "4*128*33",
      "grid": ["cdiv(@{N}, 32)", "cdiv(@{K}, 128)", "@{ZB}"], "args": ["@{B}", "packB", "@{N}", "@{K}"] },
    { "kernel": "gemm<@{groups}>", "when": "@{pack} == 0 && @{K} >= 64 && @{can_load} && !(@{run} > 0 && @{K} <= 64 && @{N} % 4 == 0 && alignof(@{C}) >= 16)",
      "grid": ["min(@{blocks} > 0 ? @{blocks} : 1000000000, cdiv(@{swapped} ? @{N} : @{M}, 64*@{groups})*cdiv(@{swapped} ? @{M} : @{N}, @{cols})*@{Z})", 1, "@{split}"], "block": ["128 + 128*@{groups}"], "smem": "@{smem}",
      "args": ["mapA", "mapB", "@{A}", "@{B}", "@{C}", "parts", @{extra}"@{M}", "@{N}", "@{K}", "@{Z}"] },
    { "kernel": "gemm<@{groups}>", "when": "@{pack} == 1 && @{K} >= 64 && @{can_load} && !(@{run} > 0 && @{K} <= 64 && @{N} % 4 == 0 && alignof(@{C}) >= 16)",
      "grid": ["min(@{blocks} > 0 ? @{blocks} : 1000000000, cdiv(@{swapped} ? @{N} : @{M}, 64*@{groups})*cdiv(@{swapped} ? @{M} : @{N}, @{cols})*@{Z})", 1, "@{split}"], "block": ["128 + 128*@{groups}"], "smem": "@{smem}",
      "args": ["packedA", "mapB", "@{A}", "@{B}", "@{C}", "parts", @{extra}"@{M}", "@{N}", "@{K}", "@{Z}"] },
    { "kernel": "gemm<@{groups}>", "when": "@{pack} == 2 && @{K} >= 64 && @{can_load} && !(@{run} > 0 && @{K} <= 64 && @{N} % 4 == 0 && alignof(@{C}) >= 16)",
      "grid": ["min(@{blocks} > 0 ? @{blocks} : 1000000000, cdiv(@{swapped} ? @{N} : @{M}, 64*@{groups})*cdiv(@{swapped} ? @{M} : @{N}, @{cols})*@{Z})", 1, "@{split}"], "block": ["128 + 128*@{groups}"], "smem": "@{smem}",
      "args": ["mapA", "packedB", "@{A}", "@{B}", "@{C}", "parts", @{extra}"@{M}", "@{N}", "@{K}", "@{Z}"] },
    { "kernel": "gemm<@{groups}>", "when": "@{pack} == 3 && @{K} >= 64 && @{can_load} && !(@{run} > 0 && @{K} <= 64 && @{N} % 4 == 0 && alignof(@{C}) >= 16)",
      "grid": ["min(@{blocks} > 0 ? @{blocks} : 1000000000, cdiv(@{swapped} ? @{N} : @{M}, 64*@{groups})*cdiv(@{swapped} ? @{M} : @{N}, @{cols})*@{Z})", 1, "@{split}"], "block": ["128 + 128*@{groups}"], "smem": "@{smem}",
      "args": ["packedA", "packedB", "@{A}", "@{B}", "@{C}", "parts", @{extra}"@{M}", "@{N}", "@{K}", "@{Z}"] },
    { "kernel": "sum_parts<@{split}>", "when": "@{split} > 1 && @{K} >= 64 && @{can_load} && !(@{run} > 0 && @{K} <= 64 && @{N} % 4 == 0 && alignof(@{C}) >= 16)",
      "grid": ["cdiv(@{Z}*@{M}*@{N}, 256)"], "block": [256],
      "args": ["parts", "@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}", "@{Z}"] },
    { "kernel": "gemm_short<@{run}>", "when": "@{pack} == 0 && @{K} >= 32 && @{can_load} && (@{run} > 0 && @{K} <= 64 && @{N} % 4 == 0 && alignof(@{C}) >= 16)",
      "grid": ["cdiv(cdiv(@{swapped} ? @{N} : @{M}, 64*@{groups}), max(1, @{run}))*cdiv(@{swapped} ? @{M} : @{N}, @{cols})", "@{Z}"], "block": ["128 + 128*@{groups}"], "smem": "@{smem_short}",
      "args": ["mapA", "mapB", "mapC", "@{A}", "@{B}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_short<@{run}>", "when": "@{pack} == 1 && @{K} >= 32 && @{can_load} && (@{run} > 0 && @{K} <= 64 && @{N} % 4 == 0 && alignof(@{C}) >= 16)",
      "grid": ["cdiv(cdiv(@{swapped} ? @{N} : @{M}, 64*@{groups}), max(1, @{run}))*cdiv(@{swapped} ? @{M} : @{N}, @{cols})", "@{Z}"], "block": ["128 + 128*@{groups}"], "smem": "@{smem_short}",
      "args": ["packedA", "mapB", "mapC", "@{A}", "@{B}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_short<@{run}>", "when": "@{pack} == 2 && @{K} >= 32 && @{can_load} && (@{run} > 0 && @{K} <= 64 && @{N} % 4 == 0 && alignof(@{C}) >= 16)",
      "grid": ["cdiv(cdiv(@{swapped} ? @{N} : @{M}, 64*@{groups}), max(1, @{run}))*cdiv(@{swapped} ? @{M} : @{N}, @{cols})", "@{Z}"], "block": ["128 + 128*@{groups}"], "smem": "@{smem_short}",
      "args": ["mapA", "packedB", "mapC", "@{A}", "@{B}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_short<@{run}>", "when": "@{pack} == 3 && @{K} >= 32 && @{can_load} && (@{run} > 0 && @{K} <= 64 && @{N} % 4 == 0 && alignof(@{C}) >= 16)",
      "grid": ["cdiv(cdiv(@{swapped} ? @{N} : @{M}, 64*@{groups}), max(1, @{run}))*cdiv(@{swapped} ? @{M} : @{N}, @{cols})", "@{Z}"], "block": ["128 + 128*@{groups}"], "smem": "@{smem_short}",
      "args": ["packedA", "packedB", "mapC", "@{A}", "@{B}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_any<4>", "when": "32 <= @{K} && @{K} < 64 && @{whole} && !(@{can_load} && (@{run} > 0 && @{K} <= 64 && @{N} % 4 == 0 && alignof(@{C}) >= 16))",
      "grid": ["cdiv(@{M}, 128)*cdiv(@{N}, 128)", "@{Z}"], "block": [256], "smem": "@{smem_mma}",
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_any<1>", "when": "32 <= @{K} && !(@{K} < 64 && @{whole}) && !(@{can_load} && (@{K} >= 64 || (@{run} > 0 && @{K} <= 64 && @{N} % 4 == 0 && alignof(@{C}) >= 16)))",
      "grid": ["cdiv(@{M}, 128)*cdiv(@{N}, 128)", "@{Z}"], "block": [256], "smem": "@{smem_mma}",
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_thin<256>", "when": "@{K} < 32 && @{whole}",
      "grid": ["cdiv(@{M}, 128)*cdiv(@{N}, 128)", "@{Z}"], "block": [256], "smem": "1024*min(@{K}, 32)",
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_few<16>", "when": "@{K} < 32 && !(@{whole})",
      "grid": ["cdiv(@{N}, 16)", "cdiv(@{M}, 16)", "@{Z}"], "block": [16, 16],
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] } ],
  "tensormaps": {
    "mapA": { "tensor": "@{A}", "dims": [@{dims_a}], "box": [32, "@{by_k_a} ? 32 : @{swapped} ? @{cols} : 64*@{groups}", 1], "swizzle": "128B", "l2promo": "128B" },
    "mapB": { "tensor": "@{B}", "dims": [@{dims_b}], "box": [32, "@{by_k_b} ? 32 : @{swapped} ? 64*@{groups} : @{cols}", 1], "swizzle": "128B", "l2promo": "128B" },
    "packedA": { "tensor": "packA", "dtype": "float32", "dims": ["@{K}", "@{M}", "@{ZA}"], "strides": ["4*align(@{K}, 4)", "4*align(@{K}, 4)*@{M}"], "box": [32, "@{swapped} ? @{cols} : 64*@{groups}", 1], "swizzle": "128B", "l2promo": "128B" },
    "packedB": { "tensor": "packB", "dtype": "float32", "dims": ["@{K}", "@{N}", "@{ZB}"], "strides": ["4*align(@{K}, 4)", "4*align(@{K}, 4)*@{N}"], "box": [32, "@{swapped} ? 64*@{groups} : @{cols}", 1], "swizzle": "128B", "l2promo": "128B" },
    "mapC": { "tensor": "@{C}", "dims": ["@{N}", "@{M}", "@{Z}"], "box": [32, "@{swapped} ? @{cols} : 64", 1], "swizzle": "128B" } },
  "workspace": { "parts": { "bytes": "@{split} > 1 ? 4*@{split}*@{Z}*@{M}*@{N} : 16", "init": "none" },
                 "packA": { "bytes": "4*@{ZA}*@{M}*align(@{K}, 4)", "init": "none" },
                 "packB": { "bytes": "4*@{ZB}*@{N}*align(@{K}, 4)", "init": "none" } } }
*/
// C = epilogue(A * B) of fp32 matrices on the tensor cores of Hopper, for each matrix of a batch.
// Either operand may be stored transposed.
//
// WGMMA takes one operand, here R, from registers, and the other, S, from shared memory. S must lie
// there with neighbours along K side by side. R may lie in any way. So R is the operand that is stored
// by K (in rows that each belong to one k), if there is one. If R is B, the block makes a tile of the
// transposed C.
//
// The first warp of a block asks the TMA for tiles of R and S into a ring of stages in shared memory,
// 32 elements of K each. Three more warps write S's second parts (`lo`) beside them. The tensor core
// itself drops the low bits of an operand, so the tile of S as it came serves as the first parts
// (`hi`). If S is stored by K, the three warps transpose it and write both. The other warpgroups are
// consumers: each splits 64 rows of R in registers and multiplies them with S.
//
// Three mbarriers per stage join them: `full` completes when the bytes have arrived, `ready` when S is
// split, `empty` when every consumer warp is done with the stage.
//
// A kernel that the plan names as an instance of a template is compiled only if a launch uses it.
//
// TMA wants rows that are multiples of 16 bytes. `pack` copies an operand into a workspace with such
// rows along K first. Otherwise other shapes go to mma.sync. Sums of fewer than 32 terms go to kernels in
// float32 arithmetic.
//
// If K is at most 64, writing C takes most of the time (gemm_short). A block then keeps its tile of S
// and makes tiles of C for many tiles of R. A tile of C leaves through shared memory by TMA, while the
// block multiplies the next one.
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

constexpr bool kTurnedA = @{turned_a}; // A has K rows, not M
constexpr bool kTurnedB = @{turned_b}; // B has N rows, not K
constexpr bool kSwapped = @{swapped};
constexpr bool kByKR = kSwapped ? @{by_k_b} : @{by_k_a};
constexpr bool kByKS = kSwapped ? @{by_k_a} : @{by_k_b};
constexpr bool kBatchR = kSwapped ? @{batched_b} : @{batched_a}; // R has a matrix for each of the batch
constexpr bool kBatchS = kSwapped ? @{batched_a} : @{batched_b};
constexpr int kGroups = @{groups};
constexpr int kRows = 64 * kGroups;
constexpr int kCols = @{cols};
constexpr int kBK = 32;
constexpr int kDepth = @{depth};
constexpr int kPromote = @{promote} / kBK;
constexpr int kGroup = @{group};
constexpr int kSplit = @{split};

@{part:epilogue}

@{part:masked}

@{part:tf32_split}

@{part:tf32_product}

@{part:tf32_mma}

@{part:tf32_sum}

@{part:thin}

constexpr int kTileR = kRows * kBK, kTileS = kCols * kBK; // in floats
// A stage has tiles of S as they came (0), perhaps their first parts, and perhaps their second parts.
constexpr int kHi = kByKS ? 1 : 0, kLo = kHi + 1, kTilesS = kHi + (kProducts == 3 ? 2 : 1);
constexpr int kStageBytes = 4 * (kTileR + kTilesS * kTileS);
constexpr int kStages = @{stages} < 230000 / kStageBytes ? @{stages} : 230000 / kStageBytes;
constexpr int kSplitters = 96;

@{part:wgmma}

using Op = decltype(GMMA::rs_op_selector<tfloat32_t, tfloat32_t, float, Shape<_64, Int<kCols>, Int<kBK>>>());
using Sums = float[kCols / 2]; // of a thread

struct Smem {
    float r[kStages][kTileR];
    float s[kTilesS][kStages][kTileS];
    uint64_t full[kStages], ready[kStages], empty[kStages];
};

// The shared memory of gemm_short: all K of a tile of S, a ring of tiles of R, and a tile of C.
constexpr int kChunks = 2, kRingR = 4;

struct SmemShort {
    float r[kRingR][kTileR];
    float s[kTilesS][kChunks][kTileS];
    float c[kGroups][64 * kCols];
    uint64_t full[kRingR], empty[kRingR], landed[kChunks], ready[kChunks];
};

extern __shared__ __align__(1024) char bytes[];

@{part:cursor}

// Tile number `at` of a matrix: walks down kGroup tiles before the next column.
__device__ int2 tile_at(int at, int rows, int cols, int tile_rows, int tile_cols)
{
    int down = ceil_div(rows, tile_rows), across = ceil_div(cols, tile_cols);
    int group = at / (kGroup * across), in_group = at % (kGroup * across);
    int first = group * kGroup, height = min(kGroup, down - first);
    return {first + in_group % height, in_group / height};
}

// The tiles that a block makes one after the other. The warps go through them on their own, so the ring
// fills for the next tile while the last one is stored.
struct Tiles {
    int r, s, each, all, M, N, K; // rows of R and of S; tiles of a matrix and of the batch

    __device__ Tiles(int M, int N, int K, int Z) : M(M), N(N), K(K)
    {
        r = kSwapped ? N : M;
        s = kSwapped ? M : N;
        each = ceil_div(r, kRows) * ceil_div(s, kCols);
        all = each * Z;
    }

    // Calls `act` with tile (r, s) of matrix z, and with the part of K that this block adds up.
    template <class Act>
    __device__ void for_each(Act &&act) const
    {
        for (int t = blockIdx.x; t < all; t += gridDim.x) {
            int2 tile = tile_at(t % each, r, s, kRows, kCols), share = share_of_k(K);
            if (kSwapped ? is_masked(tile.y * kCols, kCols, tile.x * kRows, kRows)
                         : is_masked(tile.x * kRows, kRows, tile.y * kCols, kCols))
                share.y = share.x;
            act(tile, t / each, share);
        }
    }
};

// Asks for a tile of `high` rows of an operand. TMA writes rows of 128 bytes whose 16-byte pieces are
// permuted; a row has 32 elements of K, or 32 rows of an operand that is stored by K.
template <bool kByK, int kHigh>
__device__ void ask(const TmaDescriptor &map, uint64_t *full, float *to, int row, int k, int z)
{
    constexpr uint64_t hint = static_cast<uint64_t>(TMA::CacheHintSm90::EVICT_NORMAL);
    if constexpr (kByK)
        for (int i = 0; i < kHigh / 32; i++)
            SM90_TMA_LOAD_3D::copy(&map, full, hint, to + i * 32 * kBK, row + 32 * i, k, z);
    else
        SM90_TMA_LOAD_3D::copy(&map, full, hint, to, k, row, z);
}

__device__ void produce(Smem &smem, const TmaDescriptor &mapR, const TmaDescriptor &mapS,
                        const Tiles &tiles)
{
    Cursor<kStages> at;
    tiles.for_each([&](int2 tile, int z, int2 share) {
        for (int k = share.x; k < share.y; k += kBK, at.next()) {
            uint64_t *full = &smem.full[at.stage];
            ClusterBarrier::wait(&smem.empty[at.stage], at.phase ^ 1);
            ClusterTransactionBarrier::arrive_and_expect_tx(full, 4 * (kTileR + kTileS));
            ask<kByKR, kRows>(mapR, full, smem.r[at.stage], tile.x * kRows, k, kBatchR ? z : 0);
            ask<kByKS, kCols>(mapS, full, smem.s[0][at.stage], tile.y * kCols, k, kBatchS ? z : 0);
        }
    });
}

// The tensor core reads x without its low 13 bits.
__device__ float second_part(float x)
{
    float hi = __uint_as_float(__float_as_uint(x) & 0xffffe000);
    return __uint_as_float(to_tf32(x - hi));
}

// Splits a tile of S where it lies.
template <class Store>
__device__ void split_tile(Store &smem, int stage, int thread)
{
    float4 *s = reinterpret_cast<float4 *>(smem.s[0][stage]);
#pragma unroll 2
    for (int v = thread; v < kTileS / 4; v += kSplitters) {
        float4 x = s[v];
        if constexpr (kProducts == 3)
            reinterpret_cast<float4 *>(smem.s[kLo][stage])[v] = {second_part(x.x), second_part(x.y),
                                                             second_part(x.z), second_part(x.w)};
        else
            s[v] = {__uint_as_float(to_tf32(x.x)), __uint_as_float(to_tf32(x.y)),
                    __uint_as_float(to_tf32(x.z)), __uint_as_float(to_tf32(x.w))};
    }
}

// Transposes a tile of S and splits it, in squares of 4x4. The lanes of a warp take the squares in an
// order in which neither their reads nor their writes of 16 bytes meet in a bank.
template <class Store>
__device__ void turn_tile(Store &smem, int stage, int thread)
{
    for (int v = thread; v < kTileS / 16; v += kSplitters) {
        int p = v & 1, q = v >> 1 & 1, r = v >> 2 & 1, u = v >> 3 & 1;
        int b = p + 2 * q + 4 * (v >> 4 & 1), kb = r + 2 * (q ^ u) + 4 * (v >> 5 & 1), box = v >> 6;
        const float *from = smem.s[0][stage] + box * 32 * kBK;
        float x[4][4];
        CUTE_UNROLL
        for (int i = 0; i < 4; i++) {
            int k = 4 * kb + i;
            float4 y = *reinterpret_cast<const float4 *>(from + 32 * k + 4 * (b ^ k % 8));
            x[0][i] = y.x, x[1][i] = y.y, x[2][i] = y.z, x[3][i] = y.w;
        }
        CUTE_UNROLL
        for (int i = 0; i < 4; i++) {
            int row = 32 * box + 4 * b + i, to = 32 * row + 4 * (kb ^ row % 8);
            uint32_t hi[4], lo[4];
            CUTE_UNROLL
            for (int j = 0; j < 4; j++)
                split(x[i][j], hi[j], lo[j]);
            *reinterpret_cast<uint4 *>(smem.s[kHi][stage] + to) = {hi[0], hi[1], hi[2], hi[3]};
            if constexpr (kProducts == 3)
                *reinterpret_cast<uint4 *>(smem.s[kLo][stage] + to) = {lo[0], lo[1], lo[2], lo[3]};
        }
    }
}

// Prepares the tile of S in a stage for WGMMA, and says so.
template <class Store>
__device__ void make_ready(Store &smem, int stage)
{
    int thread = threadIdx.x - 32;
    if constexpr (kByKS)
        turn_tile(smem, stage, thread);
    else
        split_tile(smem, stage, thread);
    cutlass::arch::fence_view_async_shared(); // WGMMA sees what was written
    __syncwarp();
    if (thread % 32 == 0)
        ClusterBarrier::arrive(&smem.ready[stage]);
}

__device__ void split_all(Smem &smem, const Tiles &tiles)
{
    Cursor<kStages> at;
    tiles.for_each([&](int2, int, int2 share) {
        for (int k = share.x; k < share.y; k += kBK, at.next()) {
            ClusterBarrier::wait(&smem.full[at.stage], at.phase);
            make_ready(smem, at.stage);
        }
    });
}

// Row of the warpgroup's 64 that this thread holds as the first (half 0) or second (half 1) of the two
// that WGMMA gives it. The rows of an R that is stored by K are dealt out such that the lanes of a warp
// meet no bank conflict.
__device__ int row_of_r(int half)
{
    int warp = threadIdx.x % 128 / 32, g = threadIdx.x % 32 / 4;
    if constexpr (kByKR)
        return warp / 2 * 32 + g / 4 * 16 + warp % 2 * 8 + half * 4 + g % 4;
    else
        return warp * 16 + half * 8 + g;
}

__device__ float element_of_r(const float *r, int row, int k)
{
    if constexpr (kByKR)
        return r[row / 32 * 32 * kBK + 32 * k + 4 * (row / 4 % 8 ^ k % 8) + row % 4];
    else
        return r[32 * row + 4 * (k / 4 ^ row % 8) + k % 4];
}

// Where a thread's sums lie in a tile of R and S. `sums` has pairs of neighbours along S, for two rows of R.
struct Places {
    int row[2] = {row_of_r(0), row_of_r(1)};

    // Lanes trade sums such that eight of them have neighbours along R, if C has them side by side.
    __device__ void trade(Sums &sums)
    {
        if constexpr (kByKR && kSwapped) {
            bool upper = threadIdx.x & 16;
            CUTE_UNROLL
            for (int i = 0; i < kCols / 2; i += i % 2 ? 3 : 1) {
                float got = __shfl_xor_sync(~0u, upper ? sums[i] : sums[i + 2], 16);
                (upper ? sums[i] : sums[i + 2]) = got;
            }
            row[1] = row[0] + (upper ? 4 : 16);
            row[0] -= upper ? 12 : 0;
        }
    }

    // (m, n) of sum i in the tile that begins at row r0 of R and row s0 of S.
    __device__ int2 at(int i, int r0, int s0) const
    {
        int r = r0 + (i / 2 % 2 ? row[1] : row[0]), s = s0 + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
        return kSwapped ? int2{s, r} : int2{r, s};
    }
};

// Writes this thread's part of a tile of matrix z. `out` begins at `first`: it is C, or a matrix of the
// workspace.
__device__ void store(const float *A, const float *B, float *out, int64_t first, Sums &sums,
                      const Extra &extra, int r0, int s0, int z, int M, int N, int K)
{
    SumSet<kCols / 2> bad;
    bool pairs = N % 2 == 0 && reinterpret_cast<size_t>(out) % 8 == 0;
    Places places;
    places.trade(sums);
    CUTE_UNROLL
    for (int i = 0; i < kCols / 2; i += 2) {
        bool inside[2];
        float *to[2];
        CUTE_UNROLL
        for (int j = 0; j < 2; j++) {
            auto [m, n] = places.at(i + j, r0, s0);
            inside[j] = m < M && n < N;
            to[j] = out + first + int64_t(m) * N + n;
            if constexpr (kSplit == 1) {
                bad.add(i + j, inside[j] && !is_finite(sums[i + j]));
                sums[i + j] = finish(sums[i + j], extra, first, m, n, M, N);
            }
        }
        if (!kSwapped && pairs && inside[0])
            *reinterpret_cast<float2 *>(to[0]) = {sums[i], sums[i + 1]};
        CUTE_UNROLL
        for (int j = 0; j < 2; j++)
            if ((kSwapped || !pairs) && inside[j])
                *to[j] = sums[i + j];
    }
    A = matrix_of_a(A, z, M, K);
    B = matrix_of_b(B, z, N, K);
    bad.each([&](int i) {
        auto [m, n] = places.at(i, r0, s0);
        out[first + int64_t(m) * N + n] =
            finish(plain_product(A, B, m, n, M, N, K), extra, first, m, n, M, N);
    });
}

// Consumers take turns: while one multiplies, the others split and add up. Without turns they would all
// do the same at the same time, and the tensor cores would wait.
struct Turns {
    int group = threadIdx.x / 128 - 1;

    static constexpr bool used()
    {
        return @{turns} && kGroups > 1;
    }

    // Group 0 has the first turn. `any`: does any turn follow?
    __device__ Turns(bool any)
    {
        if (used() && any && group == kGroups - 1)
            NamedBarrier::arrive(256, 4);
    }

    __device__ void wait() const
    {
        if (used())
            NamedBarrier::sync(256, 4 + group);
    }

    // Gives the turn to the next group. `last`: the last group has no further turn.
    __device__ void pass(bool last) const
    {
        if (used() && !(last && group == kGroups - 1))
            NamedBarrier::arrive(256, 4 + (group + 1) % kGroups);
    }
};

// Adds the product of 8 elements of K: those of R from r[i] on, and those of S from k on.
template <int kSize>
__device__ __forceinline__ void multiply(Sums &part, const uint32_t (&r)[kSize], int i, uint64_t s, int k)
{
    begin_product<Op>(part, GMMA::ScaleOut::One, make_int_sequence<kCols / 2>{}, r[i], r[i + 1], r[i + 2],
                      r[i + 3], operand_behind(s, 4 * k));
}

// Adds the products of 64 rows of R and a tile of S to `part`. `wait_for_s` returns when S is split.
// `last`: no further products follow.
template <class Wait>
__device__ __forceinline__ void add_products(Sums &part, const float *r, uint64_t s_hi, uint64_t s_lo,
                                             const Turns &turns, bool last, Wait &&wait_for_s)
{
    uint32_t hi[kDepth / 2], lo[kDepth / 2];
    CUTE_UNROLL
    for (int k0 = 0; k0 < kBK; k0 += kDepth) {
        CUTE_UNROLL
        for (int i = 0; i < kDepth / 2; i++)
            split(element_of_r(r, row_of_r(i % 2), k0 + i / 2 * 4 + threadIdx.x % 4), hi[i], lo[i]);
        if (k0 == 0) {
            wait_for_s();
            turns.wait();
        }
        // The compiler may not move the splits below the fence of warpgroup_arrive().
        fence_registers(hi);
        if constexpr (kProducts == 3)
            fence_registers(lo);
        fence_registers(part);
        warpgroup_arrive();
        // The small products come first, while the sum is small too and loses little.
        if constexpr (kProducts == 3) { // without the brace, NVRTC 13.0 may drop the loop after this
            CUTE_UNROLL
            for (int i = 0; i < kDepth / 8; i++) {
                multiply(part, lo, 4 * i, s_hi, k0 + 8 * i);
                multiply(part, hi, 4 * i, s_lo, k0 + 8 * i);
            }
            warpgroup_commit_batch();
        }
        CUTE_UNROLL
        for (int i = 0; i < kDepth / 8; i++)
            multiply(part, hi, 4 * i, s_hi, k0 + 8 * i);
        warpgroup_commit_batch();
        if (k0 + kDepth == kBK) {
            if constexpr (kProducts == 3 && Turns::used())
                warpgroup_wait<1>(); // the tensor cores still have work when the next group begins
            turns.pass(last);
        }
        warpgroup_wait<0>();
        fence_registers(part);
    }
}

// Adds `part` to `sum`, and leaves the rounding errors in `part`.
__device__ void fold_all(Sums &sum, Sums &part)
{
    CUTE_UNROLL
    for (int i = 0; i < kCols / 2; i++)
        fold(sum[i], part[i]);
}

__device__ void consume(Smem &smem, const float *A, const float *B, float *out, const Extra &extra,
                        const Tiles &tiles, int Z)
{
    int thread = threadIdx.x % 128, group = threadIdx.x / 128 - 1;
    int M = tiles.M, N = tiles.N, K = tiles.K, left = 0; // stages
    uint64_t s_hi = swizzled_operand(smem.s[kHi][0]), s_lo = swizzled_operand(smem.s[kTilesS - 1][0]);
    Cursor<kStages> at;
    tiles.for_each([&](int2, int, int2 share) { left += (share.y - share.x) / kBK; });
    Turns turns(left > 0);
    tiles.for_each([&](int2 tile, int z, int2 share) {
        Sums part = {}, sum = {};
        for (int k = share.x, step = 1; k < share.y; k += kBK, step++, at.next()) {
            ClusterBarrier::wait(&smem.full[at.stage], at.phase);
            add_products(part, smem.r[at.stage] + group * 64 * kBK,
                         operand_behind(s_hi, at.stage * 4 * kTileS),
                         operand_behind(s_lo, at.stage * 4 * kTileS), turns, --left == 0,
                         [&] { ClusterBarrier::wait(&smem.ready[at.stage], at.phase); });
            if (thread % 32 == 0)
                ClusterBarrier::arrive(&smem.empty[at.stage]);
            if (step % kPromote == 0)
                fold_all(sum, part);
        }
        CUTE_UNROLL
        for (int i = 0; i < kCols / 2; i++)
            sum[i] += part[i];
        store(A, B, out, (int64_t(blockIdx.z) * Z + z) * M * N, sum, extra,
              tile.x * kRows + group * 64, tile.y * kCols, z, M, N, K);
    });
}

// The first warpgroup gives registers to the consumers. They never get more than a block of the launch
// bounds has: a consumer that asks for more waits for ever.
constexpr int kRegsAtLaunch = 65536 / (128 + 128 * kGroups) / 8 * 8; // of each thread
constexpr int kRegsFirst = kGroups == 2 ? 40 : 56, kRegsConsumer = kGroups == 2 ? 232 : 152;
static_assert(kGroups == 1 || kRegsFirst + kGroups * kRegsConsumer <= (1 + kGroups) * kRegsAtLaunch);

template <int kConsumers> // warpgroups: kGroups
__global__ void __launch_bounds__(128 + 128 * kConsumers, 1)
    gemm(const __grid_constant__ TmaDescriptor mapA, const __grid_constant__ TmaDescriptor mapB,
         const float *A, const float *B, float *C, float *parts, @{params}int M, int N, int K,
         int Z)
{
    auto &smem = *reinterpret_cast<Smem *>(bytes);
    Tiles tiles(M, N, K, Z);
    if (threadIdx.x == 0) {
        for (int s = 0; s < kStages; s++) {
            ClusterBarrier::init(&smem.full[s], 1);
            ClusterBarrier::init(&smem.ready[s], kSplitters / 32);
            ClusterBarrier::init(&smem.empty[s], kGroups * 4);
        }
        cutlass::arch::fence_barrier_init();
    }
    __syncthreads();

    if (threadIdx.x < 128) {
        if constexpr (kGroups > 1)
            cutlass::arch::warpgroup_reg_dealloc<kRegsFirst>();
        if (threadIdx.x == 0)
            produce(smem, kSwapped ? mapB : mapA, kSwapped ? mapA : mapB, tiles);
        if (threadIdx.x >= 32)
            split_all(smem, tiles);
    } else {
        if constexpr (kGroups > 1)
            cutlass::arch::warpgroup_reg_alloc<kRegsConsumer>();
        consume(smem, A, B, kSplit > 1 ? parts : C, Extra{@{data}}, tiles, Z);
    }
}

// ---- short K -----------------------------------------------------------------------------------

// The tiles of C that a block makes: one tile of S, and tiles `first` to `end` - 1 of R.
struct Run {
    int s, first, end;

    // Does the epilogue ignore the products of this tile?
    __device__ bool skips(int r) const
    {
        return kSwapped ? is_masked(s * kCols, kCols, r * kRows, kRows)
                        : is_masked(r * kRows, kRows, s * kCols, kCols);
    }
};

__device__ void produce_short(SmemShort &smem, const TmaDescriptor &mapR, const TmaDescriptor &mapS,
                              const Run &run, int chunks)
{
    for (int c = 0; c < chunks; c++) {
        ClusterTransactionBarrier::arrive_and_expect_tx(&smem.landed[c], 4 * kTileS);
        ask<kByKS, kCols>(mapS, &smem.landed[c], smem.s[0][c], run.s * kCols, c * kBK,
                          kBatchS ? blockIdx.y : 0);
    }
    Cursor<kRingR> at;
    for (int r = run.first; r < run.end; r++)
        for (int c = 0; c < chunks && !run.skips(r); c++, at.next()) {
            uint64_t *full = &smem.full[at.stage];
            ClusterBarrier::wait(&smem.empty[at.stage], at.phase ^ 1);
            ClusterTransactionBarrier::arrive_and_expect_tx(full, 4 * kTileR);
            ask<kByKR, kRows>(mapR, full, smem.r[at.stage], r * kRows, c * kBK,
                              kBatchR ? blockIdx.y : 0);
        }
}

// Writes this thread's part of a tile to shared memory as TMA wants it: panels of 32 columns of C, in
// rows of 128 bytes whose 16-byte pieces are permuted.
__device__ void stage_tile(float *to, const float *A, const float *B, Sums &sums, const Extra &extra,
                           int r0, int s0, int M, int N, int K)
{
    int64_t first = int64_t(blockIdx.y) * M * N;
    int m0 = kSwapped ? s0 : r0, n0 = kSwapped ? r0 : s0;
    SumSet<kCols / 2> bad;
    Places places;
    places.trade(sums);
    auto address = [&](int m, int n) {
        constexpr int kHigh = kSwapped ? kCols : 64;
        m -= m0, n -= n0;
        return to + n / 32 * kHigh * 32 + m * 32 + ((n / 4 ^ m) & 7) * 4 + n % 4;
    };
    CUTE_UNROLL
    for (int i = 0; i < kCols / 2; i += 2) {
        CUTE_UNROLL
        for (int j = 0; j < 2; j++) {
            auto [m, n] = places.at(i + j, r0, s0);
            bad.add(i + j, m < M && n < N && !is_finite(sums[i + j]));
            sums[i + j] = finish(sums[i + j], extra, first, m, n, M, N);
            if constexpr (kSwapped)
                *address(m, n) = sums[i + j];
        }
        auto [m, n] = places.at(i, r0, s0);
        if constexpr (!kSwapped)
            *reinterpret_cast<float2 *>(address(m, n)) = {sums[i], sums[i + 1]};
    }
    A = matrix_of_a(A, blockIdx.y, M, K);
    B = matrix_of_b(B, blockIdx.y, N, K);
    bad.each([&](int i) {
        auto [m, n] = places.at(i, r0, s0);
        *address(m, n) = finish(plain_product(A, B, m, n, M, N, K), extra, first, m, n, M, N);
    });
}

// Asks the TMA to write the 64 rows of R of a consumer.
__device__ void write_tile(const TmaDescriptor &mapC, const float *from, int r0, int s0, int M, int N)
{
    int m = kSwapped ? s0 : r0, n = kSwapped ? r0 : s0;
    for (int panel = 0; panel < (kSwapped ? 64 : kCols) / 32; panel++)
        if (m < M && n + 32 * panel < N)
            SM90_TMA_STORE_3D::copy(&mapC, from + panel * 32 * (kSwapped ? kCols : 64), n + 32 * panel, m,
                                    blockIdx.y);
    tma_store_arrive();
}

__device__ void consume_short(SmemShort &smem, const TmaDescriptor &mapC, const float *A, const float *B,
                              const Extra &extra, const Run &run, int chunks, int M, int N, int K)
{
    int thread = threadIdx.x % 128, group = threadIdx.x / 128 - 1;
    uint64_t s_hi = swizzled_operand(smem.s[kHi][0]), s_lo = swizzled_operand(smem.s[kTilesS - 1][0]);
    Cursor<kRingR> at;
    int left = 0; // products
    for (int r = run.first; r < run.end; r++)
        left += run.skips(r) ? 0 : chunks;
    Turns turns(left > 0);
    for (int r = run.first; r < run.end; r++) {
        int r0 = r * kRows + group * 64, s0 = run.s * kCols;
        Sums part = {}, sum = {};
        for (int c = 0; c < chunks && !run.skips(r); c++, at.next()) {
            ClusterBarrier::wait(&smem.full[at.stage], at.phase);
            add_products(part, smem.r[at.stage] + group * 64 * kBK, operand_behind(s_hi, c * 4 * kTileS),
                         operand_behind(s_lo, c * 4 * kTileS), turns, --left == 0,
                         [&] { ClusterBarrier::wait(&smem.ready[c], 0); });
            if (thread % 32 == 0)
                ClusterBarrier::arrive(&smem.empty[at.stage]);
            fold_all(sum, part);
        }
        CUTE_UNROLL
        for (int i = 0; i < kCols / 2; i++)
            sum[i] += part[i];
        if (thread == 0)
            tma_store_wait<0>(); // the TMA has read the tile before this one
        NamedBarrier::sync(128, 1 + group);
        stage_tile(smem.c[group], A, B, sum, extra, r0, s0, M, N, K);
        tma_store_fence();                  // what was written is visible to the TMA
        NamedBarrier::sync(128, 1 + group); // and written by all of this warpgroup
        if (thread == 0)
            write_tile(mapC, smem.c[group], r0, s0, M, N);
    }
    if (thread == 0)
        tma_store_wait<0>(); // shared memory must outlive the reads
}

template <int kRun>
__global__ void __launch_bounds__(128 + 128 * kGroups, 1)
    gemm_short(const __grid_constant__ TmaDescriptor mapA, const __grid_constant__ TmaDescriptor mapB,
               const __grid_constant__ TmaDescriptor mapC, const float *A, const float *B,
               @{params}int M, int N, int K)
{
    auto &smem = *reinterpret_cast<SmemShort *>(bytes);
    int across = ceil_div(kSwapped ? M : N, kCols), down = ceil_div(kSwapped ? N : M, kRows);
    int first = int(blockIdx.x) / across * kRun, chunks = ceil_div(K, kBK);
    Run run = {int(blockIdx.x) % across, first, min(first + kRun, down)};

    if (threadIdx.x == 0) {
        for (int s = 0; s < kRingR; s++) {
            ClusterBarrier::init(&smem.full[s], 1);
            ClusterBarrier::init(&smem.empty[s], kGroups * 4);
        }
        for (int c = 0; c < kChunks; c++) {
            ClusterBarrier::init(&smem.landed[c], 1);
            ClusterBarrier::init(&smem.ready[c], kSplitters / 32);
        }
        cutlass::arch::fence_barrier_init();
    }
    __syncthreads();

    if (threadIdx.x < 128) {
        if constexpr (kGroups > 1)
            cutlass::arch::warpgroup_reg_dealloc<kRegsFirst>();
        if (threadIdx.x == 0)
            produce_short(smem, kSwapped ? mapB : mapA, kSwapped ? mapA : mapB, run, chunks);
        for (int c = 0; c < chunks && threadIdx.x >= 32; c++) {
            ClusterBarrier::wait(&smem.landed[c], 0);
            make_ready(smem, c);
        }
    } else {
        if constexpr (kGroups > 1)
            cutlass::arch::warpgroup_reg_alloc<kRegsConsumer>();
        consume_short(smem, mapC, A, B, Extra{@{data}}, run, chunks, M, N, K);
    }
}

// ---- other shapes ------------------------------------------------------------------------------

// Copies an operand, 32 rows and 128 of K in a block, into rows along K that are multiples of 16 bytes.
// Operand 0 is A, 1 is B.
template <int kOperand>
__global__ void __launch_bounds__(256) pack(const float *from, float *to, int rows, int K)
{
    constexpr bool kByK = kOperand == 0 ? kTurnedA : !kTurnedB; // the operand has a row for each k
    auto tile = reinterpret_cast<float(*)[33]>(bytes); // 128 of them
    int x = threadIdx.x % 32, y = threadIdx.x / 32, row0 = blockIdx.x * 32, k0 = blockIdx.y * 128;
    int pitch = (K + 3) / 4 * 4;
    from += int64_t(blockIdx.z) * rows * K;
    to += int64_t(blockIdx.z) * rows * pitch;
    CUTE_UNROLL
    for (int i = 0; i < (kByK ? 16 : 0); i++) {
        int k = k0 + 8 * i + y;
        if (row0 + x < rows && k < K)
            tile[8 * i + y][x] = from[int64_t(k) * rows + row0 + x];
    }
    if constexpr (kByK)
        __syncthreads();
    CUTE_UNROLL
    for (int i = 0; i < 16; i++) {
        int row = i / 4 * 8 + y, k = i % 4 * 32 + x;
        if (row0 + row < rows && k0 + k < K)
            to[int64_t(row0 + row) * pitch + k0 + k] =
                kByK ? tile[k][row] : from[int64_t(row0 + row) * K + k0 + k];
    }
}

using Fallback = MmaTile<128, 128, 2, 4, 3, 32>;

template <int kWidth> // elements that a thread copies at once
__global__ void __launch_bounds__(256)
    gemm_any(const float *A, const float *B, float *C, @{params}int M, int N, int K)
{
    int2 tile = tile_at(blockIdx.x, M, N, Fallback::kBM, Fallback::kBN);
    mma_gemm<Fallback, kWidth, true>(reinterpret_cast<float *>(bytes), A, B, C, Extra{@{data}}, tile, M, N, K);
}

template <int kSide>
__global__ void __launch_bounds__(kSide * kSide)
    gemm_few(const float *A, const float *B, float *C, @{params}int M, int N, int K)
{
    few_terms(A, B, C, Extra{@{data}}, M, N, K);
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads, 2)
    gemm_thin(const float *A, const float *B, float *C, @{params}int M, int N, int K)
{
    thin_product(reinterpret_cast<float *>(bytes), A, B, C, Extra{@{data}},
                 tile_at(blockIdx.x, M, N, kThin, kThin), M, N, K);
}
