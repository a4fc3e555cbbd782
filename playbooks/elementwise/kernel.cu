/* hone-plan
{ "launches": [
    { "kernel": "elementwise_vec", "when": "min(@{in:align}, alignof(@{out})) >= @{vec}*@{elem}",
      "grid": ["cdiv(@{N}, @{threads}*@{vec}*@{unroll})"], "block": [@{threads}],
      "args": [@{in:args}, "@{out}", "@{N}"] },
    { "kernel": "elementwise_one", "when": "min(@{in:align}, alignof(@{out})) < @{vec}*@{elem}",
      "grid": ["cdiv(@{N}, @{threads}*@{unroll})"], "block": [@{threads}],
      "args": [@{in:args}, "@{out}", "@{N}"] } ] }
*/
// One output for each element. A block owns a tile, and its threads take vectors of it in turn, or
// single elements where a tensor is not aligned for vectors. A thread loads all it owns of every input,
// then computes, then stores. Only the last tile can be cut off by the end of the tensors: it is copied
// element by element.
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

@{part:vector_access}

template <int kWidth, int... I>
__device__ auto apply(const T (&x)[kInputs][kUnroll][kWidth], int u, int j, seq<I...>)
{
    return op(x[I][u][j]...);
}

template <int kWidth, class... In>
__device__ void tile(T *out, int64_t n, const In *...ins)
{
    constexpr int kTile = kThreads * kWidth * kUnroll, kStep = kThreads * kWidth;
    const T *in[] = {ins...};
    int64_t block = int64_t(blockIdx.x) * kTile, first = block + threadIdx.x * kWidth;
    bool whole = n - block >= kTile;
    int rest = int(min(int64_t(kTile), n - first)); // elements from this thread's first one on

    T x[kInputs][kUnroll][kWidth], y[kUnroll][kWidth];
    CUTE_UNROLL
    for (int i = 0; i < kInputs; i++) {
        const T *from = in[i] + first;
        CUTE_UNROLL
        for (int u = 0; u < kUnroll; u++) {
            if (whole) {
                load_vector<kStream>(x[i][u], from + u * kStep);
            } else {
                CUTE_UNROLL
                for (int j = 0; j < kWidth; j++)
                    if (u * kStep + j < rest)
                        x[i][u][j] = from[u * kStep + j];
            }
        }
    }
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; u++)
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            if (whole || u * kStep + j < rest)
                y[u][j] = T(apply(x, u, j, make_seq<kInputs>{}));
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; u++) {
        if (whole) {
            store_vector<kStream>(out + first + u * kStep, y[u]);
        } else {
            CUTE_UNROLL
            for (int j = 0; j < kWidth; j++)
                if (u * kStep + j < rest)
                    out[first + u * kStep + j] = y[u][j];
        }
    }
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
