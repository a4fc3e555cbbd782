/* hone-plan
{ "launches": [
    { "kernel": "scan_vec", "when": "@{C} % @{vec} == 0 && min(@{x:align}, alignof(@{y})) >= max(@{x:bytes}, @{y:bytes})*@{vec} && @{x:bytes}*@{vec} <= 16",
      "grid": ["cdiv(@{C}, 32*@{vec})", "min(@{A}, 65535)"], "block": [32, @{warps}],
      "args": [@{x:args}, "@{y}", "@{A}", "@{R}", "@{C}"@{scalars:args}] },
    { "kernel": "scan_one", "when": "!(@{C} % @{vec} == 0 && min(@{x:align}, alignof(@{y})) >= max(@{x:bytes}, @{y:bytes})*@{vec} && @{x:bytes}*@{vec} <= 16)",
      "grid": ["cdiv(@{C}, 32)", "min(@{A}, 65535)"], "block": [32, @{warps}],
      "args": [@{x:args}, "@{y}", "@{A}", "@{R}", "@{C}"@{scalars:args}] } ] }
*/
// y[a, r, c] = the join of x[a, 0, c] to x[a, r, c], after an elementwise expression.
//
// A block owns one a and a strip of columns: 32 lanes across, a vector of columns each. Each of its
// kWarps warps owns a run of rows. A thread walks down its run with kUnroll loads in flight and puts
// the run's total into shared memory. Then it walks down once more, starting from the join of the
// runs above its own, and writes.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{x:type};
using Out = @{y:type};
constexpr int kVec = @{vec} * sizeof(T) <= 16 ? @{vec} : 16 / sizeof(T);
constexpr int kUnroll = @{unroll};
constexpr int kWarps = @{warps};
constexpr int kInputs = @{x:n};

@{part:inputs}

__device__ float join(float a, float b)
{
    return @{join};
}

template <int kWidth>
__device__ void scan(Inputs x, Out *y, int64_t as, int64_t rows, int64_t cols@{scalars:params})
{
    using Load = Copy_Atom<UniversalCopy<uint_bit_t<sizeof_bits_v<T> * kWidth>>, T>;
    using Store = Copy_Atom<UniversalCopy<uint_bit_t<sizeof_bits_v<Out> * kWidth>>, Out>;
    __shared__ float runs[kWarps][32 * kWidth];
    int lane = threadIdx.x, warp = threadIdx.y;
    int64_t run = (rows + kWarps - 1) / kWarps, first = warp * run, end = min(rows, first + run);
    int64_t vector = int64_t(blockIdx.x) * 32 + lane; // this thread's columns
    bool mine = vector * kWidth < cols;

    for (int64_t a = blockIdx.y; a < as; a += gridDim.y) {
        auto piece = [&](auto *p, int64_t row) {
            Tensor all = make_tensor(make_gmem_ptr(p + a * rows * cols), make_shape(rows, cols),
                                     make_stride(cols, _1{}));
            return local_tile(all(row, _), Shape<Int<kWidth>>{}, make_coord(vector));
        };
        // Takes the rows of the run one after the other: `then` sees each row's joins so far.
        auto walk = [&](float *so_far, auto then) {
            Tensor r = make_tensor<T>(Shape<Int<kWidth>, Int<kUnroll>, Int<kInputs>>{});
            for (int64_t row = first; mine && row < end; row += kUnroll) {
                CUTE_UNROLL
                for (int u = 0; u < kUnroll; u++)
                    CUTE_UNROLL
                    for (int k = 0; k < kInputs; k++)
                        if (row + u < end)
                            copy(Load{}, piece(x[k], row + u), r(_, u, k));
                CUTE_UNROLL
                for (int u = 0; u < kUnroll; u++) {
                    if (row + u >= end)
                        break;
                    CUTE_UNROLL
                    for (int v = 0; v < kWidth; v++)
                        so_far[v] = join(so_far[v], value_of(r, v, u, make_int_sequence<kInputs>{}@{scalars:names}));
                    then(row + u);
                }
            }
        };

        float s[kWidth];
        CUTE_UNROLL
        for (int v = 0; v < kWidth; v++)
            s[v] = @{unit};
        walk(s, [](int64_t) {});
        CUTE_UNROLL
        for (int v = 0; v < kWidth; v++)
            runs[warp][v * 32 + lane] = s[v];
        __syncthreads();
        CUTE_UNROLL
        for (int v = 0; v < kWidth; v++) {
            s[v] = @{unit};
            for (int w = 0; w < warp; w++)
                s[v] = join(s[v], runs[w][v * 32 + lane]);
        }
        walk(s, [&](int64_t row) {
            Tensor out = make_tensor<Out>(Shape<Int<kWidth>>{});
            CUTE_UNROLL
            for (int v = 0; v < kWidth; v++)
                out(v) = Out(s[v]);
            copy(Store{}, out, piece(y, row));
        });
        __syncthreads(); // the runs are used again
    }
}

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    scan_vec(@{x:params}, Out *__restrict__ y, int64_t as, int64_t rows, int64_t cols@{scalars:params})
{
    scan<kVec>(Inputs{@{x:names}}, y, as, rows, cols@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    scan_one(@{x:params}, Out *__restrict__ y, int64_t as, int64_t rows, int64_t cols@{scalars:params})
{
    scan<1>(Inputs{@{x:names}}, y, as, rows, cols@{scalars:names});
}
