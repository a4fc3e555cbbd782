/* hone-plan
{ "launches": [
    { "kernel": "reduce_row_vec", "when": "@{aligned}",
      "grid": ["max(1, cdiv(@{R}, max(1, @{block}/@{lanes_vec})))", "@{parts}"], "block": ["@{lanes_vec}", "max(1, @{block}/@{lanes_vec})"],
      "args": [@{x:args}, "@{y}", "part", "@{R}", "@{C}", "@{chunk}"@{scalars:args}] },
    { "kernel": "reduce_row_one", "when": "!@{aligned}",
      "grid": ["max(1, cdiv(@{R}, max(1, @{block}/@{lanes_one})))", "@{parts}"], "block": ["@{lanes_one}", "max(1, @{block}/@{lanes_one})"],
      "args": [@{x:args}, "@{y}", "part", "@{R}", "@{C}", "@{chunk}"@{scalars:args}] },
    { "kernel": "reduce_row_join", "when": "@{parts} > 1", "grid": ["@{R}"], "block": ["min(1024, align(@{parts}, 32))"],
      "args": ["part", "@{y}", "@{C}", "@{parts}"@{scalars:args}] } ],
  "workspace": { "part": { "bytes": "@{parts} > 1 ? 16*@{R}*@{parts} : 16", "init": "none" } } }
*/
// y[r] = the reduction of row r of x, after an elementwise expression.
//
// The lanes of a row are one or more warps, as its length asks; a block takes as many short rows as
// fill it. A lane walks along its vectors with kUnroll loads in flight, and keeps a state for each
// element of a vector: chains that do not wait for each other. States are joined by shuffles, then
// across a row's warps through shared memory. Few long rows are split along grid.y: then the states
// are partial, and a second launch joins them, a block a row.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{x:type};
using Out = @{y:type};
constexpr int kVec = @{load} > sizeof(T) ? @{load} / sizeof(T) : 1;
constexpr int kUnroll = @{unroll};
constexpr int kMaxThreads = @{threads};
constexpr bool kStream = @{stream};
constexpr int kInputs = @{x:n};

@{part:inputs}

@{part:states}

@{part:stream_load}

@{part:join_states}

template <int kWidth>
__device__ void reduce(Inputs x, Out *y, State *part, int64_t rows, int64_t cols,
                       int64_t chunk@{scalars:params})
{
    using V = uint_bit_t<sizeof_bits_v<T> * kWidth>;
    using Load = Copy_Atom<conditional_t<kStream, StreamLoad<V>, UniversalCopy<V>>, T>;
    __shared__ State warp_states[kMaxThreads / 32];
    int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
    bool there = row < rows;
    int lanes = blockDim.x;
    int64_t first = blockIdx.y * chunk / kWidth;
    int64_t end = there ? min(cols, blockIdx.y * chunk + chunk) / kWidth : first;
    Tensor r = make_tensor<T>(Shape<Int<kWidth>, Int<kUnroll>, Int<kInputs>>{});
    auto load = [&](int u, int64_t i) {
        CUTE_UNROLL
        for (int k = 0; k < kInputs; k++) {
            Tensor mX = make_tensor(make_gmem_ptr(x[k] + (there ? row : 0) * cols),
                                    make_shape(cols));
            copy(Load{}, local_tile(mX, Shape<Int<kWidth>>{}, make_coord(i)), r(_, u, k));
        }
    };
    State s[kWidth];
    CUTE_UNROLL
    for (int v = 0; v < kWidth; v++)
        s[v] = unit();
    auto take = [&](int u, int64_t i) {
        CUTE_UNROLL
        for (int v = 0; v < kWidth; v++)
            s[v] = join(s[v],
                        element(value_of(r, v, u, make_int_sequence<kInputs>{}@{scalars:names}),
                                i * kWidth + v));
    };
    int64_t i = first + threadIdx.x;
    for (; i + (kUnroll - 1) * lanes < end; i += kUnroll * lanes) {
        CUTE_UNROLL
        for (int u = 0; u < kUnroll; u++)
            load(u, i + u * lanes);
        CUTE_UNROLL
        for (int u = 0; u < kUnroll; u++)
            take(u, i + u * lanes);
    }
    for (; i < end; i += lanes) {
        load(0, i);
        take(0, i);
    }
    State all = s[0];
    CUTE_UNROLL
    for (int v = 1; v < kWidth; v++)
        all = join(all, s[v]);
    all = join_states(all, warp_states);
    if (!there || threadIdx.x != 0)
        return;
    if (gridDim.y == 1)
        y[row] = result(all, float(cols)@{scalars:names});
    else
        part[row * gridDim.y + blockIdx.y] = all;
}

extern "C" __global__ void __launch_bounds__(kMaxThreads)
    reduce_row_vec(@{x:params}, Out *__restrict__ y, void *__restrict__ part,
                   int64_t rows, int64_t cols, int64_t chunk@{scalars:params})
{
    reduce<kVec>(Inputs{@{x:names}}, y, static_cast<State *>(part), rows, cols, chunk@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kMaxThreads)
    reduce_row_one(@{x:params}, Out *__restrict__ y, void *__restrict__ part,
                   int64_t rows, int64_t cols, int64_t chunk@{scalars:params})
{
    reduce<1>(Inputs{@{x:names}}, y, static_cast<State *>(part), rows, cols, chunk@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(1024)
    reduce_row_join(const void *__restrict__ part, Out *__restrict__ y, int64_t cols,
                    int parts@{scalars:params})
{
    State all = join_parts(part, parts);
    if (threadIdx.x == 0)
        y[blockIdx.x] = result(all, float(cols)@{scalars:names});
}
