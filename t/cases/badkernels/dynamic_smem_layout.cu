#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void tile_sum(const float *x, float *out, int M, int N, int bm)
{
    auto sl = make_layout(make_shape(bm, Int<32>{}));
    __shared__ float smem[size(sl)];
    Tensor s = make_tensor(make_smem_ptr(smem), sl);
    Tensor g = make_tensor(make_gmem_ptr(x), make_shape(M, N), LayoutRight{});
    Tensor t = local_tile(g, make_shape(bm, Int<32>{}), make_coord(blockIdx.x, blockIdx.y));
    for (int i = threadIdx.x; i < size(t); i += blockDim.x) s(i) = t(i);
    __syncthreads();
    if (threadIdx.x == 0) {
        float a = 0;
        for (int i = 0; i < size(s); ++i) a += s(i);
        atomicAdd(out, a);
    }
}
