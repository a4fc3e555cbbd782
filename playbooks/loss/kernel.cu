/* hone-plan
{ "launches": [
    { "kernel": "rows_vec", "when": "@{aligned}",
      "grid": ["cdiv(@{rows}, max(1, @{block}/@{lanes_vec}))", "@{splits}"], "block": ["@{lanes_vec}", "max(1, @{block}/@{lanes_vec})"],
      "args": [@{in:args}, "part", "@{rows}", "@{cols}", "@{chunk}", @{dims:args}@{scalars:args}] },
    { "kernel": "rows_one", "when": "!@{aligned}",
      "grid": ["cdiv(@{rows}, max(1, @{block}/@{lanes_one}))", "@{splits}"], "block": ["@{lanes_one}", "max(1, @{block}/@{lanes_one})"],
      "args": [@{in:args}, "part", "@{rows}", "@{cols}", "@{chunk}", @{dims:args}@{scalars:args}] },
    { "kernel": "join_rows", "grid": ["@{joiners}"], "block": [1024],
      "args": [@{in:args}, "part", "total", "@{out}", "@{rows}", "@{cols}", "@{splits}", @{dims:args}@{scalars:args}] },
    { "kernel": "join_all", "when": "@{joiners} > 1", "grid": [1], "block": [128],
      "args": ["total", "@{out}", "@{rows}", "@{joiners}"@{scalars:args}] } ],
  "workspace": { "part": { "bytes": "4*@{passes:n}*@{rows}*@{splits}", "init": "none" },
                 "total": { "bytes": "4*@{joiners}", "init": "none" } } }
*/
// out = a sum or an extreme over the rows of an expression of sums and extremes along each row.
//
// A row belongs to one or more warps, as its length asks. They read the inputs once: kUnroll vectors
// of every input are on their way before the first is used, and all passes take each element. If
// there are few rows, several blocks share a row. The results of the passes go to the workspace. A
// second launch computes the expression of each row and joins the rows, in an order that does not
// depend on timing. If there are very many rows, several blocks do that, and a third launch joins
// their results.
#include <cute/tensor.hpp>

using namespace cute;

using Out = @{out:type};
constexpr int kThreads = @{threads} > @{block} ? @{threads} : @{block};
constexpr int kVec = @{vec};
constexpr int kUnroll = @{unroll};
constexpr bool kStream = @{stream};
constexpr int kPasses = @{passes:n};
constexpr unsigned kSummed = @{passes:inputs}; // the inputs that passes read, as bits

@{part:values}

@{part:stream_load}

@{part:fetch_stream}

@{part:whole_view}

__device__ float sum_of(float a, float b)
{
    return a + b;
}

// The results of the passes, for all elements of a row or for some.
struct Results {
    float p[kPasses];
};

__device__ Results no_elements()
{
    return {{@{passes:units}}};
}

__device__ void take(float *p, float length, @{in:values}@{scalars:params})
{
    @{passes:take}
}

__device__ void join(float *p, const float *q)
{
    @{passes:join}
}

// The expression of a row.
__device__ float of_row(const float *p, float length, @{in:values}@{scalars:params})
{
    return @{expr};
}

__device__ float join_outer(float a, float b)
{
    return @{outer:join}(a, b);
}

// The result from v0, the join of n rows.
__device__ Out result(float v0, float n@{scalars:params})
{
    return Out(@{post});
}

__device__ Results join_warp(Results r)
{
    CUTE_UNROLL
    for (int d = 16; d > 0; d /= 2) {
        Results other;
        CUTE_UNROLL
        for (int k = 0; k < kPasses; k++)
            other.p[k] = __shfl_xor_sync(~0u, r.p[k], d);
        join(r.p, other.p);
    }
    return r;
}

// Reads row `row` of the inputs, or the elements from blockIdx.y * chunk on. I is wide enough for
// every index.
template <class I, int kWidth>
__device__ void pass(@{in:typed}, float *part, int64_t rows, int64_t cols, int64_t chunk,
                     @{dims:params}@{scalars:params})
{
    __shared__ Results of_warp[kThreads / 32];
    auto dims = make_shape(@{dims:shape}); // the innermost first
    auto view = [&](auto *p, auto strides) { return vectors_of<kWidth>(p, dims, strides); };
    auto ins = make_tuple(@{in:views});
    constexpr int kInputs = tuple_size<decltype(ins)>::value;
    auto x = cute::transform(ins, [](auto const &t) {
        return make_tensor<typename remove_cvref_t<decltype(t)>::value_type>(
            Shape<Int<kWidth>, Int<kUnroll>>{});
    });
    I row = I(blockIdx.x) * blockDim.y + threadIdx.y;
    bool there = row < I(rows);
    I lanes = blockDim.x, first = (there ? row : I(0)) * I(cols / kWidth);
    I i = I(blockIdx.y) * I(chunk / kWidth) + threadIdx.x;
    I end = there ? I(min(cols, (int64_t(blockIdx.y) + 1) * chunk) / kWidth) : I(0);
    float length = float(cols);
    Results of[kWidth];
    CUTE_UNROLL
    for (int v = 0; v < kWidth; v++)
        of[v] = no_elements();
    auto load = [&](int u, I at) {
        cute::for_each(make_seq<kInputs>{}, [&](auto n) {
            constexpr bool kOnce = kStream && has_all_dims(decltype(flatten(get<n>(ins).stride())){});
            if constexpr (kSummed >> n & 1)
                fetch<kOnce>(get<n>(ins)(make_coord(_), first + at), get<n>(x)(_, u));
        });
    };
    auto take_vector = [&](int u) {
        CUTE_UNROLL
        for (int v = 0; v < kWidth; v++)
            cute::apply(x, [&](auto const &...e) {
                take(of[v].p, length, e(v, u)...@{scalars:names});
            });
    };
    for (; i + (kUnroll - 1) * lanes < end; i += kUnroll * lanes) {
        CUTE_UNROLL
        for (int u = 0; u < kUnroll; u++)
            load(u, i + u * lanes);
        CUTE_UNROLL
        for (int u = 0; u < kUnroll; u++)
            take_vector(u);
    }
    for (; i < end; i += lanes) {
        load(0, i);
        take_vector(0);
    }
    CUTE_UNROLL
    for (int v = 1; v < kWidth; v++)
        join(of[0].p, of[v].p);
    Results all = join_warp(of[0]);
    int warps = blockDim.x / 32;
    if (warps > 1) {
        Results *mine = of_warp + threadIdx.y * warps;
        if (threadIdx.x % 32 == 0)
            mine[threadIdx.x / 32] = all;
        __syncthreads();
        all = mine[0];
        for (int w = 1; w < warps; w++)
            join(all.p, mine[w].p);
    }
    if (there && threadIdx.x == 0)
        CUTE_UNROLL
        for (int k = 0; k < kPasses; k++)
            part[(int64_t(row) * gridDim.y + blockIdx.y) * kPasses + k] = all.p[k];
}

template <int kWidth>
__device__ void any_size(@{in:typed}, float *part, int64_t rows, int64_t cols, int64_t chunk,
                         @{dims:params}@{scalars:params})
{
    if (rows * cols < int64_t(1) << 30)
        pass<int, kWidth>(@{in:names}, part, rows, cols, chunk, @{dims:names}@{scalars:names});
    else
        pass<int64_t, kWidth>(@{in:names}, part, rows, cols, chunk, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_vec(@{in:typed}, float *__restrict__ part, int64_t rows, int64_t cols, int64_t chunk,
             @{dims:params}@{scalars:params})
{
    any_size<kVec>(@{in:names}, part, rows, cols, chunk, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_one(@{in:typed}, float *__restrict__ part, int64_t rows, int64_t cols, int64_t chunk,
             @{dims:params}@{scalars:params})
{
    any_size<1>(@{in:names}, part, rows, cols, chunk, @{dims:names}@{scalars:names});
}

// The join of v over the block, in its first thread.
template <int kWarps>
__device__ float join_block(float v)
{
    __shared__ float of_warp[kWarps];
    CUTE_UNROLL
    for (int d = 16; d > 0; d /= 2)
        v = join_outer(v, __shfl_xor_sync(~0u, v, d));
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x < kWarps ? of_warp[threadIdx.x] : @{outer:unit};
    CUTE_UNROLL
    for (int d = 16; d > 0; d /= 2)
        v = join_outer(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

extern "C" __global__ void __launch_bounds__(1024)
    join_rows(@{in:typed}, const float *__restrict__ part, float *__restrict__ total,
              Out *__restrict__ out, int64_t rows, int64_t cols, int splits,
              @{dims:params}@{scalars:params})
{
    using I = int64_t;
    auto dims = make_shape(@{dims:shape}); // the innermost first
    auto view = [&](auto *p, auto strides) {
        return make_tensor(make_gmem_ptr(p), make_layout(dims, strides));
    };
    auto ins = make_tuple(@{in:views});
    float all = @{outer:unit}, length = float(cols);
    // The expression of a row reads the first element that each input has in this row.
    auto add_row = [&](int64_t row, const float *p) {
        float v = cute::apply(ins, [&](auto const &...t) {
            return of_row(p, length, t(row * cols)...@{scalars:names});
        });
        all = join_outer(all, v);
    };
    int64_t step = int64_t(gridDim.x) * 1024, row = int64_t(blockIdx.x) * 1024 + threadIdx.x;
    constexpr int kBatch = 8; // rows whose results are on their way at once
    for (; splits == 1 && row + (kBatch - 1) * step < rows; row += kBatch * step) {
        Results r[kBatch];
        CUTE_UNROLL
        for (int b = 0; b < kBatch; b++)
            CUTE_UNROLL
            for (int k = 0; k < kPasses; k++)
                r[b].p[k] = part[(row + b * step) * kPasses + k];
        CUTE_UNROLL
        for (int b = 0; b < kBatch; b++)
            add_row(row + b * step, r[b].p);
    }
    for (; row < rows; row += step) {
        Results r = no_elements();
#pragma unroll 8
        for (int s = 0; s < splits; s++) {
            Results piece;
            CUTE_UNROLL
            for (int k = 0; k < kPasses; k++)
                piece.p[k] = part[(row * splits + s) * kPasses + k];
            join(r.p, piece.p);
        }
        add_row(row, r.p);
    }
    all = join_block<32>(all);
    if (threadIdx.x == 0 && gridDim.x == 1)
        out[0] = result(all, float(rows)@{scalars:names});
    else if (threadIdx.x == 0)
        total[blockIdx.x] = all;
}

extern "C" __global__ void __launch_bounds__(128)
    join_all(const float *__restrict__ total, Out *__restrict__ out, int64_t rows,
             int blocks@{scalars:params})
{
    float v = join_block<4>(threadIdx.x < blocks ? total[threadIdx.x] : @{outer:unit});
    if (threadIdx.x == 0)
        out[0] = result(v, float(rows)@{scalars:names});
}
