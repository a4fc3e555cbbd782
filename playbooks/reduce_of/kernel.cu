/* hone-plan
{ "launches": [
    { "kernel": "reduce_of_vec", "when": "@{aligned}",
      "grid": ["cdiv(@{R}, max(1, @{block}/@{lanes}))", "@{strips}*@{pieces}"], "block": ["@{lanes}", "max(1, @{block}/@{lanes})"],
      "args": [@{in:args}, "@{y}", "part", "@{R}", "@{C}", "@{strips}", @{dims:args}@{scalars:args}] },
    { "kernel": "reduce_of_one", "when": "!@{aligned}",
      "grid": ["cdiv(@{R}, max(1, @{block}/@{lanes}))", "@{strips}*@{pieces}"], "block": ["@{lanes}", "max(1, @{block}/@{lanes})"],
      "args": [@{in:args}, "@{y}", "part", "@{R}", "@{C}", "@{strips}", @{dims:args}@{scalars:args}] },
    { "kernel": "reduce_of_join", "when": "@{strips}*@{pieces} > 1", "grid": ["@{R}"], "block": ["min(1024, align(@{strips}*@{pieces}, 32))"],
      "args": ["part", "@{y}", "@{C}", "@{strips}*@{pieces}"@{scalars:args}] } ],
  "workspace": { "part": { "bytes": "@{parts} > 1 ? 16*@{R}*@{parts} : 16", "init": "none" } } }
*/
// y[r] = the reduction of row r of an elementwise expression, whose inputs may lack some axes.
//
// Every input is seen in the shape of the expression, with a stride of 0 along the axes it lacks. The
// reduced elements are a matrix: `across` of them lie along the innermost dim, all others down. The
// threads of a row cut it into vectors along the innermost dim. A thread walks down a column of
// vectors with kUnroll loads of each input in flight, so an input that has only the innermost dim is
// read once per column. If the matrix has one line, the thread walks along it. A thread keeps a state
// for each element of a vector. Few long rows are split along grid.y, into strips of columns and
// pieces of these: then the states are partial, and a second launch joins them, a block a row.
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

@{part:column_view}

template <class I, int kWidth>
__device__ void reduce(@{in:typed}, Out *y, State *part, int64_t rows, int64_t cols, int strips,
                       @{dims:params}@{scalars:params})
{
    __shared__ State of_warp[kMaxThreads / 32];
    auto dims = make_shape(@{dims:shape}); // the innermost first
    auto view = [&](auto *p, auto strides) {
        using E = remove_cv_t<remove_pointer_t<decltype(p)>>;
        return Columns<I, E, decltype(dims), decltype(strides)>{p, dims, strides};
    };
    auto ins = make_tuple(@{in:views});
    auto x = cute::transform(ins, [](auto const &t) {
        return Vectors<typename remove_cvref_t<decltype(t)>::Element, kUnroll, kWidth>{};
    });
    I row = I(blockIdx.x) * blockDim.y + threadIdx.y;
    bool there = row < I(rows);
    I across = get<0>(dims) / kWidth, down = I(cols) / get<0>(dims); // vectors of a row
    I first = (there ? row : I(0)) * down;

    // This block's strip of columns, and its piece of them.
    int pieces = gridDim.y / strips, strip = blockIdx.y % strips, piece = blockIdx.y / strips;
    I wide = (across + strips - 1) / strips, high = (down + pieces - 1) / pieces;
    I left = strip * wide, right = there ? min(across, left + wide) : I(0);
    I top = piece * high, bottom = min(down, top + high);
    // The threads of the row stand side by side as far as the strip goes, then below each other.
    I beside = min(I(blockDim.x), wide), below = I(blockDim.x) / beside;
    I c = left + threadIdx.x % beside, from = top + threadIdx.x / beside;
    if (threadIdx.x >= beside * below)
        right = 0;

    State s[kWidth];
    CUTE_UNROLL
    for (int v = 0; v < kWidth; v++)
        s[v] = unit();
    auto load = [&](int u, I column, I line) {
        cute::for_each(make_seq<tuple_size<decltype(ins)>::value>{}, [&](auto n) {
            get<n>(ins).template load<kStream>(get<n>(x).v[u], column * kWidth, first + line);
        });
    };
    auto take = [&](int u, I column, I line) {
        int64_t at = (int64_t(line) * across + column) * kWidth;
        CUTE_UNROLL
        for (int v = 0; v < kWidth; v++)
            s[v] = join(s[v], element(cute::apply(x, [&](auto const &...in) {
                                          return value(in.v[u][v]...@{scalars:names});
                                      }),
                                      at + v));
    };
    if (down == 1 && from < bottom)
        for (; c + (kUnroll - 1) * beside < right; c += kUnroll * beside) {
            CUTE_UNROLL
            for (int u = 0; u < kUnroll; u++)
                load(u, c + u * beside, 0);
            CUTE_UNROLL
            for (int u = 0; u < kUnroll; u++)
                take(u, c + u * beside, 0);
        }
    for (; c < right; c += beside) {
        I line = from;
        for (; line + (kUnroll - 1) * below < bottom; line += kUnroll * below) {
            CUTE_UNROLL
            for (int u = 0; u < kUnroll; u++)
                load(u, c, line + u * below);
            CUTE_UNROLL
            for (int u = 0; u < kUnroll; u++)
                take(u, c, line + u * below);
        }
        for (; line < bottom; line += below) {
            load(0, c, line);
            take(0, c, line);
        }
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
__device__ void any_size(@{in:typed}, Out *y, void *part, int64_t rows, int64_t cols, int strips,
                         @{dims:params}@{scalars:params})
{
    State *states = static_cast<State *>(part);
    if (rows * cols <= int64_t(1) << 30)
        reduce<int, kWidth>(@{in:names}, y, states, rows, cols, strips, @{dims:names}@{scalars:names});
    else
        reduce<int64_t, kWidth>(@{in:names}, y, states, rows, cols, strips,
                                @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kMaxThreads)
    reduce_of_vec(@{in:typed}, Out *__restrict__ y, void *__restrict__ part, int64_t rows,
                  int64_t cols, int strips, @{dims:params}@{scalars:params})
{
    any_size<kVec>(@{in:names}, y, part, rows, cols, strips, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kMaxThreads)
    reduce_of_one(@{in:typed}, Out *__restrict__ y, void *__restrict__ part, int64_t rows,
                  int64_t cols, int strips, @{dims:params}@{scalars:params})
{
    any_size<1>(@{in:names}, y, part, rows, cols, strips, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(1024)
    reduce_of_join(const void *__restrict__ part, Out *__restrict__ y, int64_t cols,
                   int parts@{scalars:params})
{
    State all = join_parts(part, parts);
    if (threadIdx.x == 0)
        y[blockIdx.x] = result(all, float(cols)@{scalars:names});
}
