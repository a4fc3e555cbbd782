/* hone-plan
{ "launches": [ { "kernel": "gemm", "grid": ["cdiv(M, 16)", "cdiv(N, 8)"], "block": [32],
                  "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
#include <cuda_fp16.h>
#include <cute/tensor.hpp>
using namespace cute;

// One warp makes a 16x8 tile of C; K is 64.
extern "C" __global__ void gemm(const __half *A, const __half *B, __half *C, int M, int N, int K)
{
    __shared__ half_t a[16 * 72], b[8 * 72];
    Tensor mA = make_tensor(make_gmem_ptr((const half_t *)A), make_shape(M, K), LayoutRight{});
    Tensor mB = make_tensor(make_gmem_ptr((const half_t *)B), make_shape(N, K), LayoutRight{});
    Tensor mC = make_tensor(make_gmem_ptr((half_t *)C), make_shape(M, N), LayoutRight{});
    Tensor gC = local_tile(mC, Shape<_16, _8>{}, make_coord(blockIdx.x, blockIdx.y));
    Tensor cC = local_tile(make_identity_tensor(shape(mC)), Shape<_16, _8>{}, make_coord(blockIdx.x, blockIdx.y));
    Tensor sA = make_tensor(make_smem_ptr(a), Layout<Shape<_16, _64>, Stride<Int<72>, _1>>{});
    Tensor sB = make_tensor(make_smem_ptr(b), Layout<Shape<_8, _64>, Stride<Int<72>, _1>>{});
    int m0 = blockIdx.x * 16, n0 = blockIdx.y * 8;
    for (int i = threadIdx.x; i < 16 * 64; i += 32)
        sA(i / 64, i % 64) = m0 + i / 64 < M ? mA(m0 + i / 64, i % 64) : half_t(0);
    for (int i = threadIdx.x; i < 8 * 64; i += 32)
        sB(i / 64, i % 64) = n0 + i / 64 < N ? mB(n0 + i / 64, i % 64) : half_t(0);
    __syncthreads();
    auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{});
    auto thr = mma.get_slice(threadIdx.x);
    Tensor rA = thr.partition_fragment_A(sA);
    Tensor rB = thr.partition_fragment_B(sB);
    Tensor acc = partition_fragment_C(mma, Shape<_16, _8>{});
    clear(acc);
    copy(thr.partition_A(sA), rA);
    copy(thr.partition_B(sB), rB);
    Tensor tC = thr.partition_C(gC);
    Tensor tId = thr.partition_C(cC);
        cute::gemm(mma, rA, rB, acc);
    for (int i = 0; i < size(acc); i++)
        if (elem_less(tId(i), shape(mC)))
            tC(i) = half_t(acc(i));
}
