/* hone-plan
{ "launches": [
    { "kernel": "reduce_of_vec", "when": "@{aligned}",
      "grid": ["max(1, cdiv(@{R}, max(1, @{block}/@{lanes_vec})))", "@{parts}"], "block": ["@{lanes_vec}", "max(1, @{block}/@{lanes_vec})"],
      "args": [@{in:args}, "@{y}", "part", "@{R}", "@{C}", "@{chunk}", @{dims:args}@{scalars:args}] },
    { "kernel": "reduce_of_one", "when": "!@{aligned}",
      "grid": ["max(1, cdiv(@{R}, max(1, @{block}/@{lanes_one})))", "@{parts}"], "block": ["@{lanes_one}", "max(1, @{block}/@{lanes_one})"],
      "args": [@{in:args}, "@{y}", "part", "@{R}", "@{C}", "@{chunk}", @{dims:args}@{scalars:args}] },
    { "kernel": "reduce_of_join", "when": "@{parts} > 1", "grid": ["@{R}"], "block": ["min(1024, align(@{parts}, 32))"],
      "args": ["part", "@{y}", "@{C}", "@{parts}"@{scalars:args}] } ],
  "workspace": { "part": { "bytes": "@{parts} > 1 ? 16*@{R}*@{parts} : 16", "init": "none" } } }
*/
// y[r] = the reduction of row r of an elementwise expression, whose inputs may lack some axes.
//
// Every input is seen in the shape of the expression, with a stride of 0 along the axes it lacks, and
// cut into vectors along the innermost one: the i-th vectors of all belong together. An input that
// has all axes is read in order. The lanes of a row are one or more warps, as its length asks; a
// block takes as many short rows as fill it. A lane walks along its vectors with kUnroll loads of
// each input in flight, and keeps a state for each element of a vector. Few long rows are split along
// grid.y: then the states are partial, and a second launch joins them, a block a row.
#include <cute/tensor.hpp>

using namespace cute;

using Out = @{y:type};
constexpr int kVec = @{vec};
constexpr int kUnroll = @{unroll};
constexpr int kMaxThreads = @{threads};
constexpr bool kStream = @{stream};

@{part:values}

__device__ @{expr:type} value(@{in:values}@{scalars:params})
{
    return @{expr};
}

@{part:states}

@{part:join_states}

@{part:stream_load}

@{part:fetch_stream}

@{part:whole_view}

// I is wide enough for every index.
template <class I, int kWidth>
__device__ void reduce(@{in:typed}, Out *y, State *part, int64_t rows, int64_t cols, int64_t chunk,
                       @{dims:params}@{scalars:params})
{
    __shared__ State of_warp[kMaxThreads / 32];
    auto dims = make_shape(@{dims:shape}); // the innermost first
    auto view = [&](auto *p, auto strides) { return vectors_of<kWidth>(p, dims, strides); };
    auto ins = make_tuple(@{in:views});
    auto x = cute::transform(ins, [](auto const &t) {
        return make_tensor<typename remove_cvref_t<decltype(t)>::value_type>(
            Shape<Int<kWidth>, Int<kUnroll>>{});
    });
    I row = I(blockIdx.x) * blockDim.y + threadIdx.y;
    bool there = row < I(rows);
    I lanes = blockDim.x, before = (there ? row : I(0)) * I(cols / kWidth);
    I i = I(blockIdx.y) * I(chunk / kWidth) + threadIdx.x;
    I end = there ? I(min(cols, (int64_t(blockIdx.y) + 1) * chunk) / kWidth) : I(0);
    State s[kWidth];
    CUTE_UNROLL
    for (int v = 0; v < kWidth; v++)
        s[v] = unit();
    auto load = [&](int u, I at) {
        cute::for_each(make_seq<tuple_size<decltype(ins)>::value>{}, [&](auto n) {
            constexpr bool kOnce = kStream && has_all_dims(decltype(flatten(get<n>(ins).stride())){});
            fetch<kOnce>(get<n>(ins)(make_coord(_), before + at), get<n>(x)(_, u));
        });
    };
    auto take = [&](int u, I at) {
        CUTE_UNROLL
        for (int v = 0; v < kWidth; v++)
            s[v] = join(s[v], element(cute::apply(x, [&](auto const &...e) {
                                          return value(e(v, u)...@{scalars:names});
                                      }),
                                      int64_t(at) * kWidth + v));
    };
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
    all = join_states(all, of_warp);
    if (!there || threadIdx.x != 0)
        return;
    if (gridDim.y == 1)
        y[row] = result(all, float(cols)@{scalars:names});
    else
        part[int64_t(row) * gridDim.y + blockIdx.y] = all;
}

template <int kWidth>
__device__ void any_size(@{in:typed}, Out *y, void *part, int64_t rows, int64_t cols, int64_t chunk,
                         @{dims:params}@{scalars:params})
{
    State *states = static_cast<State *>(part);
    if (rows * cols < int64_t(1) << 31 && gridDim.y * chunk < int64_t(1) << 31)
        reduce<int, kWidth>(@{in:names}, y, states, rows, cols, chunk, @{dims:names}@{scalars:names});
    else
        reduce<int64_t, kWidth>(@{in:names}, y, states, rows, cols, chunk,
                                @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kMaxThreads)
    reduce_of_vec(@{in:typed}, Out *__restrict__ y, void *__restrict__ part, int64_t rows,
                  int64_t cols, int64_t chunk, @{dims:params}@{scalars:params})
{
    any_size<kVec>(@{in:names}, y, part, rows, cols, chunk, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kMaxThreads)
    reduce_of_one(@{in:typed}, Out *__restrict__ y, void *__restrict__ part, int64_t rows,
                  int64_t cols, int64_t chunk, @{dims:params}@{scalars:params})
{
    any_size<1>(@{in:names}, y, part, rows, cols, chunk, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(1024)
    reduce_of_join(const void *__restrict__ part, Out *__restrict__ y, int64_t cols,
                   int parts@{scalars:params})
{
    State all = join_parts(part, parts);
    if (threadIdx.x == 0)
        y[blockIdx.x] = result(all, float(cols)@{scalars:names});
}
