/* hone-plan
{ "launches": [ { "kernel": "transpose", "grid": ["N/8", "M/8"], "block": [8, 8],
                  "args": ["x", "y", "M", "N"] } ] }
*/
#include <cute/tensor.hpp>
using namespace cute;

// Tiles of 8x8, one element per thread.
extern "C" __global__ void transpose(const float *x, float *y, int M, int N)
{
    Tensor mX = make_tensor(make_gmem_ptr(x), make_shape(M, N), LayoutRight{});
    Tensor mY = make_tensor(make_gmem_ptr(y), make_shape(N, M), LayoutRight{});
    auto tile = Shape<_8, _8>{};
    Tensor gX = local_tile(mX, tile, make_coord(blockIdx.y, blockIdx.x));
    Tensor gY = local_tile(mY, tile, make_coord(blockIdx.x, blockIdx.y));
    gY(threadIdx.x, threadIdx.y) = gX(threadIdx.y, threadIdx.x);
}
