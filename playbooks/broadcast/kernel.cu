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

@{part:fetch}

@{part:put}

// I is wide enough for every index.
template <class I, int kWidth>
__device__ void tile(@{in:typed}, T *@{restrict}out, @{dims:params}@{scalars:params})
{
    auto dims = make_shape(@{dims:shape}); // the innermost first
    auto view = [&](auto *p, auto strides) {
        Tensor all = make_tensor(make_gmem_ptr(p), make_layout(dims, strides));
        return zipped_divide(all, Shape<Int<kWidth>>{}); // (kWidth, vectors)
    };
    auto ins = make_tuple(@{in:views});
    auto x = cute::transform(ins, [](auto const &t) {
        return make_tensor<typename remove_cvref_t<decltype(t)>::value_type>(
            Shape<Int<kWidth>, Int<kUnroll>>{});
    });
    I n = size(dims) / kWidth, first = I(blockIdx.x) * (kThreads * kUnroll) + threadIdx.x;
    Tensor gOut = make_tensor(make_gmem_ptr(out), make_shape(Int<kWidth>{}, n));

    CUTE_UNROLL
    for (int u = 0; u < kUnroll; u++) {
        I i = first + u * kThreads;
        if (i < n)
            cute::for_each(make_seq<tuple_size<decltype(ins)>::value>{}, [&](auto k) {
                fetch(get<k>(ins)(make_coord(_), i), get<k>(x)(_, u));
            });
    }
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; u++) {
        I i = first + u * kThreads;
        Tensor y = make_tensor<T>(Shape<Int<kWidth>>{});
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            y(j) = T(cute::apply(x, [&](auto const &...v) {
                return op(v(j, u)...@{scalars:names});
            }));
        if (i < n)
            put<kStream>(y, gOut(_, i));
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
