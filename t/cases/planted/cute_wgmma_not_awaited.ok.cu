/* hone-plan
{ "launches": [ { "kernel": "gemm", "grid": ["M/64", "N/64"], "block": [128],
                  "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
#include <cuda_fp16.h>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cute/tensor.hpp>
using namespace cute;

using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
// One warpgroup makes a 64x64 tile of C; K is 64.
extern "C" __global__ void gemm(const __half *A, const __half *B, __half *C, int M, int N, int K)
{
    __shared__ alignas(1024) half_t a[64 * 64];
    __shared__ alignas(1024) half_t b[64 * 64];
    Tensor mA = make_tensor(make_gmem_ptr((const half_t *)A), make_shape(M, K), LayoutRight{});
    Tensor mB = make_tensor(make_gmem_ptr((const half_t *)B), make_shape(N, K), LayoutRight{});
    Tensor mC = make_tensor(make_gmem_ptr((half_t *)C), make_shape(M, N), LayoutRight{});
    Tensor sA = make_tensor(make_smem_ptr(a), Smem{});
    Tensor sB = make_tensor(make_smem_ptr(b), Smem{});
    for (int i = threadIdx.x; i < 64 * 64; i += 128) {
        sA(i / 64, i % 64) = mA(blockIdx.x * 64 + i / 64, i % 64);
        sB(i / 64, i % 64) = mB(blockIdx.y * 64 + i / 64, i % 64);
    }
    tma_store_fence(); // fence.proxy.async
    __syncthreads();
    auto mma = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});
    auto thr = mma.get_slice(threadIdx.x);
    Tensor rA = thr.partition_fragment_A(sA);
    Tensor rB = thr.partition_fragment_B(sB);
    Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});
    clear(acc);
    warpgroup_fence_operand(acc);
    warpgroup_arrive();
    cute::gemm(mma, rA, rB, acc);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    Tensor tC = thr.partition_C(local_tile(mC, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y)));
    for (int i = 0; i < size(acc); i++)
        tC(i) = half_t(acc(i));
}
