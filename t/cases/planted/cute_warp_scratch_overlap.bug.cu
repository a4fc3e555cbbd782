/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": ["cdiv(M, 8)"], "block": [256],
                  "args": ["A", "x", "y", "M", "K"] } ] }
*/
#include <cute/tensor.hpp>
using namespace cute;

// A row per warp; the lanes' sums meet in the warp's own row of shared memory.
extern "C" __global__ void matvec(const float *A, const float *x, float *y, int M, int K)
{
    __shared__ float smem[8 * 32];
    Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(M, K), LayoutRight{});
    Tensor mX = make_tensor(make_gmem_ptr(x), make_shape(K));
    Tensor scratch = make_tensor(make_smem_ptr(smem), Layout<Shape<_8, _32>, Stride<_16, _1>>{});
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x * 8 + warp;
    float sum = 0;
    for (int k = lane; k < K; k += 32)
        sum += mA(row, k) * mX(k);
    scratch(warp, lane) = sum;
    __syncwarp();
    if (lane == 0) {
        float total = 0;
        for (int i = 0; i < 32; i++)
            total += scratch(warp, i);
        y[row] = total;
    }
}
