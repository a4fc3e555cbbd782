#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void row_sum(const float *x, float *out, int R, int C)
{
    Tensor X = make_tensor(make_gmem_ptr(x), make_layout(make_shape(R, C), GenRowMajor{}));
    Tensor tile = local_tile(X, Shape<_1, _1024>{}, make_coord(blockIdx.x, _));
    Tensor mine = local_partition(tile(_, _, 0), Layout<Shape<_1, _256>>{}, threadIdx.x);
    float acc = 0;
    for (int k = 0; k < size<2>(tile); ++k) {
        Tensor cur = local_partition(tile(_, _, k), Layout<Shape<_1, _256>>{}, threadIdx.x);
        acc += reduce(cur, 0.0f, plus{});
    }
    for (int o = 16; o; o /= 2) acc += __shfl_down_sync(-1, acc, o);
    if (threadIdx.x % 32 == 0) atomicAdd(out + blockIdx.x, acc);
}
