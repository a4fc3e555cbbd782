/* hone-plan
{ "launches": [ { "kernel": "gemm", "grid": ["M/16", "N/8"], "block": [32],
                  "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
#include <cuda_fp16.h>
#include <cute/tensor.hpp>
using namespace cute;

// One warp makes a 16x8 tile of C; K is 64.
extern "C" __global__ void gemm(const __half *A, const __half *B, __half *C, int M, int N, int K)
{
    constexpr int kPitch = 64 + 4;
    __shared__ alignas(128) half_t a[16 * kPitch], b[8 * kPitch];
    Tensor mA = make_tensor(make_gmem_ptr((const half_t *)A), make_shape(M, K), LayoutRight{});
    Tensor mB = make_tensor(make_gmem_ptr((const half_t *)B), make_shape(N, K), LayoutRight{});
    Tensor mC = make_tensor(make_gmem_ptr((half_t *)C), make_shape(M, N), LayoutRight{});
    Tensor gA = local_tile(mA, Shape<_16, _64>{}, make_coord(blockIdx.x, 0));
    Tensor gB = local_tile(mB, Shape<_8, _64>{}, make_coord(blockIdx.y, 0));
    Tensor gC = local_tile(mC, Shape<_16, _8>{}, make_coord(blockIdx.x, blockIdx.y));
    Tensor sA = make_tensor(make_smem_ptr(a), Layout<Shape<_16, _64>, Stride<Int<kPitch>, _1>>{});
    Tensor sB = make_tensor(make_smem_ptr(b), Layout<Shape<_8, _64>, Stride<Int<kPitch>, _1>>{});
    for (int i = threadIdx.x; i < 16 * 64; i += 32)
        sA(i / 64, i % 64) = gA(i / 64, i % 64);
    for (int i = threadIdx.x; i < 8 * 64; i += 32)
        sB(i / 64, i % 64) = gB(i / 64, i % 64);
    __syncthreads();
    auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{});
    auto thr = mma.get_slice(threadIdx.x);
    Tensor rA = thr.partition_fragment_A(sA);
    Tensor rB = thr.partition_fragment_B(sB);
    Tensor acc = partition_fragment_C(mma, Shape<_16, _8>{});
    clear(acc);
    auto ldsm = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
    auto thrA = ldsm.get_slice(threadIdx.x);
    copy(ldsm, thrA.partition_S(sA), thrA.retile_D(rA));
    copy(thr.partition_B(sB), rB);
    cute::gemm(mma, rA, rB, acc);
    Tensor tC = thr.partition_C(gC);
    for (int i = 0; i < size(acc); i++)
        tC(i) = half_t(acc(i));
}
