/* hone-plan
{ "launches": [
    { "kernel": "permute_vec", "when": "@{D} % @{vec} == 0 && min(alignof(@{x}), alignof(@{y})) >= @{vec}*@{elem}",
      "grid": ["cdiv(@{Z}*@{M}*@{N}*@{D}/@{vec}, @{threads}*@{unroll})"], "block": [@{threads}],
      "args": ["@{x}", "@{y}", "@{Z}", "@{M}", "@{N}", "@{D}"] },
    { "kernel": "permute_one", "when": "!(@{D} % @{vec} == 0 && min(alignof(@{x}), alignof(@{y})) >= @{vec}*@{elem})",
      "grid": ["cdiv(@{Z}*@{M}*@{N}*@{D}, @{threads}*@{unroll})"], "block": [@{threads}],
      "args": ["@{x}", "@{y}", "@{Z}", "@{M}", "@{N}", "@{D}"] } ] }
*/
// y[z, n, m, :] = x[z, m, n, :].
//
// Threads follow y: neighbours write neighbouring vectors, and as long as they are in the same row
// they read neighbouring ones, too. A view of x with its strides in y's order says where; a thread
// has kUnroll vectors on their way before it stores the first.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{x:type};
constexpr int kVec = @{vec};
constexpr int kUnroll = @{unroll};
constexpr int kThreads = @{threads};
constexpr bool kStream = @{stream};

@{part:stream_store}

template <int kWidth, class I>
__device__ void permute(const T *x, T *y, int64_t Z, int64_t M, int64_t N, int64_t D)
{
    using V = uint_bit_t<sizeof_bits_v<T> * kWidth>;
    using Load = Copy_Atom<UniversalCopy<V>, T>;
    using Store = Copy_Atom<conditional_t<kStream, StreamStore<V>, UniversalCopy<V>>, T>;
    I vectors = I(D / kWidth), all = I(Z * M * N) * vectors;
    // (element, vector, m, n, z), as in y
    auto places = make_shape(Int<kWidth>{}, make_shape(vectors, I(M), I(N), I(Z)));
    Tensor gX = make_tensor(
        make_gmem_ptr(x),
        make_layout(places, make_stride(_1{}, make_stride(Int<kWidth>{}, int64_t(N * D), int64_t(D),
                                                          int64_t(M * N * D)))));
    Tensor gY = local_tile(make_tensor(make_gmem_ptr(y), make_shape(all * kWidth)),
                           Shape<Int<kWidth>>{}, make_coord(_));
    I first = I(blockIdx.x) * (kThreads * kUnroll) + threadIdx.x;
    Tensor r = make_tensor<T>(Shape<Int<kWidth>, Int<kUnroll>>{});
    CUTE_UNROLL
    for (int k = 0; k < kUnroll; k++)
        if (first + k * kThreads < all)
            copy(Load{}, gX(_, first + k * kThreads), r(_, k));
    CUTE_UNROLL
    for (int k = 0; k < kUnroll; k++)
        if (first + k * kThreads < all)
            copy(Store{}, r(_, k), gY(_, first + k * kThreads));
}

// 32-bit places where they suffice: their divisions are much faster.
template <int kWidth>
__device__ void permute_any(const T *x, T *y, int64_t Z, int64_t M, int64_t N, int64_t D)
{
    if (Z * M * N * D < (int64_t(1) << 30))
        permute<kWidth, int>(x, y, Z, M, N, D);
    else
        permute<kWidth, int64_t>(x, y, Z, M, N, D);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    permute_vec(const T *__restrict__ x, T *__restrict__ y, int64_t Z, int64_t M, int64_t N,
                int64_t D)
{
    permute_any<kVec>(x, y, Z, M, N, D);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    permute_one(const T *__restrict__ x, T *__restrict__ y, int64_t Z, int64_t M, int64_t N,
                int64_t D)
{
    permute_any<1>(x, y, Z, M, N, D);
}
