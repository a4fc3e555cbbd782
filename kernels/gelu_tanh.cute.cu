/* hone-plan
{ "launches": [ { "kernel": "gelu_vec4", "when": "alignof(x) % 16 == 0 && alignof(y) % 16 == 0",
                  "grid": ["cdiv(N, 2048)"], "block": [256], "args": ["x", "y", "N"] },
                { "kernel": "gelu_scalar", "when": "alignof(x) % 16 != 0 || alignof(y) % 16 != 0",
                  "grid": ["cdiv(N, 2048)"], "block": [256], "args": ["x", "y", "N"] } ] }
*/
// Tanh-GELU, elementwise, in CuTe. A block owns a tile of 2048 elements. The tiled copy deals them
// out in vectors of four (16 bytes) or, where the tensors are not aligned for that, one by one;
// each thread first loads all it owns (two vectors in flight), then computes, then stores. Only the
// last tile can be cut off by the end of the tensor: it is copied element by element, predicated on
// the coordinates of an identity tensor of the same shape.
#include <cute/tensor.hpp>

using namespace cute;

using Threads = Int<256>;
using TileShape = Shape<Int<2048>>;

__device__ float gelu(float v)
{
    float u = 0.7978845608f * (v + 0.044715f * v * v * v); // sqrt(2 / pi)
    return 0.5f * v * (1.f + tanhf(u));
}

template <class Vector, int kVec>
__device__ void gelu_tile(const float *x, float *y, int n)
{
    Tensor mX = make_tensor(make_gmem_ptr(x), make_shape(n));
    Tensor mY = make_tensor(make_gmem_ptr(y), make_shape(n));
    Tensor cX = make_identity_tensor(make_shape(n));
    auto tile = make_coord(blockIdx.x);
    Tensor gX = local_tile(mX, TileShape{}, tile);
    Tensor gY = local_tile(mY, TileShape{}, tile);
    Tensor gC = local_tile(cX, TileShape{}, tile);

    auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<Vector>, float>{}, Layout<Threads>{},
                                 Layout<Int<kVec>>{});
    auto thr = tiled.get_slice(threadIdx.x);
    Tensor tX = thr.partition_S(gX); // ((kVec, 1), 2048 / (256 * kVec))
    Tensor tY = thr.partition_D(gY);
    Tensor tC = thr.partition_S(gC);
    Tensor r = make_fragment_like(tX);

    bool whole = (blockIdx.x + 1) * size(TileShape{}) <= n;
    auto inside = cute::lazy::transform(tC, [&](auto c) { return elem_less(c, make_shape(n)); });
    if (whole)
        copy(tiled, tX, r);
    else
        copy_if(inside, tX, r);
    for (int i = 0; i < size(r); i++)
        if (whole || inside(i))
            r(i) = gelu(r(i));
    if (whole)
        copy(tiled, r, tY);
    else
        copy_if(inside, r, tY);
}

extern "C" __global__ void gelu_vec4(const float *x, float *y, int n)
{
    gelu_tile<uint128_t, 4>(x, y, n);
}

extern "C" __global__ void gelu_scalar(const float *x, float *y, int n)
{
    gelu_tile<uint32_t, 1>(x, y, n);
}
