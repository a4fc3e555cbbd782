/* hone-plan
{ "launches": [
    { "kernel": "softmax_vec", "when": "@{C} % @{vec} == 0 && min(@{in:align}, alignof(@{out})) >= @{vec}*@{elem}",
      "grid": ["cdiv(@{R}, max(1, @{block}/min(@{threads}, align(cdiv(@{C}, @{vec}*@{per}), 32))))"], "block": ["min(@{threads}, align(cdiv(@{C}, @{vec}*@{per}), 32))", "max(1, @{block}/min(@{threads}, align(cdiv(@{C}, @{vec}*@{per}), 32)))"],
      "args": [@{in:args}, "@{out}", "@{R}", "@{C}", @{dims:args}@{scalars:args}] },
    { "kernel": "softmax_one", "when": "!(@{C} % @{vec} == 0 && min(@{in:align}, alignof(@{out})) >= @{vec}*@{elem})",
      "grid": ["cdiv(@{R}, max(1, @{block}/min(@{threads}, align(cdiv(@{C}, 1*@{per}), 32))))"], "block": ["min(@{threads}, align(cdiv(@{C}, 1*@{per}), 32))", "max(1, @{block}/min(@{threads}, align(cdiv(@{C}, 1*@{per}), 32)))"],
      "args": [@{in:args}, "@{out}", "@{R}", "@{C}", @{dims:args}@{scalars:args}] } ] }
*/
// Softmax of each row of an expression of inputs that may lack some of its axes: a mask for each
// column, a bias for each head, a scale.
//
// Every input is seen in the shape of the output, with a stride of 0 along the axes it lacks, and
// cut into vectors along the rows: the i-th vectors of all belong together. The lanes of a row are
// one or more warps, as its length asks; a block takes as many short rows as fill it. What the
// lanes' registers hold is read once, a longer row twice.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{out:type};
constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr int kPer = @{per};
constexpr bool kStream = @{stream};
constexpr bool kLog = @{log};

#define MINUS_INF (-__int_as_float(0x7f800000))

@{part:values}

__device__ float op(@{in:values}@{scalars:params})
{
    return @{sign}(@{expr});
}

@{part:broadcast_view}

@{part:join_row}

template <class I, int kWidth>
__device__ void softmax(@{in:typed}, T *__restrict__ out, int64_t rows, int64_t cols,
                        @{dims:params}@{scalars:params})
{
    __shared__ float part[2 * 32];
    auto dims = make_shape(@{dims:shape}); // the innermost first: it is the rows' length
    auto view = [&](auto *p, auto strides) {
        using E = remove_cv_t<remove_pointer_t<decltype(p)>>;
        return View<I, kWidth, E, decltype(dims), decltype(strides)>{p, dims, strides};
    };
    auto ins = make_tuple(@{in:views});
    I vectors = I(cols / kWidth), row = I(blockIdx.x) * blockDim.y + threadIdx.y;
    bool there = row < rows;

    // The expression at vector i of the row.
    auto value = [&](I i, float (&e)[kWidth]) {
        auto x = cute::transform(ins, [&](auto const &t) {
            Vectors<typename remove_cvref_t<decltype(t)>::Element, 1, kWidth> r;
            t.load(r.v[0], row * vectors + i);
            return r;
        });
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            e[j] = cute::apply(
                x, [&](auto const &...in) { return op(float(in.v[0][j])...@{scalars:names}); });
    };
    auto store = [&](I i, const float (&e)[kWidth], float m, float inv, float log_sum) {
        T y[kWidth];
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            y[j] = T(kLog ? e[j] - log_sum : __expf(e[j] - m) * inv);
        store_vector<kStream>(out + (row * vectors + i) * kWidth, y);
    };

    float m = MINUS_INF, sum = 0;
    float e[kPer][kWidth];
    // Each element in the registers.
    auto each = [&](auto act) {
        CUTE_UNROLL
        for (int k = 0; k < kPer; k++)
            CUTE_UNROLL
            for (int j = 0; j < kWidth; j++)
                act(e[k][j]);
    };
    auto at = [&](int k) { return I(k) * I(blockDim.x) + I(threadIdx.x); };
    bool held = vectors <= I(kPer) * I(blockDim.x);
    if (held) {
        each([](float &x) { x = MINUS_INF; });
        CUTE_UNROLL
        for (int k = 0; k < kPer; k++)
            if (there && at(k) < vectors)
                value(at(k), e[k]);
        each([&](float x) { m = fmaxf(m, x); });
    } else {
        for (I i = threadIdx.x; there && i < vectors; i += blockDim.x) {
            value(i, e[0]);
            float old = m;
            CUTE_UNROLL
            for (int j = 0; j < kWidth; j++)
                m = fmaxf(m, e[0][j]);
            sum *= scale(old, m);
            CUTE_UNROLL
            for (int j = 0; j < kWidth; j++)
                sum += scale(e[0][j], m == MINUS_INF ? 0.f : m);
        }
    }
    float all = join_row(m, part, max_of), base = all == MINUS_INF ? 0.f : all;
    if (held)
        each([&](float x) { sum += __expf(x - base); });
    else
        sum *= scale(m, all);
    sum = join_row(sum, part + 32, sum_of);

    // A row of -inf alone is NaN, as in PyTorch.
    float inv = 1.f / sum, log_sum = kLog ? all + logf(sum) : 0.f;
    if (held) {
        CUTE_UNROLL
        for (int k = 0; k < kPer; k++)
            if (there && at(k) < vectors)
                store(at(k), e[k], all, inv, log_sum);
    } else {
        for (I i = threadIdx.x; there && i < vectors; i += blockDim.x) {
            value(i, e[0]);
            store(i, e[0], all, inv, log_sum);
        }
    }
}

template <int kWidth>
__device__ void any_size(@{in:typed}, T *__restrict__ out, int64_t rows, int64_t cols,
                         @{dims:params}@{scalars:params})
{
    if (rows * cols <= 1 << 30)
        softmax<int, kWidth>(@{in:names}, out, rows, cols, @{dims:names}@{scalars:names});
    else
        softmax<int64_t, kWidth>(@{in:names}, out, rows, cols, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    softmax_vec(@{in:typed}, T *__restrict__ out, int64_t rows, int64_t cols,
                @{dims:params}@{scalars:params})
{
    any_size<kVec>(@{in:names}, out, rows, cols, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    softmax_one(@{in:typed}, T *__restrict__ out, int64_t rows, int64_t cols,
                @{dims:params}@{scalars:params})
{
    any_size<1>(@{in:names}, out, rows, cols, @{dims:names}@{scalars:names});
}
