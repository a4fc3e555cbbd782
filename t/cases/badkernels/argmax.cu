#include <cute/tensor.hpp>
using namespace cute;

struct Pair { float v; int i; };

__device__ Pair better(Pair a, Pair b) { return a.v > b.v || (a.v == b.v && a.i < b.i) ? a : b; }

extern "C" __global__ void argmax(const float *x, int *idx, int R, int C)
{
    Tensor X = make_tensor(make_gmem_ptr(x), make_shape(R, C), LayoutRight{});
    Tensor row = X(blockIdx.x, _);
    Pair best{-FLT_MAX, 0};
    for (int i = threadIdx.x; i < size(row); i += blockDim.x) best = better(best, Pair{row(i), i});
    for (int o = 16; o; o >>= 1) {
        Pair other = __shfl_xor_sync(0xffffffffu, best, o);
        best = better(best, other);
    }
    if (threadIdx.x == 0) idx[blockIdx.x] = best.i;
}
