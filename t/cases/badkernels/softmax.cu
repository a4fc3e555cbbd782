#include <cute/tensor.hpp>
#include <cub/block/block_reduce.cuh>
using namespace cute;

template <int THREADS>
__device__ float block_max(float v) {
    using BlockReduce = cub::BlockReduce<float, THREADS>;
    __shared__ typename BlockReduce::TempStorage temp;
    return BlockReduce(temp).Reduce(v, cub::Max());
}

extern "C" __global__ void softmax(const float *x, float *y, int rows, int cols)
{
    auto X = make_tensor(make_gmem_ptr(x), make_layout(make_shape(rows, cols), LayoutRight{}));
    auto Y = make_tensor(make_gmem_ptr(y), make_layout(make_shape(rows, cols), LayoutRight{}));
    auto row = X(blockIdx.x, _);
    auto out = Y(blockIdx.x, _);
    __shared__ float smax, ssum;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) m = max(m, row(i));
    m = block_max<256>(m);
    if (threadIdx.x == 0) smax = m;
    __syncthreads();
    float s = 0.f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) s += __expf(row(i) - smax);
    s = block_max<256>(s);
    if (threadIdx.x == 0) ssum = s;
    __syncthreads();
    for (int i = threadIdx.x; i < cols; i += blockDim.x) out(i) = __expf(row(i) - smax) / ssum;
}
