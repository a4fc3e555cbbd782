/* hone-plan
{ "launches": [
    { "kernel": "broadcast_vec", "when": "@{dims:inner} % @{vec} == 0 && min(@{in:align}, alignof(@{out})) >= @{vec}*@{elem}",
      "grid": ["max(1, cdiv(@{N}, @{threads}*@{vec}*@{unroll}))"], "block": [@{threads}],
      "args": [@{in:args}, "@{out}", @{dims:args}@{scalars:args}] },
    { "kernel": "broadcast_one", "when": "@{dims:inner} % @{vec} != 0 || min(@{in:align}, alignof(@{out})) < @{vec}*@{elem}",
      "grid": ["max(1, cdiv(@{N}, @{threads}*@{unroll}))"], "block": [@{threads}],
      "args": [@{in:args}, "@{out}", @{dims:args}@{scalars:args}] } ] }
*/
// One output for each element, from inputs that may lack some of its axes.
//
// Every input is seen in the shape of the output, with a stride of 0 along the axes it lacks, and
// cut into vectors along the innermost one: the i-th vectors of all belong together. An input that
// lacks the innermost axis gives one value for a whole vector. Where the innermost axis is no
// multiple of a vector, or a tensor is not aligned for it, vectors are single elements.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{out:type};
constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr int kUnroll = @{unroll};
constexpr bool kStream = @{stream};

@{part:values}

__device__ @{expr:type} op(@{in:values}@{scalars:params})
{
    return @{expr};
}

@{part:broadcast_view}

template <class I, int kWidth>
__device__ void tile(@{in:typed}, T *@{restrict}out, @{dims:params}@{scalars:params})
{
    auto dims = make_shape(@{dims:shape}); // the innermost first
    auto view = [&](auto *p, auto strides) {
        using E = remove_cv_t<remove_pointer_t<decltype(p)>>;
        return View<I, kWidth, E, decltype(dims), decltype(strides)>{p, dims, strides};
    };
    auto ins = make_tuple(@{in:views});
    auto x = cute::transform(ins, [](auto const &t) {
        return Vectors<typename remove_cvref_t<decltype(t)>::Element, kUnroll, kWidth>{};
    });
    I n = size(dims) / kWidth, first = I(blockIdx.x) * (kThreads * kUnroll) + threadIdx.x;

    CUTE_UNROLL
    for (int u = 0; u < kUnroll; u++) {
        I i = first + u * kThreads;
        if (i < n)
            cute::for_each(make_seq<tuple_size<decltype(ins)>::value>{},
                           [&](auto k) { get<k>(ins).load(get<k>(x).v[u], i); });
    }
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; u++) {
        I i = first + u * kThreads;
        T y[kWidth];
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            y[j] = T(cute::apply(x, [&](auto const &...in) { return op(in.v[u][j]...@{scalars:names}); }));
        if (i < n)
            store_vector<kStream>(out + i * kWidth, y);
    }
}

template <int kWidth>
__device__ void any_size(@{in:typed}, T *@{restrict}out, @{dims:params}@{scalars:params})
{
    if (size(make_shape(@{dims:names})) <= 1 << 30)
        tile<int, kWidth>(@{in:names}, out, @{dims:names}@{scalars:names});
    else
        tile<int64_t, kWidth>(@{in:names}, out, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    broadcast_vec(@{in:typed}, T *@{restrict}out, @{dims:params}@{scalars:params})
{
    any_size<kVec>(@{in:names}, out, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    broadcast_one(@{in:typed}, T *@{restrict}out, @{dims:params}@{scalars:params})
{
    any_size<1>(@{in:names}, out, @{dims:names}@{scalars:names});
}
