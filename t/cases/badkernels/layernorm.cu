#include <cute/tensor.hpp>
using namespace cute;

template <class Engine, class Layout>
__device__ float sum(Tensor<Engine, Layout> const &t) {
    float s = 0;
    for (int i = 0; i < size(t); i++) s += t[i];
    return s;
}

extern "C" __global__ void layernorm(const float *x, const float *g, const float *b, float *y, int D)
{
    constexpr int VPT = 8;
    Tensor row = make_tensor(make_gmem_ptr(x + blockIdx.x * D), make_shape(D));
    Tensor tiled = logical_divide(row, make_shape(Int<VPT>{}));
    Tensor mine = tiled(make_coord(_, threadIdx.x), 0);
    Tensor frag = make_fragment_like<float>(mine);
    copy(AutoVectorizingCopyWithAssumedAlignment<128>{}, mine, frag);
    float s = sum(frag);
    __shared__ float sh[32];
    s = warp_reduce_sum(s);
    if (threadIdx.x % 32 == 0) sh[threadIdx.x / 32] = s;
    __syncthreads();
    float mean = 0;
    for (int i = 0; i < blockDim.x / 32; i++) mean += sh[i];
    mean /= D;
    for (int i = 0; i < VPT; i++)
        y[blockIdx.x * D + threadIdx.x * VPT + i] = (frag(i) - mean) * g[threadIdx.x * VPT + i] + b[threadIdx.x * VPT + i];
}
