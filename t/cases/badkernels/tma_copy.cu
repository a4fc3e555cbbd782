#include <cute/tensor.hpp>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;

struct alignas(64) Desc { char b[128]; };

extern "C" __global__ void tma_copy(const __grid_constant__ Desc desc, float *out, int N)
{
    __shared__ alignas(128) float tile[32 * 32];
    __shared__ alignas(8) uint64_t bar;
    if (threadIdx.x == 0) {
        initialize_barrier(bar, 1);
        set_barrier_transaction_bytes(bar, sizeof(tile));
        SM90_TMA_LOAD::copy(&desc, &bar, tile, blockIdx.x * 32, blockIdx.y * 32);
    }
    __syncthreads();
    wait_barrier(bar, 0);
    auto S = make_tensor(make_smem_ptr(tile), make_layout(make_shape(_32{}, _32{}), LayoutRight{}));
    auto O = make_tensor(make_gmem_ptr(out), make_layout(make_shape(N, N), LayoutRight{}));
    auto gO = local_tile(O, make_shape(_32{}, _32{}), make_coord(blockIdx.y, blockIdx.x));
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) gO(i / 32, i % 32) = S(i / 32, i % 32);
}
