/* hone-plan
{ "launches": [
    { "kernel": "matvec_vec", "when": "@{K} % @{vec} == 0 && min(alignof(@{A}), alignof(@{x})) >= @{vec}*@{elem}", "grid": ["cdiv(@{M}, @{rows})", @{split}], "block": [@{threads}],
      "args": ["@{A}", "@{x}", "@{y}", "parts", @{extra}"@{M}", "@{K}", "@{columns}"] },
    { "kernel": "matvec_one", "when": "!(@{K} % @{vec} == 0 && min(alignof(@{A}), alignof(@{x})) >= @{vec}*@{elem})", "grid": ["cdiv(@{M}, @{rows})", @{split}], "block": [@{threads}],
      "args": ["@{A}", "@{x}", "@{y}", "parts", @{extra}"@{M}", "@{K}", "@{columns}"] },
    { "kernel": "sum_parts", "when": "@{split} > 1", "grid": ["cdiv(@{M}, 64)"], "block": [64],
      "args": ["parts", "@{y}", @{extra}"@{M}", "@{columns}"] } ],
  "workspace": { "parts": { "bytes": "4*@{split}*@{M}", "init": "none" } } }
*/
// y = epilogue(A * x). A block takes kRows rows; its threads stride along them in vectors, with kUnroll
// vectors of x and of every row on their way at once. A piece of x is loaded once for all rows of the
// block. kSplit blocks share the K of a row; a second launch adds up their sums.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{A:type};
constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr int kRows = @{rows};
constexpr int kUnroll = @{unroll};
constexpr bool kStream = @{stream};
constexpr int kSplit = @{split};

@{part:epilogue}

@{part:stream_load}

template <int kWidth>
__device__ void matvec(const T *A, const T *x, T *y, float *parts, const Extra &extra, int M, int K,
                       int columns)
{
    using V = uint_bit_t<sizeof_bits_v<T> * kWidth>;
    using Load = Copy_Atom<conditional_t<kStream, StreamLoad<V>, UniversalCopy<V>>, T>;
    using LoadX = Copy_Atom<UniversalCopy<V>, T>;
    constexpr int kWarps = kThreads / 32;
    __shared__ float part[kWarps][kRows];
    Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(M, K), make_stride(int64_t(K), _1{}));
    Tensor mX = make_tensor(make_gmem_ptr(x), make_shape(K));
    Tensor gA = local_tile(mA, Shape<_1, Int<kWidth>>{}, make_coord(_, _)); // (1, V, rows, vectors)
    Tensor gX = local_tile(mX, Shape<Int<kWidth>>{}, make_coord(_));
    Tensor rA = make_tensor<T>(Shape<Int<kWidth>, Int<kRows>, Int<kUnroll>>{});
    Tensor rX = make_tensor<T>(Shape<Int<kWidth>, Int<kUnroll>>{});
    // `part_sum` adds up at most 256 terms before they go to `sum`: short chains round less.
    Tensor part_sum = make_tensor<float>(Shape<Int<kRows>>{});
    Tensor sum = make_tensor<float>(Shape<Int<kRows>>{});
    constexpr int kChain = 256 / (kUnroll * kWidth);
    int share = ceil_div(K / kWidth, kSplit), from = blockIdx.y * share;
    int first = blockIdx.x * kRows, count = min(K / kWidth, from + share), step = 0;
    auto row = [&](int m) { return min(first + m, M - 1); }; // the last row again where there is none

    clear(part_sum);
    clear(sum);
    for (int i = from + threadIdx.x; i < count; i += kThreads * kUnroll) {
        CUTE_UNROLL
        for (int k = 0; k < kUnroll; k++)
            if (i + k * kThreads < count) {
                copy(LoadX{}, gX(_, i + k * kThreads), rX(_, k));
                CUTE_UNROLL
                for (int m = 0; m < kRows; m++)
                    copy(Load{}, gA(0, _, row(m), i + k * kThreads), rA(_, m, k));
            }
        CUTE_UNROLL
        for (int k = 0; k < kUnroll; k++)
            if (i + k * kThreads < count)
                CUTE_UNROLL
                for (int m = 0; m < kRows; m++)
                    CUTE_UNROLL
                    for (int j = 0; j < kWidth; j++)
                        part_sum(m) += float(rA(j, m, k)) * float(rX(j, k));
        if (++step % kChain == 0)
            CUTE_UNROLL
            for (int m = 0; m < kRows; m++) {
                sum(m) += part_sum(m);
                part_sum(m) = 0;
            }
    }
    CUTE_UNROLL
    for (int m = 0; m < kRows; m++) {
        sum(m) += part_sum(m);
        CUTE_UNROLL
        for (int d = 16; d > 0; d /= 2)
            sum(m) += __shfl_xor_sync(~0u, sum(m), d);
        if (threadIdx.x % 32 == 0)
            part[threadIdx.x / 32][m] = sum(m);
    }
    __syncthreads();
    if (threadIdx.x < kRows && first + int(threadIdx.x) < M) {
        float v = 0;
        CUTE_UNROLL
        for (int w = 0; w < kWarps; w++)
            v += part[w][threadIdx.x];
        int m = first + threadIdx.x;
        if constexpr (kSplit > 1)
            parts[int64_t(blockIdx.y) * M + m] = v;
        else
            y[m] = T(epilogue(v, extra, m, m % columns));
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    matvec_vec(const T *__restrict__ A, const T *__restrict__ x, T *__restrict__ y, float *parts,
               @{params}int M, int K, int columns)
{
    matvec<kVec>(A, x, y, parts, Extra{@{data}}, M, K, columns);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    matvec_one(const T *__restrict__ A, const T *__restrict__ x, T *__restrict__ y, float *parts,
               @{params}int M, int K, int columns)
{
    matvec<1>(A, x, y, parts, Extra{@{data}}, M, K, columns);
}

// Adds up the sums that kSplit blocks made of each row.
extern "C" __global__ void __launch_bounds__(64)
    sum_parts(const float *parts, T *y, @{params}int M, int columns)
{
    int m = blockIdx.x * 64 + threadIdx.x;
    if (m >= M)
        return;
    float v = 0;
    CUTE_UNROLL
    for (int s = 0; s < kSplit; s++)
        v += parts[int64_t(s) * M + m];
    y[m] = T(epilogue(v, Extra{@{data}}, m, m % columns));
}
