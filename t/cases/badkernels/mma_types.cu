#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void gemm_tile(const float *A, const float *B, float *C)
{
    TiledMMA mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{});
    Tensor gA = make_tensor(make_gmem_ptr(A), Shape<_16, _16>{}, Stride<_16, _1>{});
    Tensor gB = make_tensor(make_gmem_ptr(B), Shape<_8, _16>{}, Stride<_16, _1>{});
    Tensor gC = make_tensor(make_gmem_ptr(C), Shape<_16, _8>{}, Stride<_8, _1>{});
    auto thr = mma.get_slice(threadIdx.x);
    Tensor tA = thr.partition_A(gA);
    Tensor tB = thr.partition_B(gB);
    Tensor tC = thr.partition_C(gC);
    Tensor rA = make_fragment_like(tA);
    Tensor rB = make_fragment_like(tB);
    Tensor rC = make_fragment_like(tC);
    copy(tA, rA);
    copy(tB, rB);
    clear(rC);
    gemm(mma, rA, rB, rC);
    copy(rC, tC);
}
