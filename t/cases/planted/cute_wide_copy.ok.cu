/* hone-plan
{ "launches": [ { "kernel": "gelu", "grid": ["cdiv(N, 1024)"], "block": [256],
                  "args": ["x", "y", "N"] } ] }
*/
#include <cute/tensor.hpp>
using namespace cute;
__device__ float activate(float v)
{
    return 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}
extern "C" __global__ void gelu(const float *x, float *y, int n)
{
    Tensor gX = make_tensor(make_gmem_ptr(x + blockIdx.x * 1024), make_shape(_1024{}));
    Tensor gY = make_tensor(make_gmem_ptr(y + blockIdx.x * 1024), make_shape(_1024{}));
    Tensor tX = local_tile(gX, Shape<_4>{}, make_coord(int(threadIdx.x)));
    Tensor tY = local_tile(gY, Shape<_4>{}, make_coord(int(threadIdx.x)));
    int at = blockIdx.x * 1024 + threadIdx.x * 4;
    Tensor r = make_fragment_like(tX);
    if (at + 4 <= n) {
        copy(AutoVectorizingCopyWithAssumedAlignment<32>{}, tX, r);
        for (int i = 0; i < 4; i++)
            tY(i) = activate(r(i));
    } else {
        for (int i = 0; i < 4 && at + i < n; i++)
            tY(i) = activate(tX(i));
    }
}
