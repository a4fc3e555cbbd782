/* hone-plan
{ "launches": [
    { "kernel": "elementwise_vec", "when": "min(@{in:align}, alignof(@{out})) >= @{vec}*@{elem}",
      "grid": ["cdiv(@{N}, @{threads}*@{vec}*@{unroll})"], "block": [@{threads}],
      "args": [@{in:args}, "@{out}", "@{N}"] },
    { "kernel": "elementwise_one", "when": "min(@{in:align}, alignof(@{out})) < @{vec}*@{elem}",
      "grid": ["cdiv(@{N}, @{threads}*@{unroll})"], "block": [@{threads}],
      "args": [@{in:args}, "@{out}", "@{N}"] } ] }
*/
// One output for each element. A block owns a tile; the tiled copy deals it out in vectors, or one
// by one where a tensor is not aligned for that. A thread loads all it owns of every input, then
// computes, then stores. Only the last tile can be cut off by the end of the tensors: it is copied
// element by element, predicated on its coordinates.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{out:type};
constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr int kUnroll = @{unroll};
constexpr bool kStream = @{stream};
constexpr int kInputs = @{in:n};

@{part:values}

__device__ @{expr:type} op(@{in:values})
{
    return @{expr};
}

// Copies of data that is used once: the caches drop it first.
@{part:stream_load}

@{part:stream_store}

template <class Args, int... I>
__device__ auto apply(const Args &args, int i, seq<I...>)
{
    return op(args(i, I)...);
}

template <int kWidth, class... In>
__device__ void tile(T *out, int64_t n, const In *...ins)
{
    using V = uint_bit_t<sizeof_bits_v<T> * kWidth>;
    using Load = conditional_t<kStream, StreamLoad<V>, UniversalCopy<V>>;
    using Store = conditional_t<kStream, StreamStore<V>, UniversalCopy<V>>;
    using Tile = Int<kThreads * kWidth * kUnroll>;
    auto load = make_tiled_copy(Copy_Atom<Load, T>{}, Layout<Int<kThreads>>{},
                                Layout<Int<kWidth>>{});
    auto store = make_tiled_copy(Copy_Atom<Store, T>{}, Layout<Int<kThreads>>{},
                                 Layout<Int<kWidth>>{});
    auto mine = load.get_slice(threadIdx.x);

    const T *in[] = {ins...};
    int64_t first = int64_t(blockIdx.x) * Tile::value;
    int rest = int(min(int64_t(Tile::value), n - first)); // elements of this tile
    bool whole = rest == Tile::value;
    auto piece = [&](auto *p) { return make_tensor(make_gmem_ptr(p + first), Layout<Tile>{}); };
    Tensor tC = mine.partition_S(make_identity_tensor(Shape<Tile>{}));
    auto inside = cute::lazy::transform(tC, [&](auto c) { return get<0>(c) < rest; });

    Tensor tY = mine.partition_D(piece(out)); // ((kWidth, 1), kUnroll)
    Tensor y = make_fragment_like(tY);
    Tensor x = make_tensor<T>(append(shape(y), Int<kInputs>{}));
    CUTE_UNROLL
    for (int i = 0; i < kInputs; i++) {
        Tensor tX = mine.partition_S(piece(in[i]));
        if (whole)
            copy(load, tX, x(_, _, i));
        else
            copy_if(inside, tX, x(_, _, i));
    }
    Tensor args = group_modes<0, 2>(x);
    CUTE_UNROLL
    for (int i = 0; i < size(y); i++)
        if (whole || inside(i))
            y(i) = T(apply(args, i, make_seq<kInputs>{}));
    if (whole)
        copy(store, y, tY);
    else
        copy_if(inside, y, tY);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    elementwise_vec(@{in:params}, T *@{restrict}out, int64_t n)
{
    tile<kVec>(out, n, @{in:names});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    elementwise_one(@{in:params}, T *@{restrict}out, int64_t n)
{
    tile<1>(out, n, @{in:names});
}
