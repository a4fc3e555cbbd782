/* hone-plan
{ "launches": [ { "kernel": "transpose", "grid": ["N/32", "M/8"], "block": [32],
                  "args": ["tmX", "y", "M", "N"] } ],
  "tensormaps": {"tmX": {"tensor": "x", "box": [32, 8]}} }
*/
#include <cute/arch/copy_sm90_tma.hpp>
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;

struct Smem {
    uint64_t full;
    alignas(16) float tile[8 * 32];
};
// Tiles of 8 rows and 32 columns by TMA, one warp.
extern "C" __global__ void transpose(const __grid_constant__ TmaDescriptor tmX, float *y, int M, int N)
{
    __shared__ Smem smem;
    if (threadIdx.x == 0) {
        initialize_barrier(smem.full, 1);
        cutlass::arch::fence_barrier_init();
        set_barrier_transaction_bytes(smem.full, sizeof smem.tile);
        SM90_TMA_LOAD_2D::copy(&tmX, &smem.full, 0x1000000000000000, smem.tile, blockIdx.x * 32, blockIdx.y * 8);
    }
    __syncthreads();
    wait_barrier(smem.full, 0);
    Tensor s = make_tensor(make_smem_ptr(smem.tile), Shape<_8, _32>{}, LayoutRight{});
    Tensor mY = make_tensor(make_gmem_ptr(y), make_shape(N, M), LayoutRight{});
    for (int i = 0; i < 8; i++)
        mY(blockIdx.x * 32 + threadIdx.x, blockIdx.y * 8 + i) = s(i, threadIdx.x);
}
