/* hone-plan
{ "launches": [ { "kernel": "gemm", "grid": ["M/64", "N/64"], "block": [160], "args": ["tA", "tB", "C", "N", "K"] } ],
  "tensormaps": { "tA": { "tensor": "A", "box": [16, 64], "swizzle": "32B" },
                  "tB": { "tensor": "B", "box": [16, 64], "swizzle": "32B" } } }
*/
#include <cuda_fp16.h>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using Full = cutlass::arch::ClusterTransactionBarrier;
using Empty = cutlass::arch::ClusterBarrier;
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW32_Atom<half_t>{}, Shape<_64, _16>{}));
struct alignas(64) Map {
    char bytes[128];
};

// A warp loads, a warpgroup multiplies; one thread of it hands a stage back in the name of all.
extern "C" __global__ void gemm(const __grid_constant__ Map tA, const __grid_constant__ Map tB, __half *C, int N, int K)
{
    __shared__ alignas(1024) half_t a[2][64 * 16], b[2][64 * 16];
    __shared__ uint64_t full[2], empty[2];
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; s++) {
            Full::init(&full[s], 1);
            Empty::init(&empty[s], 1);
        }
        cutlass::arch::fence_barrier_init();
    }
    __syncthreads();
    if (threadIdx.x >= 128) {
        for (int k = 0; k < K / 16 && threadIdx.x == 128; k++) {
            int s = k % 2;
            Empty::wait(&empty[s], k / 2 % 2 ^ 1);
            Full::arrive_and_expect_tx(&full[s], 2 * sizeof a[0]);
            SM90_TMA_LOAD_2D::copy(&tA, &full[s], 0x1000000000000000ull, a[s], k * 16, blockIdx.x * 64);
            SM90_TMA_LOAD_2D::copy(&tB, &full[s], 0x1000000000000000ull, b[s], k * 16, blockIdx.y * 64);
        }
        return;
    }
    auto mma = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});
    auto thr = mma.get_slice(threadIdx.x);
    Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});
    clear(acc);
    for (int k = 0; k < K / 16; k++) {
        int s = k % 2;
        Full::wait(&full[s], k / 2 % 2);
        Tensor rA = thr.partition_fragment_A(make_tensor(make_smem_ptr(a[s]), Smem{}));
        Tensor rB = thr.partition_fragment_B(make_tensor(make_smem_ptr(b[s]), Smem{}));
        warpgroup_fence_operand(acc);
        warpgroup_arrive();
        cute::gemm(mma, rA, rB, acc);
        warpgroup_commit_batch();
        warpgroup_wait<0>();
        if (threadIdx.x == 96)
            Empty::arrive(&empty[s]);
    }
    warpgroup_fence_operand(acc);
    Tensor gC = make_tensor(make_gmem_ptr((half_t *)C), make_shape((int)gridDim.x * 64, N), LayoutRight{});
    Tensor tC = thr.partition_C(local_tile(gC, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y)));
    for (int i = 0; i < size(acc); i++)
        tC(i) = half_t(acc(i));
}
