/* hone-plan
{ "launches": [
    { "kernel": "gemm", "when": "@{whole} && min(alignof(@{A}), alignof(@{B})) >= 16",
      "grid": ["cdiv(@{M}, @{bm})*cdiv(@{N}, @{bn})", "@{Z}"], "block": ["32*@{warps}"],
      "smem": "max(@{stages}*(@{bm} + @{bn})*64, @{bm}*(@{bn} + 8))*2",
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_any", "when": "!(@{whole} && min(alignof(@{A}), alignof(@{B})) >= 16)",
      "grid": ["cdiv(@{N}, 16)", "cdiv(@{M}, 16)", "@{Z}"], "block": [16, 16],
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] } ] }
*/
// C = epilogue(A * B^T) or epilogue(A * B), for each matrix of a batch, for Ampere and later:
// cp.async, ldmatrix, mma.sync.
//
// A block makes a tile of C with warps in two rows. Shared memory holds a ring of stages, each a
// tile of A and one of B; while one stage is multiplied, the others are on their way by cp.async.
// The rows of a stage are 64 halves (128 bytes) and swizzled in units of 8 halves, so that both the
// 16-byte writes of cp.async and the reads of ldmatrix meet no bank conflict. Outside the matrices
// cp.async fills with zeros (also past the end of a row, in units of 8, which its length must be a
// multiple of). A B of K rows is staged as it lies, and turned by ldmatrix. The result goes through
// shared memory once more, to leave in rows of 16-byte stores. Shapes or addresses that cp.async
// cannot take go to a simple kernel at the end.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{A:type};
constexpr int kStages = @{stages};
constexpr int kWarps = @{warps};
constexpr int kGroup = @{group};
constexpr int kThreads = 32 * kWarps;
constexpr bool kTurned = @{turned}; // B has K rows, not N
using BM = Int<@{bm}>;
using BN = Int<@{bn}>;
using BK = Int<64>;

using SmemAtom =
    decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
using SmemA = decltype(tile_to_shape(SmemAtom{}, Shape<BM, BK, Int<kStages>>{}));
using SmemAtomB = conditional_t<
    kTurned, decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_64, _8>, Stride<_1, _64>>{})),
    SmemAtom>;
using SmemB = decltype(tile_to_shape(SmemAtomB{}, Shape<BN, BK, Int<kStages>>{}));
// + 8: the rows of a column of fragments then start in different banks.
using SmemC = Layout<Shape<BM, BN>, Stride<Int<BN::value + 8>, _1>>;

// A row is 8 vectors of 8 halves.
using CpAsync = Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, T>;
using GmemCopy =
    decltype(make_tiled_copy(CpAsync{}, Layout<Shape<Int<kThreads / 8>, _8>, Stride<_8, _1>>{},
                             Layout<Shape<_1, _8>>{}));
using GmemCopyB = conditional_t<
    kTurned,
    decltype(make_tiled_copy(CpAsync{}, Layout<Shape<_8, Int<kThreads / 8>>, Stride<_1, _8>>{},
                             Layout<Shape<_8, _1>>{})),
    GmemCopy>;
using MmaOp = conditional_t<is_same_v<T, half_t>, SM80_16x8x16_F32F16F16F32_TN,
                            SM80_16x8x16_F32BF16BF16F32_TN>;
using Mma = decltype(make_tiled_mma(MmaOp{}, Layout<Shape<_2, Int<kWarps / 2>>>{},
                                    Tile<_32, Int<8 * kWarps>, _16>{}));
using LdMatrix = Copy_Atom<SM75_U32x4_LDSM_N, T>;
using LdMatrixB = Copy_Atom<conditional_t<kTurned, SM75_U16x8_LDSM_T, SM75_U32x4_LDSM_N>, T>;

@{part:epilogue}

// This block's tile (m, n): walks down kGroup tiles before the next column.
__device__ int2 tile_of_block(int M, int N)
{
    int down = ceil_div(M, BM{}), across = ceil_div(N, BN{});
    int group = blockIdx.x / (kGroup * across), in_group = blockIdx.x % (kGroup * across);
    int first = group * kGroup, height = min(kGroup, down - first);
    return {first + in_group % height, in_group / height};
}

// This thread's part of tile k of one operand into a stage; zeros where there is no such row or k.
template <class Copy, class Src, class Dst, class Rows, class Coords>
__device__ void load_tile(Copy tiled, const Src &src, const Dst &dst, const Rows &row_ok,
                          const Coords &coords, int K, int k, int stage)
{
    Tensor ok = make_tensor<bool>(make_shape(size<1>(src), size<2>(src)));
    CUTE_UNROLL
    for (int j = 0; j < size<1>(ok); j++) {
        bool k_ok = k * BK{} + get<1>(coords(0, 0, j)) < K;
        CUTE_UNROLL
        for (int i = 0; i < size<0>(ok); i++)
            ok(i, j) = row_ok(i) && k_ok;
    }
    copy_if(tiled, ok, src(_, _, _, k), dst(_, _, _, stage));
}

// Which of the rows this thread loads exist.
template <class Coords>
__device__ auto rows_inside(const Coords &coords, int rows)
{
    Tensor ok = make_tensor<bool>(make_shape(size<1>(coords)));
    CUTE_UNROLL
    for (int i = 0; i < size(ok); i++)
        ok(i) = get<0>(coords(0, i, 0)) < rows;
    return ok;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm(const T *A, const T *B, T *C, @{params}int M, int N, int K)
{
    extern __shared__ __align__(128) char smem[];
    int2 tile = tile_of_block(M, N);
    A += int64_t(blockIdx.y) * M * K;
    B += int64_t(blockIdx.y) * N * K;
    int64_t first = int64_t(blockIdx.y) * M * N;
    C += first;
    Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(M, K), make_stride(int64_t(K), _1{}));
    auto b_strides = [&] {
        if constexpr (kTurned)
            return make_stride(_1{}, int64_t(N));
        else
            return make_stride(int64_t(K), _1{});
    }();
    Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(N, K), b_strides);
    Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(int64_t(N), _1{}));
    Tensor gA = local_tile(mA, Shape<BM, BK>{}, make_coord(tile.x, _)); // (BM, BK, k tiles)
    Tensor gB = local_tile(mB, Shape<BN, BK>{}, make_coord(tile.y, _));
    Tensor cA = local_tile(make_identity_tensor(shape(mA)), Shape<BM, BK>{}, make_coord(tile.x, 0));
    Tensor cB = local_tile(make_identity_tensor(shape(mB)), Shape<BN, BK>{}, make_coord(tile.y, 0));
    T *stages = reinterpret_cast<T *>(smem);
    Tensor sA = make_tensor(make_smem_ptr(stages), SmemA{});
    Tensor sB = make_tensor(make_smem_ptr(stages + cosize_v<SmemA>), SmemB{});

    // Global to shared memory.
    auto thr = GmemCopy{}.get_slice(threadIdx.x);
    auto thrGB = GmemCopyB{}.get_slice(threadIdx.x);
    Tensor tAg = thr.partition_S(gA); // (8, rows, 1, k tiles)
    Tensor tAs = thr.partition_D(sA); // (8, rows, 1, stages)
    Tensor tBg = thrGB.partition_S(gB);
    Tensor tBs = thrGB.partition_D(sB);
    Tensor tAc = thr.partition_S(cA);
    Tensor tBc = thrGB.partition_S(cB);
    Tensor okA = rows_inside(tAc, M);
    Tensor okB = rows_inside(tBc, N);
    int k_tiles = size<3>(tAg);
    auto load = [&](int k) {
        if (k < k_tiles) {
            load_tile(GmemCopy{}, tAg, tAs, okA, tAc, K, k, k % kStages);
            load_tile(GmemCopyB{}, tBg, tBs, okB, tBc, K, k, k % kStages);
        }
        cp_async_fence(); // also when there is nothing left: the waits count groups
    };

    // Shared memory to registers, and the product.
    auto mma = Mma{}.get_slice(threadIdx.x);
    auto copyA = make_tiled_copy_A(LdMatrix{}, Mma{});
    auto copyB = make_tiled_copy_B(LdMatrixB{}, Mma{});
    Tensor rA = mma.partition_fragment_A(sA(_, _, 0)); // k in steps of 16
    Tensor rB = mma.partition_fragment_B(sB(_, _, 0));
    Tensor acc = partition_fragment_C(Mma{}, Shape<BM, BN>{});
    auto thrA = copyA.get_slice(threadIdx.x);
    auto thrB = copyB.get_slice(threadIdx.x);
    Tensor tXsA = thrA.partition_S(sA);
    Tensor tXsB = thrB.partition_S(sB);
    Tensor tXrA = thrA.retile_D(rA);
    Tensor tXrB = thrB.retile_D(rB);
    clear(acc);

    CUTE_UNROLL
    for (int k = 0; k < kStages - 1; k++)
        load(k);
    for (int k = 0; k < k_tiles; k++) {
        cp_async_wait<kStages - 2>(); // tile k has landed, for this thread
        __syncthreads();              // for all; and all are done with the stage loaded next
        load(k + kStages - 1);
        int stage = k % kStages;
        CUTE_UNROLL
        for (int i = 0; i < size<2>(rA); i++) {
            copy(copyA, tXsA(_, _, i, stage), tXrA(_, _, i));
            copy(copyB, tXsB(_, _, i, stage), tXrB(_, _, i));
            cute::gemm(Mma{}, rA(_, _, i), rB(_, _, i), acc);
        }
    }
    cp_async_wait<0>();
    __syncthreads(); // the stages are free

    // Registers to shared memory to global memory.
    Extra extra{@{data}};
    int m0 = tile.x * BM{}, n0 = tile.y * BN{};
    Tensor sC = make_tensor(make_smem_ptr(stages), SmemC{});
    Tensor tC = mma.partition_C(make_identity_tensor(Shape<BM, BN>{}));
    Tensor rC = make_tensor_like<T>(acc);
    CUTE_UNROLL
    for (int i = 0; i < size(acc); i++)
        rC(i) = T(finish(acc(i), extra, first, m0 + get<0>(tC(i)), n0 + get<1>(tC(i)), M, N));
    copy(AutoVectorizingCopy{}, rC, mma.partition_C(sC));
    __syncthreads();

    Tensor gC = local_tile(mC, Shape<BM, BN>{}, make_coord(tile.x, tile.y));
    int rows = min(BM::value, M - m0), cols = min(BN::value, N - n0);
    if (N % 8 == 0 && reinterpret_cast<size_t>(C) % 16 == 0) {
        auto out = make_tiled_copy(
            Copy_Atom<UniversalCopy<uint128_t>, T>{},
            Layout<Shape<Int<kThreads / 8>, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
        auto thrC = out.get_slice(threadIdx.x);
        Tensor inside =
            cute::lazy::transform(thrC.partition_S(make_identity_tensor(Shape<BM, BN>{})),
                                  [&](auto c) { return elem_less(c, make_shape(rows, cols)); });
        copy_if(out, inside, thrC.partition_S(sC), thrC.partition_D(gC));
    } else {
        for (int i = threadIdx.x; i < rows * cols; i += kThreads)
            gC(i / cols, i % cols) = sC(i / cols, i % cols);
    }
}

// One element per thread, through 16x16 tiles in shared memory: any shape, any address.
extern "C" __global__ void gemm_any(const T *A, const T *B, T *C, @{params}int M, int N, int K)
{
    __shared__ float a[16][17], b[16][17];
    int tx = threadIdx.x, ty = threadIdx.y;
    int m = blockIdx.y * 16 + ty, n = blockIdx.x * 16 + tx, nb = blockIdx.x * 16 + ty;
    float sum = 0;
    A += int64_t(blockIdx.z) * M * K;
    B += int64_t(blockIdx.z) * N * K;
    for (int k0 = 0; k0 < K; k0 += 16) {
        int k = k0 + tx, kb = k0 + ty;
        a[ty][tx] = m < M && k < K ? float(A[int64_t(m) * K + k]) : 0.f;
        if (kTurned)
            b[tx][ty] = n < N && kb < K ? float(B[int64_t(kb) * N + n]) : 0.f;
        else
            b[ty][tx] = nb < N && k < K ? float(B[int64_t(nb) * K + k]) : 0.f;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += a[ty][i] * b[tx][i];
        __syncthreads();
    }
    Extra extra{@{data}};
    int64_t first = int64_t(blockIdx.z) * M * N;
    if (m < M && n < N)
        C[first + int64_t(m) * N + n] = T(finish(sum, extra, first, m, n, M, N));
}
