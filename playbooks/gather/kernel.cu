/* hone-plan
{ "launches": [
    { "kernel": "gather_vec",
      "when": "@{D} % @{vec} == 0 && min(alignof(@{table}), alignof(@{y})) >= @{vec}*@{elem}",
      "grid": ["cdiv(@{N}, @{unroll}*(@{threads}/min(@{lanes}, pow2ceil(@{D}/@{vec}))))"],
      "block": ["min(@{lanes}, pow2ceil(@{D}/@{vec}))", "@{threads}/min(@{lanes}, pow2ceil(@{D}/@{vec}))"],
      "args": ["@{idx}", "@{table}", "@{y}", "@{N}", "@{V}", "@{D}"] },
    { "kernel": "gather_one",
      "when": "@{D} % @{vec} != 0 || min(alignof(@{table}), alignof(@{y})) < @{vec}*@{elem}",
      "grid": ["cdiv(@{N}, @{unroll}*(@{threads}/min(@{lanes}, pow2ceil(@{D}))))"],
      "block": ["min(@{lanes}, pow2ceil(@{D}))", "@{threads}/min(@{lanes}, pow2ceil(@{D}))"],
      "args": ["@{idx}", "@{table}", "@{y}", "@{N}", "@{V}", "@{D}"] } ] }
*/
// y[i] = table[idx[i]]. threadIdx.x is a place in the row, threadIdx.y one of the block's rows. A
// thread has its kUnroll rows' indices loaded first, then a vector of each row on its way before
// the first is stored. Rows that are not aligned for vectors go one element at a time.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{y:type};
using Index = @{idx:type};
constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr int kUnroll = @{unroll};
constexpr bool kStream = @{stream};

@{part:stream_store}

template <int kWidth>
__device__ void gather(const Index *idx, const T *table, T *y, int n, int rows, int cols)
{
    using V = uint_bit_t<sizeof_bits_v<T> * kWidth>;
    using Load = Copy_Atom<UniversalCopy<V>, T>;
    using Store = Copy_Atom<conditional_t<kStream, StreamStore<V>, UniversalCopy<V>>, T>;
    Tensor mT = make_tensor(make_gmem_ptr(table), make_shape(rows, cols),
                            make_stride(int64_t(cols), _1{}));
    Tensor mY = make_tensor(make_gmem_ptr(y), make_shape(n, cols),
                            make_stride(int64_t(cols), _1{}));
    Tensor gT = local_tile(mT, Shape<_1, Int<kWidth>>{}, make_coord(_, _)); // (1, V, rows, vectors)
    Tensor gY = local_tile(mY, Shape<_1, Int<kWidth>>{}, make_coord(_, _));

    int first = blockIdx.x * kUnroll * blockDim.y + threadIdx.y;
    auto at = [&](int k) { return first + k * int(blockDim.y); };
    int from[kUnroll];
    CUTE_UNROLL
    for (int k = 0; k < kUnroll; k++)
        from[k] = at(k) < n ? int(idx[at(k)]) : 0;
    Tensor r = make_tensor<T>(Shape<Int<kWidth>, Int<kUnroll>>{});
    for (int c = threadIdx.x; c < cols / kWidth; c += blockDim.x) {
        CUTE_UNROLL
        for (int k = 0; k < kUnroll; k++)
            if (at(k) < n)
                copy(Load{}, gT(0, _, from[k], c), r(_, k));
        CUTE_UNROLL
        for (int k = 0; k < kUnroll; k++)
            if (at(k) < n)
                copy(Store{}, r(_, k), gY(0, _, at(k), c));
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gather_vec(const Index *__restrict__ idx, const T *__restrict__ table, T *__restrict__ y, int n,
               int rows, int cols)
{
    gather<kVec>(idx, table, y, n, rows, cols);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gather_one(const Index *__restrict__ idx, const T *__restrict__ table, T *__restrict__ y, int n,
               int rows, int cols)
{
    gather<1>(idx, table, y, n, rows, cols);
}
