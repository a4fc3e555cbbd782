/* hone-plan
{ "launches": [
    { "kernel": "gated_vec",
      "when": "(@{B}*@{D} > 1048576 || @{B} > 65535) && @{D} % @{vec} == 0 && min(alignof(@{x}), alignof(@{y})) >= @{vec}*@{elem}",
      "grid": ["cdiv(@{D}, @{threads}*@{vec}*@{unroll})", "min(@{B}, 65535)"], "block": [@{threads}],
      "args": ["@{x}", "@{y}", "@{B}", "@{D}"] },
    { "kernel": "gated_small",
      "when": "@{B}*@{D} <= 1048576 && @{B} <= 65535 && @{D} % @{small} == 0 && min(alignof(@{x}), alignof(@{y})) >= @{small}*@{elem}",
      "grid": ["cdiv(@{D}, @{threads}*@{small})", "@{B}"], "block": [@{threads}],
      "args": ["@{x}", "@{y}", "@{B}", "@{D}"] },
    { "kernel": "gated_one",
      "when": "@{B}*@{D} > 1048576 || @{B} > 65535 ? @{D} % @{vec} != 0 || min(alignof(@{x}), alignof(@{y})) < @{vec}*@{elem} : @{D} % @{small} != 0 || min(alignof(@{x}), alignof(@{y})) < @{small}*@{elem}",
      "grid": ["cdiv(@{D}, @{threads}*@{unroll})", "min(@{B}, 65535)"], "block": [@{threads}],
      "args": ["@{x}", "@{y}", "@{B}", "@{D}"] } ] }
*/
// y[b, d] = op(x[b, d], x[b, D + d]). The first half of a row is the gate, the second the value. A
// block takes the same columns of both. A thread has kUnroll vectors of each in flight before it
// computes. For a small tensor, latency counts: threads take fewer elements each, so that more of them
// work, and their code has no loops, because fetching instructions takes time too. Rows that are not aligned for vectors go one element at a time.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{x:type};
constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr int kSmall = @{small};
constexpr int kUnroll = @{unroll};
constexpr bool kStream = @{stream};

@{part:values}

__device__ float op(float v0, float v1)
{
    return @{expr};
}

// Copies of data that is used once: the caches drop it first.
@{part:stream_load}

@{part:stream_store}

@{part:pairs}

// g = op(g, v), element by element.
template <class G, class V>
__device__ void combine(G &&g, const V &v)
{
    Tensor fg = make_tensor<float>(Shape<Int<size(typename V::layout_type{})>>{});
    Tensor fv = make_tensor<float>(shape(fg));
    convert(g, fg);
    convert(v, fv);
    CUTE_UNROLL
    for (int i = 0; i < size(fg); i++)
        fg(i) = op(fg(i), fv(i));
    convert(fg, g);
}

template <int kWidth, int kLoads>
__device__ void gated(const T *x, T *y, int rows, int cols)
{
    using V = uint_bit_t<sizeof_bits_v<T> * kWidth>;
    using Load = Copy_Atom<conditional_t<kStream, StreamLoad<V>, UniversalCopy<V>>, T>;
    using Store = Copy_Atom<conditional_t<kStream, StreamStore<V>, UniversalCopy<V>>, T>;
    // (row, gate or value, column)
    Tensor mX = make_tensor(make_gmem_ptr(x), make_shape(rows, _2{}, cols),
                            make_stride(int64_t(2) * cols, cols, _1{}));
    Tensor mY = make_tensor(make_gmem_ptr(y), make_shape(rows, cols),
                            make_stride(int64_t(cols), _1{}));
    int first = blockIdx.x * kThreads * kLoads + threadIdx.x, count = cols / kWidth;
    auto at = [&](int k) { return first + k * kThreads; };

    for (int row = blockIdx.y; row < rows; row += gridDim.y) {
        Tensor gG = local_tile(mX(row, 0, _), Shape<Int<kWidth>>{}, make_coord(_));
        Tensor gV = local_tile(mX(row, 1, _), Shape<Int<kWidth>>{}, make_coord(_));
        Tensor gY = local_tile(mY(row, _), Shape<Int<kWidth>>{}, make_coord(_));
        Tensor g = make_tensor<T>(Shape<Int<kWidth>, Int<kLoads>>{});
        Tensor v = make_tensor<T>(Shape<Int<kWidth>, Int<kLoads>>{});
        CUTE_UNROLL
        for (int k = 0; k < kLoads; k++)
            if (at(k) < count) {
                copy(Load{}, gG(_, at(k)), g(_, k));
                copy(Load{}, gV(_, at(k)), v(_, k));
            }
        CUTE_UNROLL
        for (int k = 0; k < kLoads; k++)
            if (at(k) < count) {
                combine(g(_, k), v(_, k));
                copy(Store{}, g(_, k), gY(_, at(k)));
            }
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gated_vec(const T *__restrict__ x, T *__restrict__ y, int rows, int cols)
{
    gated<kVec, kUnroll>(x, y, rows, cols);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gated_small(const T *__restrict__ x, T *__restrict__ y, int rows, int cols)
{
    using V = uint_bit_t<sizeof_bits_v<T> * kSmall>;
    int i = (blockIdx.x * kThreads + threadIdx.x) * kSmall, row = blockIdx.y;
    if (i >= cols)
        return;
    auto vector = [](auto *p, int at) { // offsets fit an int: there are few elements
        return make_tensor(make_gmem_ptr(p + at), Shape<Int<kSmall>>{});
    };
    Tensor g = make_tensor<T>(Shape<Int<kSmall>>{});
    Tensor v = make_tensor<T>(Shape<Int<kSmall>>{});
    copy(Copy_Atom<UniversalCopy<V>, T>{}, vector(x, 2 * row * cols + i), g);
    copy(Copy_Atom<UniversalCopy<V>, T>{}, vector(x, (2 * row + 1) * cols + i), v);
    combine(g, v);
    copy(Copy_Atom<UniversalCopy<V>, T>{}, g, vector(y, row * cols + i));
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gated_one(const T *__restrict__ x, T *__restrict__ y, int rows, int cols)
{
    gated<1, kUnroll>(x, y, rows, cols);
}
