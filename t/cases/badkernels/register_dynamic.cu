#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void scale(const float *x, float *y, int n, float a)
{
    int per = n / (gridDim.x * blockDim.x);
    Tensor gx = make_tensor(make_gmem_ptr(x), make_shape(per, int(gridDim.x * blockDim.x)));
    Tensor gy = make_tensor(make_gmem_ptr(y), make_shape(per, int(gridDim.x * blockDim.x)));
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Tensor tx = gx(_, t);
    Tensor ty = gy(_, t);
    Tensor r = make_tensor<float>(shape(tx));
    copy(tx, r);
    for (int i = 0; i < size(r); i++) r(i) *= a;
    copy(r, ty);
}
