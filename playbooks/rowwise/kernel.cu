/* hone-plan
{ "launches": [
    { "kernel": "rows_vec", "when": "@{C} % @{vec} == 0 && min(@{in:align}, alignof(@{out})) >= @{vec}*@{elem}",
      "grid": ["cdiv(@{R}, max(1, @{block}/min(@{threads}, align(cdiv(@{C}, @{vec}*@{per}), 32))))"], "block": ["min(@{threads}, align(cdiv(@{C}, @{vec}*@{per}), 32))", "max(1, @{block}/min(@{threads}, align(cdiv(@{C}, @{vec}*@{per}), 32)))"],
      "args": [@{in:args}, "@{out}", "@{R}", "@{C}", @{dims:args}@{scalars:args}] },
    { "kernel": "rows_one", "when": "!(@{C} % @{vec} == 0 && min(@{in:align}, alignof(@{out})) >= @{vec}*@{elem})",
      "grid": ["cdiv(@{R}, max(1, @{block}/min(@{threads}, align(cdiv(@{C}, 1*@{per}), 32))))"], "block": ["min(@{threads}, align(cdiv(@{C}, 1*@{per}), 32))", "max(1, @{block}/min(@{threads}, align(cdiv(@{C}, 1*@{per}), 32)))"],
      "args": [@{in:args}, "@{out}", "@{R}", "@{C}", @{dims:args}@{scalars:args}] } ] }
*/
// An expression of each row and of sums and extremes of it: one pass for each of those, then one
// that writes.
//
// Every input is seen in the shape of the output, with a stride of 0 along the axes it lacks, and
// cut into vectors along the rows: the i-th vectors of all belong together. The lanes of a row are
// one or more warps, as its length asks; a block takes as many short rows as fill it. What the
// lanes' registers hold is read once; a longer row is read again in every pass, from the caches.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{out:type};
constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr int kPer = @{per};
constexpr int kPasses = @{passes:n};
constexpr bool kStream = @{stream};

@{part:values}

@{part:stream_store}

@{part:fetch}

@{part:join_row}

// I is wide enough for every index.
template <class I, int kWidth>
__device__ void rows_of(@{in:typed}, T *__restrict__ out, int64_t rows, int64_t cols,
                        @{dims:params}@{scalars:params})
{
    using V = Vector<T, kWidth>;
    using Store = Copy_Atom<conditional_t<kStream, StreamStore<V>, UniversalCopy<V>>, T>;
    __shared__ float part[kPasses * 32];
    auto dims = make_shape(@{dims:shape}); // the innermost first: it is the rows' length
    auto view = [&](auto *p, auto strides) {
        Tensor all = make_tensor(make_gmem_ptr(p), make_layout(dims, strides));
        return zipped_divide(all, Shape<Int<kWidth>>{}); // (kWidth, vectors)
    };
    auto ins = make_tuple(@{in:views});
    auto x = cute::transform(ins, [](auto const &t) {
        return make_tensor<typename remove_cvref_t<decltype(t)>::value_type>(
            Shape<Int<kWidth>, Int<kPer>>{});
    });
    I vectors = I(cols / kWidth), row = I(blockIdx.x) * blockDim.y + threadIdx.y;
    bool there = row < rows, held = vectors <= I(kPer) * I(blockDim.x);
    auto at = [&](int k) { return I(k) * I(blockDim.x) + I(threadIdx.x); };
    auto load = [&](I i, int k) {
        cute::for_each(make_seq<tuple_size<decltype(ins)>::value>{}, [&](auto n) {
            fetch(get<n>(ins)(make_coord(_), row * vectors + i), get<n>(x)(_, k));
        });
    };
    // f at each of this thread's vectors: which it is, and where its registers are.
    auto each = [&](auto f) {
        if (held) {
            CUTE_UNROLL
            for (int k = 0; k < kPer; k++)
                if (there && at(k) < vectors)
                    f(at(k), k);
        } else {
            for (I i = threadIdx.x; there && i < vectors; i += blockDim.x) {
                load(i, 0);
                f(i, 0);
            }
        }
    };
    if (held)
        each([&](I i, int k) { load(i, k); });
    int pass = 0;
    auto reduce = [&](float unit, auto join, auto term) {
        float s = unit;
        each([&](I, int k) {
            CUTE_UNROLL
            for (int j = 0; j < kWidth; j++)
                s = join(s, cute::apply(x, [&](auto const &...v) { return term(v(j, k)...); }));
        });
        return join_row(s, part + 32 * pass++, join);
    };
    @{passes}
    auto op = [&](@{in:values}) -> float { return @{expr}; };

    Tensor gOut = make_tensor(make_gmem_ptr(out), make_shape(Int<kWidth>{}, vectors * I(rows)));
    each([&](I i, int k) {
        Tensor y = make_tensor<T>(Shape<Int<kWidth>>{});
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            y(j) = T(cute::apply(x, [&](auto const &...v) { return op(v(j, k)...); }));
        copy(Store{}, y, gOut(_, row * vectors + i));
    });
}

template <int kWidth>
__device__ void any_size(@{in:typed}, T *__restrict__ out, int64_t rows, int64_t cols,
                         @{dims:params}@{scalars:params})
{
    if (rows * cols <= 1 << 30)
        rows_of<int, kWidth>(@{in:names}, out, rows, cols, @{dims:names}@{scalars:names});
    else
        rows_of<int64_t, kWidth>(@{in:names}, out, rows, cols, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_vec(@{in:typed}, T *__restrict__ out, int64_t rows, int64_t cols,
             @{dims:params}@{scalars:params})
{
    any_size<kVec>(@{in:names}, out, rows, cols, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_one(@{in:typed}, T *__restrict__ out, int64_t rows, int64_t cols,
             @{dims:params}@{scalars:params})
{
    any_size<1>(@{in:names}, out, rows, cols, @{dims:names}@{scalars:names});
}
