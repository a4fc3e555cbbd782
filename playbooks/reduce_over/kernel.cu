/* hone-plan
{ "launches": [
    { "kernel": "reduce_vec", "when": "@{C} % @{vec} == 0 && min(256, @{x:align}) >= @{x:bytes}*@{vec} && @{x:bytes}*@{vec} <= 16",
      "grid": ["cdiv(@{C}, 32*@{vec})", "(@{split} && @{A}*cdiv(@{C}, 32*@{vec}) < 1024 ? max(1, min(65535, cdiv(@{R}, max(1, @{split})))) : 1)", "min(@{A}, 65535)"], "block": [32, @{warps}],
      "args": [@{x:args}, "@{y}", "part", "@{A}", "@{R}", "@{C}", "cdiv(@{R}, (@{split} && @{A}*cdiv(@{C}, 32*@{vec}) < 1024 ? max(1, min(65535, cdiv(@{R}, max(1, @{split})))) : 1))"@{scalars:args}] },
    { "kernel": "reduce_one", "when": "!(@{C} % @{vec} == 0 && min(256, @{x:align}) >= @{x:bytes}*@{vec} && @{x:bytes}*@{vec} <= 16)",
      "grid": ["cdiv(@{C}, 32*1)", "(@{split} && @{A}*cdiv(@{C}, 32*@{vec}) < 1024 ? max(1, min(65535, cdiv(@{R}, max(1, @{split})))) : 1)", "min(@{A}, 65535)"], "block": [32, @{warps}],
      "args": [@{x:args}, "@{y}", "part", "@{A}", "@{R}", "@{C}", "cdiv(@{R}, (@{split} && @{A}*cdiv(@{C}, 32*@{vec}) < 1024 ? max(1, min(65535, cdiv(@{R}, max(1, @{split})))) : 1))"@{scalars:args}] },
    { "kernel": "reduce_join", "when": "(@{split} && @{A}*cdiv(@{C}, 32*@{vec}) < 1024 ? max(1, min(65535, cdiv(@{R}, max(1, @{split})))) : 1) > 1",
      "grid": ["cdiv(@{A}*@{C}, 32)"], "block": [32, 8], "args": ["part", "@{y}", "@{A}", "@{R}", "@{C}", "(@{split} && @{A}*cdiv(@{C}, 32*@{vec}) < 1024 ? max(1, min(65535, cdiv(@{R}, max(1, @{split})))) : 1)"@{scalars:args}] } ],
  "workspace": { "part": { "bytes": "(@{split} && @{A}*cdiv(@{C}, 32*@{vec}) < 1024 ? max(1, min(65535, cdiv(@{R}, max(1, @{split})))) : 1) > 1 ? 16*@{A}*@{C}*(@{split} && @{A}*cdiv(@{C}, 32*@{vec}) < 1024 ? max(1, min(65535, cdiv(@{R}, max(1, @{split})))) : 1) : 16", "init": "none" } } }
*/
// y[a, c] = the reduction over r of x[a, r, c], after an elementwise expression.
//
// A block reduces a strip of columns of x[a], for one index a (for several if there are over 65535).
// If that gives too few blocks, a block takes only a part of the rows, and a second launch joins the
// parts. A block has 32 lanes across, each with a vector of columns, and kWarps warps down. A thread
// walks down its rows with kUnroll loads in flight and keeps a state for each of its columns. At the
// end the warps join their states in shared memory.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{x:type};
using Out = @{y:type};
constexpr int kVec = @{vec} * sizeof(T) <= 16 ? @{vec} : 16 / sizeof(T);
constexpr int kUnroll = @{unroll};
constexpr int kWarps = @{warps};
constexpr bool kStream = @{stream};
constexpr int kInputs = @{x:n};

@{part:inputs}

@{part:states}

@{part:stream_load}

template <int kWidth>
__device__ void reduce(Inputs x, Out *y, State *part, int64_t as, int64_t rows, int64_t cols,
                       int64_t split@{scalars:params})
{
    using V = uint_bit_t<sizeof_bits_v<T> * kWidth>;
    using Load = Copy_Atom<conditional_t<kStream, StreamLoad<V>, UniversalCopy<V>>, T>;
    constexpr int kCols = 32 * kWidth;
    __shared__ State states[kWarps][kCols];
    int lane = threadIdx.x, warp = threadIdx.y;
    int64_t first = blockIdx.y * split, end = min(rows, first + split);
    int64_t vector = int64_t(blockIdx.x) * 32 + lane; // this thread's columns
    bool mine = vector * kWidth < cols;

    for (int64_t a = blockIdx.z; a < as; a += gridDim.z) {
        Tensor r = make_tensor<T>(Shape<Int<kWidth>, Int<kUnroll>, Int<kInputs>>{});
        auto load = [&](int i, int64_t row) {
            CUTE_UNROLL
            for (int k = 0; k < kInputs; k++) {
                Tensor mX = make_tensor(make_gmem_ptr(x[k] + a * rows * cols),
                                        make_shape(rows, cols), make_stride(cols, _1{}));
                Tensor gX = local_tile(mX(row, _), Shape<Int<kWidth>>{},
                                       make_coord(mine ? vector : 0));
                copy(Load{}, gX, r(_, i, k));
            }
        };
        State s[kWidth];
        CUTE_UNROLL
        for (int v = 0; v < kWidth; v++)
            s[v] = unit();
        auto take = [&](int i, int64_t row) {
            CUTE_UNROLL
            for (int v = 0; v < kWidth; v++)
                s[v] = join(s[v], element(value_of(r, v, i, make_int_sequence<kInputs>{}@{scalars:names}),
                                          row));
        };
        int64_t row = first + warp;
        for (; mine && row + (kUnroll - 1) * kWarps < end; row += kUnroll * kWarps) {
            CUTE_UNROLL
            for (int i = 0; i < kUnroll; i++)
                load(i, row + i * kWarps);
            CUTE_UNROLL
            for (int i = 0; i < kUnroll; i++)
                take(i, row + i * kWarps);
        }
        for (; mine && row < end; row += kWarps) {
            load(0, row);
            take(0, row);
        }
        CUTE_UNROLL
        for (int v = 0; v < kWidth; v++)
            states[warp][v * 32 + lane] = s[v];
        __syncthreads();
        for (int i = warp * 32 + lane; i < kCols; i += kWarps * 32) {
            int64_t col = int64_t(blockIdx.x) * kCols + i;
            int at = i % kWidth * 32 + i / kWidth;
            State all = states[0][at];
            CUTE_UNROLL
            for (int w = 1; w < kWarps; w++)
                all = join(all, states[w][at]);
            if (col < cols && gridDim.y == 1)
                y[a * cols + col] = result(all, float(rows)@{scalars:names});
            else if (col < cols)
                part[(a * gridDim.y + blockIdx.y) * cols + col] = all;
        }
        __syncthreads(); // the states are used again
    }
}

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    reduce_vec(@{x:params}, Out *__restrict__ y, void *__restrict__ part, int64_t as,
               int64_t rows, int64_t cols, int64_t split@{scalars:params})
{
    reduce<kVec>(Inputs{@{x:names}}, y, static_cast<State *>(part), as, rows, cols, split@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    reduce_one(@{x:params}, Out *__restrict__ y, void *__restrict__ part, int64_t as,
               int64_t rows, int64_t cols, int64_t split@{scalars:params})
{
    reduce<1>(Inputs{@{x:names}}, y, static_cast<State *>(part), as, rows, cols, split@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(256)
    reduce_join(const void *__restrict__ part, Out *__restrict__ y, int64_t as, int64_t rows,
                int64_t cols, int splits@{scalars:params})
{
    __shared__ State states[8][32];
    int64_t i = int64_t(blockIdx.x) * 32 + threadIdx.x;
    bool there = i < as * cols;
    const State *mine = static_cast<const State *>(part) + i / cols * splits * cols + i % cols;
    State all = unit();
    for (int s = threadIdx.y; there && s < splits; s += 8)
        all = join(all, mine[s * cols]);
    states[threadIdx.y][threadIdx.x] = all;
    __syncthreads();
    if (!there || threadIdx.y != 0)
        return;
    CUTE_UNROLL
    for (int w = 1; w < 8; w++)
        all = join(all, states[w][threadIdx.x]);
    y[i] = result(all, float(rows)@{scalars:names});
}
