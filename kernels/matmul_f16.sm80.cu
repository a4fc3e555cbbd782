/* hone-plan
{ "launches": [
    { "kernel": "gemm", "when": "K % 8 == 0 && alignof(A) % 16 == 0 && alignof(B) % 16 == 0",
      "grid": ["cdiv(M, 128)", "cdiv(N, 128)"], "block": [128], "smem": "3*(128 + 128)*64*2",
      "args": ["A", "B", "C", "M", "N", "K"] },
    { "kernel": "gemm_simple", "when": "K % 8 != 0 || alignof(A) % 16 != 0 || alignof(B) % 16 != 0",
      "grid": ["cdiv(N, 16)", "cdiv(M, 16)"], "block": [16, 16],
      "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
// C = A * B^T for Ampere and later, in CuTe: cp.async, ldmatrix, mma.sync.
//
// A block makes a 128x128 tile of C with four warps, 64x64 each. Shared memory holds three stages
// of a 128x64 tile of A and one of B; while one stage is multiplied, the next two are on their way
// by cp.async. The rows of a stage are 64 halves (128 bytes) and swizzled in units of 8 halves, so
// that both the 16-byte writes of cp.async and the reads of ldmatrix meet no bank conflict.
// Outside the matrices cp.async fills with zeros (also past K, in units of 8: hence K % 8 == 0).
// The result goes through shared memory once more, to leave in rows of 16-byte stores.
// Shapes or addresses that cp.async cannot take go to a simple kernel at the end.
#include <cuda_fp16.h>
#include <cute/tensor.hpp>

using namespace cute;

constexpr int kStages = 3;
using BM = Int<128>;
using BN = Int<128>;
using BK = Int<64>;

using SmemAtom =
    decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
using SmemA = decltype(tile_to_shape(SmemAtom{}, Shape<BM, BK, Int<kStages>>{}));
using SmemB = decltype(tile_to_shape(SmemAtom{}, Shape<BN, BK, Int<kStages>>{}));
// + 8: the rows of a column of fragments then start in different banks.
using SmemC = Layout<Shape<BM, BN>, Stride<Int<BN::value + 8>, _1>>;

// 16 rows by 8 vectors of 8 halves per step.
using CpAsync = Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, half_t>;
using GmemCopy = decltype(make_tiled_copy(CpAsync{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{},
                                          Layout<Shape<_1, _8>>{}));
using Mma = decltype(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2>>{},
                                    Tile<_32, _32, _16>{}));
using LdMatrix = Copy_Atom<SM75_U32x4_LDSM_N, half_t>;

// Loads this thread's part of tile k of one operand into a stage; zeros outside the matrix.
template <class Src, class Dst, class Rows>
__device__ void load_tile(const Src &src, const Dst &dst, const Rows &row_ok, bool k_ok, int k,
                          int stage)
{
    Tensor ok = make_tensor<bool>(make_shape(size<1>(src), _1{}));
    CUTE_UNROLL
    for (int i = 0; i < size(ok); i++)
        ok(i) = row_ok(i) && k_ok;
    copy_if(GmemCopy{}, ok, src(_, _, _, k), dst(_, _, _, stage));
}

// Tells which of the rows that this thread loads exist.
template <class Coords>
__device__ auto rows_inside(const Coords &coords, int rows)
{
    Tensor ok = make_tensor<bool>(make_shape(size<1>(coords)));
    CUTE_UNROLL
    for (int i = 0; i < size(ok); i++)
        ok(i) = get<0>(coords(0, i, 0)) < rows;
    return ok;
}

extern "C" __global__ void __launch_bounds__(128)
    gemm(const __half *A, const __half *B, __half *C, int M, int N, int K)
{
    extern __shared__ __align__(128) char smem[];
    auto block = make_coord(blockIdx.x, blockIdx.y);
    auto ptr = [](auto *p) { return reinterpret_cast<const half_t *>(p); };
    Tensor mA = make_tensor(make_gmem_ptr(ptr(A)), make_shape(M, K), make_stride(int64_t(K), _1{}));
    Tensor mB = make_tensor(make_gmem_ptr(ptr(B)), make_shape(N, K), make_stride(int64_t(K), _1{}));
    Tensor mC = make_tensor(make_gmem_ptr(reinterpret_cast<half_t *>(C)), make_shape(M, N),
                            make_stride(int64_t(N), _1{}));
    Tensor gA = local_tile(mA, Shape<BM, BK>{}, make_coord(get<0>(block), _)); // (BM, BK, k tiles)
    Tensor gB = local_tile(mB, Shape<BN, BK>{}, make_coord(get<1>(block), _));
    Tensor cA = local_tile(make_identity_tensor(shape(mA)), Shape<BM, BK>{},
                           make_coord(get<0>(block), 0));
    Tensor cB = local_tile(make_identity_tensor(shape(mB)), Shape<BN, BK>{},
                           make_coord(get<1>(block), 0));
    half_t *stages = reinterpret_cast<half_t *>(smem);
    Tensor sA = make_tensor(make_smem_ptr(stages), SmemA{});
    Tensor sB = make_tensor(make_smem_ptr(stages + cosize_v<SmemA>), SmemB{});

    // Global to shared memory.
    auto thr = GmemCopy{}.get_slice(threadIdx.x);
    Tensor tAg = thr.partition_S(gA); // (8, 8, 1, k tiles)
    Tensor tAs = thr.partition_D(sA); // (8, 8, 1, stages)
    Tensor tBg = thr.partition_S(gB);
    Tensor tBs = thr.partition_D(sB);
    Tensor okA = rows_inside(thr.partition_S(cA), M);
    Tensor okB = rows_inside(thr.partition_S(cB), N);
    int k_mine = get<1>(thr.partition_S(cA)(0, 0, 0)); // this thread's column in a tile
    int k_tiles = size<3>(tAg);
    auto load = [&](int k) {
        if (k < k_tiles) {
            bool k_ok = k * BK{} + k_mine < K;
            load_tile(tAg, tAs, okA, k_ok, k, k % kStages);
            load_tile(tBg, tBs, okB, k_ok, k, k % kStages);
        }
        cp_async_fence(); // also if nothing was loaded: the waits count groups
    };

    // Shared memory to registers, and the product.
    auto mma = Mma{}.get_slice(threadIdx.x);
    auto copyA = make_tiled_copy_A(LdMatrix{}, Mma{});
    auto copyB = make_tiled_copy_B(LdMatrix{}, Mma{});
    Tensor rA = mma.partition_fragment_A(sA(_, _, 0)); // (8, 4, 4): k in steps of 16
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
        __syncthreads();              // ... for all; and none still reads the stage loaded next
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
    Tensor sC = make_tensor(make_smem_ptr(stages), SmemC{});
    Tensor rC = make_tensor_like<half_t>(acc);
    CUTE_UNROLL
    for (int i = 0; i < size(acc); i++)
        rC(i) = half_t(acc(i));
    copy(AutoVectorizingCopy{}, rC, mma.partition_C(sC));
    __syncthreads();

    Tensor gC = local_tile(mC, Shape<BM, BN>{}, block);
    int m0 = get<0>(block) * BM{}, n0 = get<1>(block) * BN{};
    int rows = min(BM::value, M - m0), cols = min(BN::value, N - n0);
    if (N % 8 == 0 && reinterpret_cast<size_t>(C) % 16 == 0) {
        auto out = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
                                   Layout<Shape<_8, _16>, Stride<_16, _1>>{},
                                   Layout<Shape<_1, _8>>{});
        auto thrC = out.get_slice(threadIdx.x);
        Tensor inside = cute::lazy::transform(
            thrC.partition_S(make_identity_tensor(Shape<BM, BN>{})),
            [&](auto c) { return elem_less(c, make_shape(rows, cols)); });
        copy_if(out, inside, thrC.partition_S(sC), thrC.partition_D(gC));
    } else {
        for (int i = threadIdx.x; i < rows * cols; i += 128)
            gC(i / cols, i % cols) = sC(i / cols, i % cols);
    }
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
