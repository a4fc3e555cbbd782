/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": ["cdiv(M, 8)"], "block": [256],
                  "args": ["A", "x", "y", "M", "K"] } ] }
*/
#include <cute/tensor.hpp>
using namespace cute;

// A row per warp, eight per block; x goes through shared memory in tiles of 256.
extern "C" __global__ void matvec(const float *A, const float *x, float *y, int M, int K)
{
    __shared__ float smem[2 * 256];
    Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(M, K), LayoutRight{});
    Tensor gX = local_tile(make_tensor(make_gmem_ptr(x), make_shape(K)), Shape<Int<256>>{}, make_coord(_));
    Tensor sX = make_tensor(make_smem_ptr(smem), Shape<Int<256>, _2>{});
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x * 8 + warp;
    float sum = 0;
    for (int k = 0; k < size<1>(gX); k++) {
        sX(threadIdx.x, k % 2) = gX(threadIdx.x, k);
        __syncthreads();
        for (int i = lane; i < 256; i += 32)
            sum += mA(row, k * 256 + i) * sX(i, k % 2);
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0 && row < M)
        y[row] = sum;
}
