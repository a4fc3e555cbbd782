#include <cute/tensor.hpp>
using namespace cute;

template <class TA, class SLayout, class TiledCopy>
__global__ void pipeline_kernel(TA const *A, TA *out, int n, SLayout, TiledCopy tiled_copy)
{
    __shared__ TA smem[cosize_v<SLayout>];
    Tensor s = make_tensor(make_smem_ptr(smem), SLayout{});
    Tensor g = make_tensor(make_gmem_ptr(A), make_shape(Int<64>{}, n));
    auto thr = tiled_copy.get_slice(threadIdx.x);
    copy(tiled_copy, thr.partition_S(g), thr.partition_D(s));
}

extern "C" void launch(float const *A, float *out, int n)
{
    auto sl = make_layout(make_shape(Int<64>{}, Int<8>{}));
    auto tc = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, make_layout(Int<64>{}));
    pipeline_kernel<<<n / 8, 64>>>(A, out, n, sl, tc);
}
