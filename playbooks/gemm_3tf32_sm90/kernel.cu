/* hone-plan
{ "launches": [
    { "kernel": "gemm", "when": "@{K} >= 64 && @{K} > @{thin} && @{whole} && min(alignof(@{A}), alignof(@{B})) >= 16 && @{swapped} == 0 && @{split} == 1",
      "grid": ["cdiv(@{M}, 64*@{groups})*cdiv(@{N}, @{cols})", "@{Z}"],
      "block": ["128 + 128*@{groups}"], "smem": "@{smem}",
      "args": ["regA", "smemB", "@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm", "when": "@{K} >= 64 && @{K} > @{thin} && @{whole} && min(alignof(@{A}), alignof(@{B})) >= 16 && @{swapped} == 1 && @{split} == 1",
      "grid": ["cdiv(@{N}, 64*@{groups})*cdiv(@{M}, @{cols})", "@{Z}"],
      "block": ["128 + 128*@{groups}"], "smem": "@{smem}",
      "args": ["regB", "smemA", "@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm", "when": "@{K} >= 64 && @{K} > @{thin} && @{whole} && min(alignof(@{A}), alignof(@{B})) >= 16 && @{swapped} == 0 && @{split} > 1",
      "grid": ["cdiv(@{M}, 64*@{groups})*cdiv(@{N}, @{cols})", "@{Z}", "@{split}"],
      "block": ["128 + 128*@{groups}"], "smem": "@{smem}",
      "args": ["regA", "smemB", "@{A}", "@{B}", "parts", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm", "when": "@{K} >= 64 && @{K} > @{thin} && @{whole} && min(alignof(@{A}), alignof(@{B})) >= 16 && @{swapped} == 1 && @{split} > 1",
      "grid": ["cdiv(@{N}, 64*@{groups})*cdiv(@{M}, @{cols})", "@{Z}", "@{split}"],
      "block": ["128 + 128*@{groups}"], "smem": "@{smem}",
      "args": ["regB", "smemA", "@{A}", "@{B}", "parts", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "sum_parts", "when": "@{K} >= 64 && @{K} > @{thin} && @{whole} && min(alignof(@{A}), alignof(@{B})) >= 16 && @{split} > 1",
      "grid": ["cdiv(@{Z}*@{M}*@{N}, 256)"], "block": [256],
      "args": ["parts", "@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}", "@{Z}"] },
    { "kernel": "gemm_vec", "when": "32 <= @{K} && @{K} < 64 && @{K} > @{thin} && @{whole} && min(alignof(@{A}), alignof(@{B})) >= 16",
      "grid": ["cdiv(@{M}, 128)*cdiv(@{N}, 128)", "@{Z}"], "block": [256], "smem": "@{smem_mma}",
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_one", "when": "32 <= @{K} && !(@{whole} && min(alignof(@{A}), alignof(@{B})) >= 16)",
      "grid": ["cdiv(@{M}, 128)*cdiv(@{N}, 128)", "@{Z}"], "block": [256], "smem": "@{smem_mma}",
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_thin", "when": "@{K} <= @{thin} && @{whole} && min(alignof(@{A}), alignof(@{B})) >= 16",
      "grid": ["cdiv(@{M}, 128)*cdiv(@{N}, 128)", "@{Z}"], "block": [256], "smem": "1024*min(@{K},@{thin})",
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_few", "when": "@{K} < 32 && !(@{K} <= @{thin} && @{whole} && min(alignof(@{A}), alignof(@{B})) >= 16)",
      "grid": ["cdiv(@{N}, 16)", "cdiv(@{M}, 16)", "@{Z}"], "block": [16, 16],
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] } ],
  "tensormaps": {
    "regA": { "tensor": "@{A}", "dims": [@{dims_a}], "box": [32, "@{by_k_a} ? 32 : 64*@{groups}", 1], "swizzle": "128B", "l2promo": "128B" },
    "regB": { "tensor": "@{B}", "dims": [@{dims_b}], "box": [32, "@{by_k_b} ? 32 : 64*@{groups}", 1], "swizzle": "128B", "l2promo": "128B" },
    "smemA": { "tensor": "@{A}", "dims": [@{dims_a}], "box": [32, "@{by_k_a} ? 32 : @{cols}", 1], "swizzle": "128B", "l2promo": "128B" },
    "smemB": { "tensor": "@{B}", "dims": [@{dims_b}], "box": [32, "@{by_k_b} ? 32 : @{cols}", 1], "swizzle": "128B", "l2promo": "128B" } },
  "workspace": { "parts": { "bytes": "4*@{split}*@{Z}*@{M}*@{N}", "init": "none" } } }
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
// TMA wants rows that are multiples of 16 bytes. Other shapes go to mma.sync. Short sums go to kernels
// in float32 arithmetic.
#include <cute/arch/cluster_sm90.hpp>
#include <cute/arch/copy_sm90.hpp>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/arch/reg_reconfig.h>

using namespace cute;
using cutlass::arch::ClusterBarrier;
using cutlass::arch::ClusterTransactionBarrier;

constexpr bool kTurnedA = @{by_k_a}; // A has K rows, not M
constexpr bool kTurnedB = !@{by_k_b}; // B has N rows, not K
constexpr bool kSwapped = @{swapped};
constexpr bool kByKR = kSwapped ? @{by_k_b} : @{by_k_a};
constexpr bool kByKS = kSwapped ? @{by_k_a} : @{by_k_b};
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

using Atom = GMMA::Layout_K_SW128_Atom<tfloat32_t>; // 8 rows of 32 elements
using SmemS = decltype(tile_to_shape(Atom{}, Shape<Int<kCols>, Int<kBK>, Int<kStages>>{}));
using Op = decltype(GMMA::rs_op_selector<tfloat32_t, tfloat32_t, float, Shape<_64, Int<kCols>, Int<kBK>>>());
using Mma = decltype(make_tiled_mma(Op{}));

struct Smem {
    float r[kStages][kTileR];
    float s[kTilesS][kStages][kTileS];
    uint64_t full[kStages], ready[kStages], empty[kStages];
};

extern __shared__ __align__(1024) char bytes[];

// Position in the ring: stage, and the parity of how often it was used.
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

// This block's tile: walks down kGroup tiles before the next column.
__device__ int2 tile_of_block(int rows, int cols, int tile_rows, int tile_cols)
{
    int down = ceil_div(rows, tile_rows), across = ceil_div(cols, tile_cols);
    int group = blockIdx.x / (kGroup * across), in_group = blockIdx.x % (kGroup * across);
    int first = group * kGroup, height = min(kGroup, down - first);
    return {first + in_group % height, in_group / height};
}

// Asks for a tile of `high` rows of an operand. TMA writes rows of 128 bytes whose 16-byte pieces are
// permuted; a row has 32 elements of K, or 32 rows of an operand that is stored by K.
template <bool kByK, int kHigh>
__device__ void ask(const TmaDescriptor &map, uint64_t *full, float *to, int row, int k)
{
    constexpr uint64_t hint = static_cast<uint64_t>(TMA::CacheHintSm90::EVICT_NORMAL);
    if constexpr (kByK)
        for (int i = 0; i < kHigh / 32; i++)
            SM90_TMA_LOAD_3D::copy(&map, full, hint, to + i * 32 * kBK, row + 32 * i, k, blockIdx.y);
    else
        SM90_TMA_LOAD_3D::copy(&map, full, hint, to, k, row, blockIdx.y);
}

__device__ void produce(Smem &smem, const TmaDescriptor &mapR, const TmaDescriptor &mapS, int2 tile,
                        int2 share)
{
    Cursor at;
    for (int k = share.x; k < share.y; k += kBK, at.next()) {
        uint64_t *full = &smem.full[at.stage];
        ClusterBarrier::wait(&smem.empty[at.stage], at.phase ^ 1);
        ClusterTransactionBarrier::arrive_and_expect_tx(full, 4 * (kTileR + kTileS));
        ask<kByKR, kRows>(mapR, full, smem.r[at.stage], tile.x * kRows, k);
        ask<kByKS, kCols>(mapS, full, smem.s[0][at.stage], tile.y * kCols, k);
    }
}

// The tensor core reads x without its low 13 bits.
__device__ float second_part(float x)
{
    float hi = __uint_as_float(__float_as_uint(x) & 0xffffe000);
    return __uint_as_float(to_tf32(x - hi));
}

// Splits a tile of S where it lies.
__device__ void split_tile(Smem &smem, int stage, int thread)
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
__device__ void turn_tile(Smem &smem, int stage, int thread)
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

__device__ void split_all(Smem &smem, int2 share)
{
    int thread = threadIdx.x - 32;
    Cursor at;
    for (int k = share.x; k < share.y; k += kBK, at.next()) {
        ClusterBarrier::wait(&smem.full[at.stage], at.phase);
        if constexpr (kByKS)
            turn_tile(smem, at.stage, thread);
        else
            split_tile(smem, at.stage, thread);
        cutlass::arch::fence_view_async_shared(); // WGMMA sees what was written
        __syncwarp();
        if (thread % 32 == 0)
            ClusterBarrier::arrive(&smem.ready[at.stage]);
    }
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

// Writes this thread's part of a tile. `sums` has pairs of neighbours along S, for two rows of R.
template <class Sums>
__device__ void store(const float *A, const float *B, float *out, Sums &sums, const Extra &extra, int r0,
                      int s0, int M, int N, int K)
{
    int64_t first = first_of_block(M, N);
    SumSet<decltype(size(sums))::value> bad;
    int row[2] = {row_of_r(0), row_of_r(1)};
    bool pairs = N % 2 == 0 && reinterpret_cast<size_t>(out) % 8 == 0;
    if constexpr (kByKR && kSwapped) {
        // Lanes trade such that eight of them have neighbours along R.
        bool upper = threadIdx.x & 16;
        CUTE_UNROLL
        for (int i = 0; i < size(sums); i += i % 2 ? 3 : 1) {
            float got = __shfl_xor_sync(~0u, upper ? sums(i) : sums(i + 2), 16);
            (upper ? sums(i) : sums(i + 2)) = got;
        }
        row[1] = row[0] + (upper ? 4 : 16);
        row[0] -= upper ? 12 : 0;
    }
    auto place = [&](int i) -> int2 { // (m, n)
        int r = r0 + (i / 2 % 2 ? row[1] : row[0]), s = s0 + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
        return kSwapped ? int2{s, r} : int2{r, s};
    };
    CUTE_UNROLL
    for (int i = 0; i < size(sums); i += 2) {
        bool inside[2];
        float *to[2];
        CUTE_UNROLL
        for (int j = 0; j < 2; j++) {
            auto [m, n] = place(i + j);
            inside[j] = m < M && n < N;
            to[j] = out + first + int64_t(m) * N + n;
            if constexpr (kSplit == 1) {
                bad.add(i + j, inside[j] && !is_finite(sums(i + j)));
                sums(i + j) = finish(sums(i + j), extra, first, m, n, M, N);
            }
        }
        if (!kSwapped && pairs && inside[0])
            *reinterpret_cast<float2 *>(to[0]) = {sums(i), sums(i + 1)};
        CUTE_UNROLL
        for (int j = 0; j < 2; j++)
            if ((kSwapped || !pairs) && inside[j])
                *to[j] = sums(i + j);
    }
    A += int64_t(blockIdx.y) * M * K;
    B += int64_t(blockIdx.y) * N * K;
    bad.each([&](int i) {
        auto [m, n] = place(i);
        out[first + int64_t(m) * N + n] =
            finish(plain_product(A, B, m, n, M, N, K), extra, first, m, n, M, N);
    });
}

__device__ void consume(Smem &smem, const float *A, const float *B, float *out, const Extra &extra,
                        int2 tile, int2 share, int M, int N, int K)
{
    int thread = threadIdx.x % 128, group = threadIdx.x / 128 - 1;
    Mma mma;
    auto thr = mma.get_slice(thread);
    auto tiles_of_s = [&](int copy) {
        auto *at = reinterpret_cast<tfloat32_t *>(smem.s[copy][0]);
        return thr.partition_fragment_B(make_tensor(make_smem_ptr(at), SmemS{})); // descriptors
    };
    Tensor sHi = tiles_of_s(kHi), sLo = tiles_of_s(kTilesS - 1);
    Tensor hi = make_tensor<tfloat32_t>(partition_shape_A(mma, Shape<_64, Int<kDepth>>{}));
    Tensor lo = make_tensor_like(hi);
    Tensor part = partition_fragment_C(mma, Shape<_64, Int<kCols>>{});
    Tensor sum = make_tensor_like(part);
    Tensor hi_bits = recast<uint32_t>(hi), lo_bits = recast<uint32_t>(lo);
    clear(part);
    clear(sum);
    mma.accumulate_ = GMMA::ScaleOut::One;

    Cursor at;
    for (int k = share.x, step = 1; k < share.y; k += kBK, step++, at.next()) {
        const float *r = smem.r[at.stage] + group * 64 * kBK;
        ClusterBarrier::wait(&smem.full[at.stage], at.phase);
        CUTE_UNROLL
        for (int k0 = 0; k0 < kBK; k0 += kDepth) {
            CUTE_UNROLL
            for (int i = 0; i < kDepth / 2; i++)
                split(element_of_r(r, row_of_r(i % 2), k0 + i / 2 * 4 + thread % 4), hi_bits(i),
                      lo_bits(i));
            if (k0 == 0)
                ClusterBarrier::wait(&smem.ready[at.stage], at.phase);
            // The compiler may not move the splits below the fence of warpgroup_arrive().
            warpgroup_fence_operand(hi);
            if constexpr (kProducts == 3)
                warpgroup_fence_operand(lo);
            warpgroup_fence_operand(part);
            warpgroup_arrive();
            // The small products come first, while the sum is small too and loses little.
            if constexpr (kProducts == 3) { // without the brace, NVRTC 13.0 may drop the loop after this
                CUTE_UNROLL
                for (int i = 0; i < kDepth / 8; i++) {
                    cute::gemm(mma, lo(_, _, i), sHi(_, _, k0 / 8 + i, at.stage), part);
                    cute::gemm(mma, hi(_, _, i), sLo(_, _, k0 / 8 + i, at.stage), part);
                }
            }
            CUTE_UNROLL
            for (int i = 0; i < kDepth / 8; i++)
                cute::gemm(mma, hi(_, _, i), sHi(_, _, k0 / 8 + i, at.stage), part);
            warpgroup_commit_batch();
            warpgroup_wait<0>();
            warpgroup_fence_operand(part);
        }
        if (thread % 32 == 0)
            ClusterBarrier::arrive(&smem.empty[at.stage]);
        if (step % kPromote == 0)
            CUTE_UNROLL
            for (int i = 0; i < size(part); i++)
                fold(sum(i), part(i));
    }

    CUTE_UNROLL
    for (int i = 0; i < size(sum); i++)
        sum(i) += part(i);
    store(A, B, out, sum, extra, tile.x * kRows + group * 64, tile.y * kCols, M, N, K);
}

// The first warpgroup gives registers to the consumers. They never get more than a block of the launch
// bounds has: a consumer that asks for more waits for ever.
constexpr int kRegsAtLaunch = 65536 / (128 + 128 * kGroups) / 8 * 8; // of each thread
constexpr int kRegsFirst = kGroups == 2 ? 40 : 56, kRegsConsumer = kGroups == 2 ? 232 : 152;
static_assert(kGroups == 1 || kRegsFirst + kGroups * kRegsConsumer <= (1 + kGroups) * kRegsAtLaunch);

extern "C" __global__ void __launch_bounds__(128 + 128 * kGroups, 1)
    gemm(const __grid_constant__ TmaDescriptor mapR, const __grid_constant__ TmaDescriptor mapS,
         const float *A, const float *B, float *out, @{params}int M, int N, int K)
{
    auto &smem = *reinterpret_cast<Smem *>(bytes);
    int2 tile = tile_of_block(kSwapped ? N : M, kSwapped ? M : N, kRows, kCols);
    int2 share = share_of_k(K);
    if (kSwapped ? is_masked(tile.y * kCols, kCols, tile.x * kRows, kRows)
                 : is_masked(tile.x * kRows, kRows, tile.y * kCols, kCols))
        share.y = share.x;

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
            produce(smem, mapR, mapS, tile, share);
        if (threadIdx.x >= 32)
            split_all(smem, share);
    } else {
        if constexpr (kGroups > 1)
            cutlass::arch::warpgroup_reg_alloc<kRegsConsumer>();
        consume(smem, A, B, out, Extra{@{data}}, tile, share, M, N, K);
    }
}

using Fallback = MmaTile<128, 128, 2, 4, 3, 32>;

template <int kWidth>
__device__ void fall_back(const float *A, const float *B, float *C, const Extra &extra, int M, int N,
                          int K)
{
    int2 tile = tile_of_block(M, N, Fallback::kBM, Fallback::kBN);
    mma_gemm<Fallback, kWidth, true>(reinterpret_cast<float *>(bytes), A, B, C, extra, tile, M, N, K);
}

extern "C" __global__ void __launch_bounds__(256)
    gemm_vec(const float *A, const float *B, float *C, @{params}int M, int N, int K)
{
    fall_back<4>(A, B, C, Extra{@{data}}, M, N, K);
}

extern "C" __global__ void __launch_bounds__(256)
    gemm_one(const float *A, const float *B, float *C, @{params}int M, int N, int K)
{
    fall_back<1>(A, B, C, Extra{@{data}}, M, N, K);
}

extern "C" __global__ void __launch_bounds__(256)
    gemm_few(const float *A, const float *B, float *C, @{params}int M, int N, int K)
{
    few_terms(A, B, C, Extra{@{data}}, M, N, K);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    gemm_thin(const float *A, const float *B, float *C, @{params}int M, int N, int K)
{
    thin_product(reinterpret_cast<float *>(bytes), A, B, C, Extra{@{data}},
                 tile_of_block(M, N, kThin, kThin), M, N, K);
}
