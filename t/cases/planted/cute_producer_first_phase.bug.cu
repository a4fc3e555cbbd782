/* hone-plan
{ "launches": [ { "kernel": "transpose", "grid": ["cdiv(N, 32)"], "block": [64],
                  "args": ["tmX", "y", "M", "N"] } ],
  "tensormaps": {"tmX": {"tensor": "x", "box": [32, 8]}} }
*/
#include <cute/arch/copy_sm90_tma.hpp>
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;

struct Smem {
    alignas(128) float tile[2][8 * 32];
    uint64_t full[2], empty[2];
};
// A strip of 32 columns per block, in tiles of 8 rows through a ring of two: the first warp has the TMA
// bring them, the second writes them out turned.
extern "C" __global__ void transpose(const __grid_constant__ TmaDescriptor tmX, float *y, int M, int N)
{
    __shared__ Smem smem;
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; s++) {
            initialize_barrier(smem.full[s], 1);
            initialize_barrier(smem.empty[s], 1);
        }
        cutlass::arch::fence_barrier_init();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int tiles = ceil_div(M, 8);
        for (int k = 0; k < tiles; k++) {
            int s = k % 2, phase = k / 2 % 2;
            wait_barrier(smem.empty[s], phase);
            set_barrier_transaction_bytes(smem.full[s], sizeof smem.tile[s]);
            SM90_TMA_LOAD_2D::copy(&tmX, &smem.full[s], 0x1000000000000000, smem.tile[s], blockIdx.x * 32, k * 8);
        }
    } else if (threadIdx.x >= 32) {
        int tiles = ceil_div(M, 8), lane = threadIdx.x % 32, n = blockIdx.x * 32 + lane;
        Tensor mY = make_tensor(make_gmem_ptr(y), make_shape(N, M), LayoutRight{});
        for (int k = 0; k < tiles; k++) {
            int s = k % 2, phase = k / 2 % 2;
            wait_barrier(smem.full[s], phase);
            Tensor t = make_tensor(make_smem_ptr(smem.tile[s]), Shape<_8, _32>{}, LayoutRight{});
            if (n < N)
                for (int i = 0; i < 8; i++)
                    mY(n, k * 8 + i) = t(i, lane);
            __syncwarp();
            if (lane == 0)
                arrive_barrier(smem.empty[s]);
        }
    }
}
