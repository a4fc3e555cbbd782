/* hone-plan
{ "launches": [ { "kernel": "gemm", "grid": ["cdiv(M,64)", "cdiv(N,64)"], "block": [128],
                  "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
#include <cuda_fp16.h>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cute/tensor.hpp>
using namespace cute;

using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
// One warpgroup makes a 64x64 tile of C, padded with zeros; a wgmma takes all four of its warps.
extern "C" __global__ void gemm(const half_t *A, const half_t *B, half_t *C, int M, int N, int K)
{
    __shared__ alignas(1024) half_t a[64 * 64];
    __shared__ alignas(1024) half_t b[64 * 64];
    Tensor sA = make_tensor(make_smem_ptr(a), Smem{});
    Tensor sB = make_tensor(make_smem_ptr(b), Smem{});
    auto mma = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});
    auto thr = mma.get_slice(threadIdx.x);
    Tensor rA = thr.partition_fragment_A(sA);
    Tensor rB = thr.partition_fragment_B(sB);
    Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});
    clear(acc);
    int row = blockIdx.x * 64, col = blockIdx.y * 64;
    for (int k = 0; k < K; k += 64) {
        __syncthreads();
        for (int i = threadIdx.x; i < 64 * 64; i += 128) {
            int r = i / 64, c = k + i % 64;
            sA(r, i % 64) = row + r < M && c < K ? A[(row + r) * K + c] : half_t(0);
            sB(r, i % 64) = col + r < N && c < K ? B[(col + r) * K + c] : half_t(0);
        }
        tma_store_fence(); // fence.proxy.async
        __syncthreads();
        if (row < M) {
            warpgroup_fence_operand(acc);
            warpgroup_arrive();
            cute::gemm(mma, rA, rB, acc);
            warpgroup_commit_batch();
            warpgroup_wait<0>();
        }
    }
    Tensor rc = thr.partition_C(make_identity_tensor(Shape<_64, _64>{}));
    for (int i = 0; i < size(acc); i++) {
        int r = row + get<0>(rc(i)), c = col + get<1>(rc(i));
        if (r < M && c < N)
            C[r * N + c] = half_t(acc(i));
    }
}
