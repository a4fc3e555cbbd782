#include <cute/tensor.hpp>
using namespace cute;

// Vectorised add: every thread moves one 128-bit vector.
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    auto tA = make_tensor(make_gmem_ptr(a), make_shape(n));
    auto tB = make_tensor(make_gmem_ptr(b), make_shape(n));
    auto tC = make_tensor(make_gmem_ptr(c), make_shape(n));
    auto gA = zipped_divide(tA, make_shape(Int<4>{}));
    auto gB = zipped_divide(tB, make_shape(Int<4>{}));
    auto gC = zipped_divide(tC, make_shape(Int<4>{}));
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    auto vA = gA(make_coord(_, idx));
    auto vB = gB(make_coord(_, idx));
    auto vC = gC(make_coord(_, idx));
    auto rA = make_fragment_like(vA);
    auto rB = make_fragment_like(vB);
    auto rC = make_fragment_like(vC);
    copy_vectorized<128>(vA, rA);
    copy_vectorized<128>(vB, rB);
    for (int i = 0; i < size(rC); ++i) rC(i) = rA(i) + rB(i);
    copy_vectorized<128>(rC, vC);
}
