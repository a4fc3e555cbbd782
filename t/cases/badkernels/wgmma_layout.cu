#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void wg2(const half_t *A, const half_t *B, float *C)
{
    __shared__ alignas(128) half_t sa[64 * 64], sb[64 * 64];
    Tensor sA = make_tensor(make_smem_ptr(sa), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
    Tensor sB = make_tensor(make_smem_ptr(sb), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
    for (int i = threadIdx.x; i < 4096; i += 128) { sa[i] = A[i]; sb[i] = B[i]; }
    __syncthreads();
    TiledMMA mma = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});
    auto thr = mma.get_slice(threadIdx.x);
    Tensor rA = thr.make_fragment_A(thr.partition_A(sA));
    Tensor rB = thr.make_fragment_B(thr.partition_B(sB));
    Tensor gC = make_tensor(make_gmem_ptr(C), Shape<_64, _64>{}, Stride<_64, _1>{});
    Tensor acc = thr.make_fragment_C(thr.partition_C(gC));
    clear(acc);
    warpgroup_arrive();
    gemm(mma, rA, rB, acc);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    copy(acc, thr.partition_C(gC));
}
