/* hone-plan
{ "launches": [ { "kernel": "reduce_max_vec4", "when": "C % 4 == 0 && alignof(x) % 16 == 0",
                  "grid": ["cdiv(C, 128)", "min(A, 65535)"], "block": [256],
                  "args": ["x", "y", "A", "R", "C"] },
                { "kernel": "reduce_max_scalar", "when": "C % 4 != 0 || alignof(x) % 16 != 0",
                  "grid": ["cdiv(C, 32)", "min(A, 65535)"], "block": [256],
                  "args": ["x", "y", "A", "R", "C"] } ] }
*/
// y[a, c] = max over r of x[a, r, c], in CuTe. A block owns one a and a strip of columns: 32 lanes
// across (a vector of four columns each, or one column where the rows are not aligned), eight warps
// down. It walks down the rows in tiles of 64: every thread has eight independent loads in flight
// and folds them into its running maximum. At the end the eight warps meet in shared memory.
#include <cute/tensor.hpp>

using namespace cute;

template <class Vector, int kVec>
__device__ void reduce_max(const float *x, float *y, int as, int rows, int cols)
{
    constexpr int kCols = 32 * kVec;
    __shared__ float part[8 * kCols];
    const float minus_inf = -__int_as_float(0x7f800000);

    Tensor mX = make_tensor(make_gmem_ptr(x), make_shape(as, rows, cols), LayoutRight{});
    Tensor mY = make_tensor(make_gmem_ptr(y), make_shape(as, cols), LayoutRight{});
    Tensor cX = make_identity_tensor(make_shape(rows, cols));
    auto tile = Shape<_64, Int<kCols>>{};
    auto tiled =
        make_tiled_copy(Copy_Atom<UniversalCopy<Vector>, float>{},
                        Layout<Shape<_8, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, Int<kVec>>>{});
    auto thr = tiled.get_slice(threadIdx.x);
    Tensor tC = thr.partition_S(local_tile(cX, tile, make_coord(_, blockIdx.x)));
    Tensor sPart = make_tensor(make_smem_ptr(part), Shape<_8, Int<kCols>>{}, LayoutRight{});

    bool whole_cols = (blockIdx.x + 1) * kCols <= cols;
    for (int a = blockIdx.y; a < as; a += gridDim.y) {
        Tensor gX = local_tile(mX(a, _, _), tile, make_coord(_, blockIdx.x)); // (64, kCols, tiles)
        Tensor tX = thr.partition_S(gX);                                      // (V, 8, 1, tiles)
        Tensor r = make_fragment_like(tX(_, _, _, 0));
        Tensor best = make_fragment_like(tX(_, 0, 0, 0));
        fill(best, minus_inf);
        for (int k = 0; k < size<3>(tX); k++) {
            if (whole_cols && (k + 1) * 64 <= rows) {
                copy(tiled, tX(_, _, _, k), r);
            } else {
                auto inside = cute::lazy::transform(
                    tC(_, _, _, k), [&](auto c) { return elem_less(c, make_shape(rows, cols)); });
                fill(r, minus_inf);
                copy_if(tiled, inside, tX(_, _, _, k), r);
            }
            CUTE_UNROLL
            for (int i = 0; i < size<1>(r); i++)
                CUTE_UNROLL
                for (int v = 0; v < size<0>(r); v++)
                    best(v) = fmaxf(best(v), r(v, i, 0));
        }
        copy(best, thr.partition_D(sPart)(_, 0, 0));
        __syncthreads();
        int col = blockIdx.x * kCols + threadIdx.x;
        if (threadIdx.x < kCols && col < cols) {
            float m = sPart(0, threadIdx.x);
            CUTE_UNROLL
            for (int w = 1; w < 8; w++)
                m = fmaxf(m, sPart(w, threadIdx.x));
            mY(a, col) = m;
        }
        __syncthreads(); // part is used again
    }
}

extern "C" __global__ void __launch_bounds__(256)
    reduce_max_vec4(const float *x, float *y, int as, int rows, int cols)
{
    reduce_max<uint128_t, 4>(x, y, as, rows, cols);
}

extern "C" __global__ void __launch_bounds__(256)
    reduce_max_scalar(const float *x, float *y, int as, int rows, int cols)
{
    reduce_max<uint32_t, 1>(x, y, as, rows, cols);
}
