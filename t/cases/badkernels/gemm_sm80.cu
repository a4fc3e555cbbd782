#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/copy_atom.hpp>
using namespace cute;

using T = cute::half_t;
using MMA = decltype(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2, _1>>{}));
using G2S = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, T>{},
                                     Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));

extern "C" __global__ void hgemm(const T *A, const T *B, T *C, int M, int N, int K)
{
    constexpr int BM = 128, BN = 128, BK = 32;
    __shared__ T smA[BM * BK];
    __shared__ T smB[BN * BK];
    Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(M, K), make_stride(K, _1{}));
    Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(N, K), make_stride(K, _1{}));
    Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(N, _1{}));
    Tensor gA = local_tile(mA, make_tile(Int<BM>{}, Int<BK>{}), make_coord(blockIdx.y, _));
    Tensor gB = local_tile(mB, make_tile(Int<BN>{}, Int<BK>{}), make_coord(blockIdx.x, _));
    Tensor gC = local_tile(mC, make_tile(Int<BM>{}, Int<BN>{}), make_coord(blockIdx.y, blockIdx.x));
    auto sLayout = make_layout(make_shape(Int<BM>{}, Int<BK>{}), make_stride(Int<BK>{}, _1{}));
    Tensor sA = make_tensor(make_smem_ptr(smA), sLayout);
    Tensor sB = make_tensor(make_smem_ptr(smB), sLayout);
    G2S g2s;
    auto thr_copy = g2s.get_thread_slice(threadIdx.x);
    Tensor tAgA = thr_copy.partition_S(gA);
    Tensor tAsA = thr_copy.partition_D(sA);
    Tensor tBgB = thr_copy.partition_S(gB);
    Tensor tBsB = thr_copy.partition_D(sB);
    MMA mma;
    auto thr_mma = mma.get_thread_slice(threadIdx.x);
    Tensor tCrA = thr_mma.partition_fragment_A(gA(_, _, 0));
    Tensor tCrB = thr_mma.partition_fragment_B(gB(_, _, 0));
    Tensor tCrC = thr_mma.partition_fragment_C(gC);
    clear(tCrC);
    auto s2rA = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, T>{}, mma);
    auto thr_s2rA = s2rA.get_slice(threadIdx.x);
    Tensor tXsA = thr_s2rA.partition_S(sA);
    Tensor tXrA = thr_s2rA.retile_D(tCrA);
    auto s2rB = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, T>{}, mma);
    auto thr_s2rB = s2rB.get_slice(threadIdx.x);
    Tensor tXsB = thr_s2rB.partition_S(sB);
    Tensor tXrB = thr_s2rB.retile_D(tCrB);
    for (int k = 0; k < size<2>(gA); ++k) {
        copy(g2s, tAgA(_, _, _, k), tAsA);
        copy(g2s, tBgB(_, _, _, k), tBsB);
        cp_async_fence();
        cp_async_wait<0>();
        __syncthreads();
        copy(s2rA, tXsA, tXrA);
        copy(s2rB, tXsB, tXrB);
        gemm(mma, tCrA, tCrB, tCrC);
        __syncthreads();
    }
    Tensor tCgC = thr_mma.partition_C(gC);
    copy(tCrC, tCgC);
}
