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
      "grid": ["min(8, pow2ceil(cdiv(@{C}, @{wide}*@{vec}*(max(1, 64/(@{vec}*@{elem})) + (@{hold}*1024/(@{wide}*@{vec}*@{elem}))))))*@{R}"], "cluster": ["min(8, pow2ceil(cdiv(@{C}, @{wide}*@{vec}*(max(1, 64/(@{vec}*@{elem})) + (@{hold}*1024/(@{wide}*@{vec}*@{elem}))))))"], "block": ["min(@{wide}, align(@{C}, 32))"], "smem": "max(0, min((@{hold}*1024/(@{wide}*@{vec}*@{elem})), cdiv(@{C}, min(8, pow2ceil(cdiv(@{C}, @{wide}*@{vec}*(max(1, 64/(@{vec}*@{elem})) + (@{hold}*1024/(@{wide}*@{vec}*@{elem}))))))*@{wide}*@{vec}) - max(1, 64/(@{vec}*@{elem}))))*@{wide}*@{vec}*@{elem}",
      "args": ["@{x}", "@{y}", "@{R}", "@{C}", "max(0, min((@{hold}*1024/(@{wide}*@{vec}*@{elem})), cdiv(@{C}, min(8, pow2ceil(cdiv(@{C}, @{wide}*@{vec}*(max(1, 64/(@{vec}*@{elem})) + (@{hold}*1024/(@{wide}*@{vec}*@{elem}))))))*@{wide}*@{vec}) - max(1, 64/(@{vec}*@{elem}))))"] },
    { "kernel": "softmax_any",
      "when": "@{C} % @{vec} != 0 || min(alignof(@{x}), alignof(@{y})) < @{vec}*@{elem}",
      "grid": ["min(8, pow2ceil(cdiv(@{C}, @{wide}*(max(1, 64/@{elem}) + (@{hold}*1024/(@{wide}*@{elem}))))))*@{R}"], "cluster": ["min(8, pow2ceil(cdiv(@{C}, @{wide}*(max(1, 64/@{elem}) + (@{hold}*1024/(@{wide}*@{elem}))))))"], "block": ["min(@{wide}, align(@{C}, 32))"], "smem": "max(0, min((@{hold}*1024/(@{wide}*@{elem})), cdiv(@{C}, min(8, pow2ceil(cdiv(@{C}, @{wide}*(max(1, 64/@{elem}) + (@{hold}*1024/(@{wide}*@{elem}))))))*@{wide}) - max(1, 64/@{elem})))*@{wide}*@{elem}",
      "args": ["@{x}", "@{y}", "@{R}", "@{C}", "max(0, min((@{hold}*1024/(@{wide}*@{elem})), cdiv(@{C}, min(8, pow2ceil(cdiv(@{C}, @{wide}*(max(1, 64/@{elem}) + (@{hold}*1024/(@{wide}*@{elem}))))))*@{wide}) - max(1, 64/@{elem})))"] } ] }
*/
// Softmax of each row (of -x, where that is asked), or its logarithm.
//
// A row that fits is read once into registers, kPer vectors a thread: by the lanes of one warp, by
// several warps, or by a cluster of blocks, as its length asks; the plan gives a row as many lanes
// as it needs, and a block as many short rows as fill it. Maximum and sum are joined by warp
// shuffles, then across a row's warps through shared memory, then across the cluster. Each element
// costs one exponential, relative to the block's maximum; a factor corrects it to the row's maximum.
//
// A longer row, or one that is not aligned for vectors, is read once into the registers and the
// shared memory of a block or a cluster; only the part that does not fit there is read twice. Each
// thread has a running maximum and sum, and rescales the sum when the maximum grows. Entries of -inf
// are masked; a maximum that is still -inf must not be subtracted from itself.
#include <cute/arch/cluster_sm90.hpp>
#include <cute/tensor.hpp>

using namespace cute;

using T = @{x:type};
constexpr int kThreads = @{threads};
constexpr int kWide = @{wide}; // threads of a block that holds a long row or a part of one
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

@{part:vector_access}

@{part:join_row}

@{part:start_copy}

__device__ float load_remote(const float *p, int rank)
{
    float v;
    asm volatile("ld.shared::cluster.f32 %0, [%1];"
                 : "=f"(v)
                 : "r"(set_block_rank(cast_smem_ptr_to_uint(p), rank)));
    return v;
}

// Joins the maxima and sums of the blocks of a cluster. The caller waits for the cluster at its end,
// because shared memory must outlive the others' reads of `mine`.
__device__ void join_cluster(float &m, float &sum, float *mine, int blocks, int rank)
{
    if (threadIdx.x == 0) {
        mine[0] = m;
        mine[1] = sum;
    }
    cluster_arrive();
    cluster_wait(); // every block's maximum and sum are there
    for (int i = 1; i < blocks; i++) {
        int other = (rank + i) % blocks;
        float om = load_remote(&mine[0], other), os = load_remote(&mine[1], other);
        float both = fmaxf(m, om);
        sum = sum * scale(m, both) + os * scale(om, both);
        m = both;
    }
    cluster_arrive(); // done reading
}

// The row stays in registers. A block of the cluster takes every kBlocks-th stripe of its vectors.
template <int kBlocks>
__device__ void softmax_registers(const T *x, T *y, int rows, int cols)
{
    __shared__ float part[2 * 32], mine[2];
    int row = blockIdx.x / kBlocks * blockDim.y + threadIdx.y, rank = blockIdx.x % kBlocks;
    bool there = row < rows;
    int64_t start = int64_t(there ? row : 0) * cols;
    x += start, y += start;
    auto at = [&](int k) { return (k * kBlocks + rank) * int(blockDim.x) + int(threadIdx.x); };
    auto inside = [&](int k) { return there && at(k) * kVec < cols; };

    T r[kPer][kVec];
    float e[kPer][kVec];
    // Each element in the registers.
    auto each = [&](auto act) {
        CUTE_UNROLL
        for (int k = 0; k < kPer; k++)
            CUTE_UNROLL
            for (int j = 0; j < kVec; j++)
                act(r[k][j], e[k][j]);
    };
    each([](T &v, float &) { v = T(@{sign}MINUS_INF); });
    CUTE_UNROLL
    for (int k = 0; k < kPer; k++)
        if (inside(k))
            load_vector<false>(r[k], x + at(k) * kVec);

    float m = MINUS_INF;
    each([&](T v, float) { m = fmaxf(m, value(v)); });
    m = join_row(m, part, max_of);
    float base = m == MINUS_INF ? 0.f : m, sum = 0;
    each([&](T v, float &term) {
        term = __expf(value(v) - base);
        sum += term;
    });
    sum = join_row(sum, part + 32, sum_of);

    float factor = 1.f;
    if constexpr (kBlocks > 1) {
        float block_m = m;
        join_cluster(m, sum, mine, kBlocks, rank);
        factor = scale(block_m, m);
    }
    factor /= sum;
    float log_sum = kLog ? m + logf(sum) : 0.f;
    each([&](T &v, float term) { v = T(kLog ? value(v) - log_sum : term * factor); });
    CUTE_UNROLL
    for (int k = 0; k < kPer; k++)
        if (inside(k))
            store_vector<kStream>(y + at(k) * kVec, r[k]);
    if constexpr (kBlocks > 1)
        cluster_wait(); // shared memory must outlive the others' reads
}

// The row in registers and shared memory: a thread keeps kHold vectors in registers, `slots` in
// shared memory, and reads its other vectors again.
template <int kWidth>
__device__ void softmax_held(const T *x, T *y, int rows, int cols, int slots)
{
    constexpr int kHold = 64 / (kWidth * sizeof(T)) > 1 ? 64 / (kWidth * sizeof(T)) : 1;
    extern __shared__ __align__(16) char held[];
    __shared__ float part[2 * 32], mine[2];
    int blocks = gridDim.x / rows, row = blockIdx.x / blocks, rank = blockIdx.x % blocks;
    int count = cols / kWidth, threads = blockDim.x;
    x += int64_t(row) * cols, y += int64_t(row) * cols;
    auto at = [&](int k) { return (k * blocks + rank) * threads + int(threadIdx.x); };
    auto slot = [&](int s) {
        return reinterpret_cast<T *>(held) + (s * threads + int(threadIdx.x)) * kWidth;
    };
    T r[kHold][kWidth];
    for (int s = 0; s < slots; s++)
        if (at(kHold + s) < count)
            start_copy<kWidth * sizeof(T)>(slot(s), x + at(kHold + s) * kWidth);
    CUTE_UNROLL
    for (int k = 0; k < kHold; k++)
        if (at(k) < count)
            load_vector<false>(r[k], x + at(k) * kWidth);
    end_copies(); // a thread reads only what it copied itself

    // f at each vector of this thread.
    auto each = [&](auto f) {
        CUTE_UNROLL
        for (int k = 0; k < kHold; k++)
            if (at(k) < count)
                f(at(k), r[k]);
        T v[kWidth];
#pragma unroll 4
        for (int s = 0; s < slots; s++)
            if (at(kHold + s) < count) {
                load_vector<false>(v, slot(s));
                f(at(kHold + s), v);
            }
#pragma unroll 4
        for (int i = at(kHold + slots); i < count; i += blocks * threads) {
            load_vector<false>(v, x + i * kWidth);
            f(i, v);
        }
    };
    float m = MINUS_INF, sum = 0;
    each([&](int, const T (&v)[kWidth]) {
        float old = m;
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            m = fmaxf(m, value(v[j]));
        float base = m == MINUS_INF ? 0.f : m;
        sum *= scale(old, m);
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            sum += __expf(value(v[j]) - base);
    });
    float all = join_row(m, part, max_of);
    sum = join_row(sum * scale(m, all), part + 32, sum_of);
    if (blocks > 1)
        join_cluster(all, sum, mine, blocks, rank);
    float inv = 1.f / sum, log_sum = kLog ? all + logf(sum) : 0.f;
    each([&](int i, const T (&v)[kWidth]) {
        T out[kWidth];
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            out[j] = T(kLog ? value(v[j]) - log_sum : __expf(value(v[j]) - all) * inv);
        store_vector<kStream>(y + i * kWidth, out);
    });
    if (blocks > 1)
        cluster_wait(); // shared memory must outlive the others' reads
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

extern "C" __global__ void __launch_bounds__(kWide)
    softmax_long(const T *__restrict__ x, T *__restrict__ y, int rows, int cols, int slots)
{
    softmax_held<kVec>(x, y, rows, cols, slots);
}

extern "C" __global__ void __launch_bounds__(kWide)
    softmax_any(const T *__restrict__ x, T *__restrict__ y, int rows, int cols, int slots)
{
    softmax_held<1>(x, y, rows, cols, slots);
}
