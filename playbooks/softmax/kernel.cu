/* hone-plan
{ "launches": [
    { "kernel": "softmax_block",
      "when": "@{C} % @{vec} == 0 && min(alignof(@{x}), alignof(@{y})) >= @{vec}*@{elem} && @{C} <= @{threads}*@{vec}*@{per}",
      "grid": ["cdiv(@{R}, max(1, @{block}/align(cdiv(@{C}, @{vec}*@{per}), 32)))"],
      "block": ["align(cdiv(@{C}, @{vec}*@{per}), 32)", "max(1, @{block}/align(cdiv(@{C}, @{vec}*@{per}), 32))"],
      "args": ["@{x}", "@{y}", "@{R}", "@{C}"] },
    { "kernel": "softmax_cluster",
      "when": "@{C} % @{vec} == 0 && min(alignof(@{x}), alignof(@{y})) >= @{vec}*@{elem} && @{C} > @{threads}*@{vec}*@{per} && @{C} <= @{cluster}*@{threads}*@{vec}*@{per}",
      "grid": ["@{cluster}*@{R}"], "block": ["align(cdiv(@{C}, @{cluster}*@{vec}*@{per}), 32)"], "cluster": [@{cluster}],
      "args": ["@{x}", "@{y}", "@{R}", "@{C}"] },
    { "kernel": "softmax_long",
      "when": "@{C} % @{vec} == 0 && min(alignof(@{x}), alignof(@{y})) >= @{vec}*@{elem} && @{C} > @{cluster}*@{threads}*@{vec}*@{per}",
      "grid": ["@{R}"], "block": [@{threads}], "args": ["@{x}", "@{y}", "@{R}", "@{C}"] },
    { "kernel": "softmax_any",
      "when": "@{C} % @{vec} != 0 || min(alignof(@{x}), alignof(@{y})) < @{vec}*@{elem}",
      "grid": ["@{R}"], "block": [@{threads}], "args": ["@{x}", "@{y}", "@{R}", "@{C}"] } ] }
*/
// Softmax of each row (of -x, where that is asked), or its logarithm.
//
// A row that fits is read once into registers, kPer vectors a thread: by the lanes of one warp, by
// several warps, or by a cluster of blocks, as its length asks; the plan gives a row as many lanes
// as it needs, and a block as many short rows as fill it. Maximum and sum are joined by warp
// shuffles, then across a row's warps through shared memory, then across the cluster. Each element
// costs one exponential, relative to the block's maximum; a factor corrects it to the row's maximum.
//
// A longer row, or one that is not aligned for vectors, is read twice: first for a running maximum
// and sum per thread, the sum rescaled when the maximum grows, then to write. Entries of -inf are
// masked; a maximum that is still -inf must not be subtracted from itself.
#include <cute/arch/cluster_sm90.hpp>
#include <cute/tensor.hpp>

using namespace cute;

using T = @{x:type};
constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr int kPer = @{per};
constexpr int kCluster = @{cluster};
constexpr bool kStream = @{stream};
constexpr bool kLog = @{log};

#define MINUS_INF (-__int_as_float(0x7f800000))

__device__ float value(T x)
{
    return @{sign}float(x);
}

@{part:stream_store}

template <int kWidth>
using Vector = uint_bit_t<sizeof_bits_v<T> * kWidth>;
template <int kWidth>
using Load = Copy_Atom<UniversalCopy<Vector<kWidth>>, T>;
template <int kWidth>
using Store =
    Copy_Atom<conditional_t<kStream, StreamStore<Vector<kWidth>>, UniversalCopy<Vector<kWidth>>>, T>;

// A row as (kWidth, vectors).
template <int kWidth, class P>
__device__ auto row_of(P *p, int row, int rows, int cols)
{
    Tensor m = make_tensor(make_gmem_ptr(p), make_shape(rows, cols),
                           make_stride(int64_t(cols), _1{}));
    return local_tile(m(row, _), Shape<Int<kWidth>>{}, make_coord(_));
}

@{part:join_row}

__device__ float load_remote(const float *p, int rank)
{
    float v;
    asm volatile("ld.shared::cluster.f32 %0, [%1];"
                 : "=f"(v)
                 : "r"(set_block_rank(cast_smem_ptr_to_uint(p), rank)));
    return v;
}

// The row stays in registers. A block of the cluster takes every kBlocks-th stripe of its vectors.
template <int kBlocks>
__device__ void softmax_registers(const T *x, T *y, int rows, int cols)
{
    __shared__ float part[2 * 32], mine[2];
    int row = blockIdx.x / kBlocks * blockDim.y + threadIdx.y, rank = blockIdx.x % kBlocks;
    bool there = row < rows;
    Tensor gX = row_of<kVec>(x, there ? row : 0, rows, cols);
    Tensor gY = row_of<kVec>(y, there ? row : 0, rows, cols);
    auto at = [&](int k) { return (k * kBlocks + rank) * int(blockDim.x) + int(threadIdx.x); };
    auto inside = [&](int k) { return there && at(k) * kVec < cols; };

    Tensor r = make_tensor<T>(Shape<Int<kVec>, Int<kPer>>{});
    fill(r, T(@{sign}MINUS_INF));
    CUTE_UNROLL
    for (int k = 0; k < kPer; k++)
        if (inside(k))
            copy(Load<kVec>{}, gX(_, at(k)), r(_, k));

    float m = MINUS_INF;
    CUTE_UNROLL
    for (int i = 0; i < size(r); i++)
        m = fmaxf(m, value(r(i)));
    m = join_row(m, part, max_of);
    float base = m == MINUS_INF ? 0.f : m, sum = 0;
    Tensor e = make_tensor<float>(shape(r));
    CUTE_UNROLL
    for (int i = 0; i < size(r); i++) {
        e(i) = __expf(value(r(i)) - base);
        sum += e(i);
    }
    sum = join_row(sum, part + 32, sum_of);

    float factor = 1.f;
    if constexpr (kBlocks > 1) {
        float block_m = m;
        if (threadIdx.x == 0) {
            mine[0] = m;
            mine[1] = sum;
        }
        cluster_arrive();
        cluster_wait(); // every block's maximum and sum are there
        CUTE_UNROLL
        for (int i = 1; i < kBlocks; i++) {
            int other = (rank + i) % kBlocks;
            float om = load_remote(&mine[0], other), os = load_remote(&mine[1], other);
            float both = fmaxf(m, om);
            sum = sum * scale(m, both) + os * scale(om, both);
            m = both;
        }
        cluster_arrive(); // done reading: see the wait below
        factor = scale(block_m, m);
    }
    factor /= sum;
    float log_sum = kLog ? m + logf(sum) : 0.f;
    CUTE_UNROLL
    for (int i = 0; i < size(r); i++)
        r(i) = T(kLog ? value(r(i)) - log_sum : e(i) * factor);
    CUTE_UNROLL
    for (int k = 0; k < kPer; k++)
        if (inside(k))
            copy(Store<kVec>{}, r(_, k), gY(_, at(k)));
    if constexpr (kBlocks > 1)
        cluster_wait(); // shared memory must outlive the others' reads
}

// The row read twice.
template <int kWidth>
__device__ void softmax_twice(const T *x, T *y, int rows, int cols)
{
    __shared__ float part[2 * 32];
    Tensor gX = row_of<kWidth>(x, blockIdx.x, rows, cols);
    Tensor gY = row_of<kWidth>(y, blockIdx.x, rows, cols);
    Tensor r = make_tensor<T>(Shape<Int<kWidth>>{});

    float m = MINUS_INF, sum = 0;
#pragma unroll 4
    for (int i = threadIdx.x; i < cols / kWidth; i += kThreads) {
        copy(Load<kWidth>{}, gX(_, i), r);
        float old = m;
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            m = fmaxf(m, value(r(j)));
        float base = m == MINUS_INF ? 0.f : m;
        sum *= scale(old, m);
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            sum += __expf(value(r(j)) - base);
    }
    float all = join_row(m, part, max_of);
    sum = join_row(sum * scale(m, all), part + 32, sum_of);
    float inv = 1.f / sum, log_sum = kLog ? all + logf(sum) : 0.f;

#pragma unroll 4
    for (int i = threadIdx.x; i < cols / kWidth; i += kThreads) {
        copy(Load<kWidth>{}, gX(_, i), r);
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            r(j) = T(kLog ? value(r(j)) - log_sum : __expf(value(r(j)) - all) * inv);
        copy(Store<kWidth>{}, r, gY(_, i));
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    softmax_block(const T *__restrict__ x, T *__restrict__ y, int rows, int cols)
{
    softmax_registers<1>(x, y, rows, cols);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    softmax_cluster(const T *__restrict__ x, T *__restrict__ y, int rows, int cols)
{
    softmax_registers<kCluster>(x, y, rows, cols);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    softmax_long(const T *__restrict__ x, T *__restrict__ y, int rows, int cols)
{
    softmax_twice<kVec>(x, y, rows, cols);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    softmax_any(const T *__restrict__ x, T *__restrict__ y, int rows, int cols)
{
    softmax_twice<1>(x, y, rows, cols);
}
