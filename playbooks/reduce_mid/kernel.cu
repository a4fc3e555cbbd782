/* hone-plan
{ "launches": [
    { "kernel": "reduce_vec", "when": "@{C} % @{vec} == 0 && alignof(@{x}) >= 4*@{vec} && (@{split} ? cdiv(@{R}, @{split} ? @{split} : 1) : 1) == 1",
      "grid": ["cdiv(@{C}, 32*@{vec})", 1, "min(@{A}, 65535)"], "block": [32, @{warps}],
      "args": ["@{x}", "@{y}", "@{A}", "@{R}", "@{C}", "@{R}"] },
    { "kernel": "reduce_vec", "when": "@{C} % @{vec} == 0 && alignof(@{x}) >= 4*@{vec} && (@{split} ? cdiv(@{R}, @{split} ? @{split} : 1) : 1) > 1",
      "grid": ["cdiv(@{C}, 32*@{vec})", "(@{split} ? cdiv(@{R}, @{split} ? @{split} : 1) : 1)", "min(@{A}, 65535)"], "block": [32, @{warps}],
      "args": ["@{x}", "part", "@{A}", "@{R}", "@{C}", "(@{split} ? @{split} : @{R})"] },
    { "kernel": "reduce_vec", "when": "@{fold} && @{C} % @{vec} != 0 && @{R} % @{vec} == 0 && alignof(@{x}) >= 4*@{vec}",
      "grid": ["cdiv(@{C}*@{vec}, 32*@{vec})", "(@{split} ? cdiv(@{R}/@{vec}, @{split} ? @{split} : 1) : 1)", "min(@{A}, 65535)"], "block": [32, @{warps}],
      "args": ["@{x}", "part", "@{A}", "@{R}/@{vec}", "@{C}*@{vec}", "(@{split} ? @{split} : @{R}/@{vec})"] },
    { "kernel": "reduce_one", "when": "!(@{C} % @{vec} == 0 && alignof(@{x}) >= 4*@{vec}) && !(@{fold} && @{C} % @{vec} != 0 && @{R} % @{vec} == 0 && alignof(@{x}) >= 4*@{vec}) && (@{split} ? cdiv(@{R}, @{split} ? @{split} : 1) : 1) == 1",
      "grid": ["cdiv(@{C}, 32)", 1, "min(@{A}, 65535)"], "block": [32, @{warps}],
      "args": ["@{x}", "@{y}", "@{A}", "@{R}", "@{C}", "@{R}"] },
    { "kernel": "reduce_one", "when": "!(@{C} % @{vec} == 0 && alignof(@{x}) >= 4*@{vec}) && !(@{fold} && @{C} % @{vec} != 0 && @{R} % @{vec} == 0 && alignof(@{x}) >= 4*@{vec}) && (@{split} ? cdiv(@{R}, @{split} ? @{split} : 1) : 1) > 1",
      "grid": ["cdiv(@{C}, 32)", "(@{split} ? cdiv(@{R}, @{split} ? @{split} : 1) : 1)", "min(@{A}, 65535)"], "block": [32, @{warps}],
      "args": ["@{x}", "part", "@{A}", "@{R}", "@{C}", "(@{split} ? @{split} : @{R})"] },
    { "kernel": "reduce_one", "when": "@{fold} && @{C} % @{vec} != 0 && @{R} % @{vec} == 0 && alignof(@{x}) >= 4*@{vec}",
      "grid": ["cdiv(@{C}, 32)", 1, "min(@{A}, 65535)"], "block": [32, @{warps}],
      "args": ["part", "@{y}", "@{A}", "@{vec}*(@{split} ? cdiv(@{R}/@{vec}, @{split} ? @{split} : 1) : 1)", "@{C}", "@{vec}*(@{split} ? cdiv(@{R}/@{vec}, @{split} ? @{split} : 1) : 1)"] },
    { "kernel": "reduce_one", "when": "!(@{fold} && @{C} % @{vec} != 0 && @{R} % @{vec} == 0 && alignof(@{x}) >= 4*@{vec}) && (@{split} ? cdiv(@{R}, @{split} ? @{split} : 1) : 1) > 1",
      "grid": ["cdiv(@{C}, 32)", 1, "min(@{A}, 65535)"], "block": [32, @{warps}],
      "args": ["part", "@{y}", "@{A}", "(@{split} ? cdiv(@{R}, @{split} ? @{split} : 1) : 1)", "@{C}", "(@{split} ? cdiv(@{R}, @{split} ? @{split} : 1) : 1)"] } ],
  "workspace": { "part": { "bytes": "4*@{A}*@{C}*max((@{split} ? cdiv(@{R}, @{split} ? @{split} : 1) : 1), @{vec}*(@{split} ? cdiv(@{R}/@{vec}, @{split} ? @{split} : 1) : 1))", "init": "none" } } }
*/
// out[a, s, c] = join over the rows r of split s of x[a, r, c].
//
// A block owns one a, one split of the rows and a strip of columns: 32 lanes across, a vector of
// columns each, kWarps warps down. It walks down its rows in tiles: every thread has kUnroll
// independent loads in flight and joins them into its running result. At the end the warps meet in
// shared memory. Where the rows are split the results are partial, and the same kernel, launched
// once more, joins them: to it they are a shorter column.
//
// Rows that are no multiple of a vector (C odd, say) start at another offset each, and no vector
// fits. But kVec of them together are a multiple: the plan lets the kernel see kVec rows as one, and
// the second launch joins those, too.
#include <cute/tensor.hpp>

using namespace cute;

constexpr int kWarps = @{warps};
constexpr int kVec = @{vec};
constexpr int kUnroll = @{unroll};
constexpr bool kStream = @{stream};

#define INIT (@{init})

@{part:values}

__device__ float join(float a, float b)
{
    return @{join};
}

@{part:stream_load}

template <int kWidth>
__device__ void reduce(const float *x, float *out, int as, int rows, int cols, int split)
{
    using V = uint_bit_t<32 * kWidth>;
    using Load = Copy_Atom<conditional_t<kStream, StreamLoad<V>, UniversalCopy<V>>, float>;
    constexpr int kCols = 32 * kWidth;
    __shared__ alignas(16) float smem[kWarps * kCols];
    Tensor part = make_tensor(make_smem_ptr(smem), Shape<Int<kWarps>, Int<kCols>>{}, LayoutRight{});
    Tensor mX = make_tensor(make_gmem_ptr(x), make_shape(as, rows, cols),
                            make_stride(int64_t(rows) * cols, int64_t(cols), _1{}));
    Tensor mOut = make_tensor(make_gmem_ptr(out), make_shape(as, int(gridDim.y), cols),
                              make_stride(int64_t(gridDim.y) * cols, int64_t(cols), _1{}));
    int lane = threadIdx.x, warp = threadIdx.y;
    int first = blockIdx.y * split, end = min(rows, first + split);
    int vector = blockIdx.x * 32 + lane; // this thread's columns
    bool mine = vector * kWidth < cols;

    for (int a = blockIdx.z; a < as; a += gridDim.z) {
        Tensor gX = local_tile(mX(a, _, _), Shape<_1, Int<kWidth>>{},
                               make_coord(_, mine ? vector : 0))(0, _, _); // (kWidth, rows)
        Tensor best = make_tensor<float>(Shape<Int<kWidth>>{});
        Tensor r = make_tensor<float>(Shape<Int<kWidth>, Int<kUnroll>>{});
        fill(best, INIT);
        int row = first + warp;
        for (; mine && row + (kUnroll - 1) * kWarps < end; row += kUnroll * kWarps) {
            CUTE_UNROLL
            for (int i = 0; i < kUnroll; i++)
                copy(Load{}, gX(_, row + i * kWarps), r(_, i));
            CUTE_UNROLL
            for (int i = 0; i < kUnroll; i++)
                CUTE_UNROLL
                for (int v = 0; v < kWidth; v++)
                    best(v) = join(best(v), r(v, i));
        }
        for (; mine && row < end; row += kWarps) {
            copy(Load{}, gX(_, row), r(_, 0));
            CUTE_UNROLL
            for (int v = 0; v < kWidth; v++)
                best(v) = join(best(v), r(v, 0));
        }
        copy(Copy_Atom<UniversalCopy<V>, float>{}, best,
             local_tile(part(warp, _), Shape<Int<kWidth>>{}, make_coord(lane)));
        __syncthreads();
        for (int i = warp * 32 + lane; i < kCols; i += kWarps * 32) {
            int col = blockIdx.x * kCols + i;
            float m = part(0, i);
            CUTE_UNROLL
            for (int w = 1; w < kWarps; w++)
                m = join(m, part(w, i));
            if (col < cols)
                mOut(a, int(blockIdx.y), col) = m;
        }
        __syncthreads(); // part is used again
    }
}

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    reduce_vec(const float *__restrict__ x, float *__restrict__ out, int as, int rows, int cols,
               int split)
{
    reduce<kVec>(x, out, as, rows, cols, split);
}

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    reduce_one(const float *__restrict__ x, float *__restrict__ out, int as, int rows, int cols,
               int split)
{
    reduce<1>(x, out, as, rows, cols, split);
}
