/* hone-plan
{ "launches": [
    { "kernel": "softmax_1k",
      "when": "C % 4 == 0 && min(alignof(x), alignof(y)) >= 16 && C <= 1024",
      "grid": ["R"], "block": [128], "args": ["x", "y", "R", "C"] },
    { "kernel": "softmax_8k",
      "when": "C % 4 == 0 && C > 1024 && C <= 8192 && min(alignof(x), alignof(y)) >= 16",
      "grid": ["R"], "block": [256], "args": ["x", "y", "R", "C"] },
    { "kernel": "softmax_cluster",
      "when": "C % 4 == 0 && C > 8192 && C <= 131072 && min(alignof(x), alignof(y)) >= 16",
      "grid": ["8*R"], "block": [512], "cluster": [8], "args": ["x", "y", "R", "C"] },
    { "kernel": "softmax_long",
      "when": "C % 4 == 0 && C > 131072 && min(alignof(x), alignof(y)) >= 16",
      "grid": ["R"], "block": [256], "args": ["x", "y", "R", "C"] },
    { "kernel": "softmax_scalar",
      "when": "C % 4 != 0 || min(alignof(x), alignof(y)) < 16",
      "grid": ["R"], "block": [256], "args": ["x", "y", "R", "C"] } ] }
*/
// Row-wise softmax in CuTe, in two forms.
//
// A row of up to 131072 columns is read once into registers: the row is a tensor of tiles (one
// vector of four for each thread), and a thread's share is a fragment of up to eight vectors. One
// block takes a row of up to 8192 columns (128 threads up to 1024 columns, else 256). A cluster of
// eight blocks of 512 threads takes a longer row: its blocks take the tiles in turn. Maximum and
// sum are joined by warp shuffles, then across the warps through shared memory, then across the
// cluster by reading the other blocks' shared memory.
//
// A still longer row, or one that is not aligned for vectors, is read twice. The first pass keeps a
// running (maximum, sum) per thread and rescales the sum by exp(old - new) when the maximum grows;
// the second writes. Entries of -inf are masked: exp(-inf - m) = 0, and a maximum that is still
// -inf must not be subtracted from itself, hence `scale`.
#include <cute/arch/cluster_sm90.hpp>
#include <cute/tensor.hpp>

using namespace cute;

#define MINUS_INF (-__int_as_float(0x7f800000))

struct state {
    float m, sum; // sum of exp(x - m)
};

// exp(from - to) for from <= to, where both may be -inf.
__device__ float scale(float from, float to)
{
    return from == to ? 1.f : __expf(from - to);
}

__device__ state join(state a, state b)
{
    float m = fmaxf(a.m, b.m);
    return {m, a.sum * scale(a.m, m) + b.sum * scale(b.m, m)};
}

// Joins the states of all threads of the block; every thread gets the result.
template <int kThreads>
__device__ state block_join(state s)
{
    constexpr int kWarps = kThreads / 32;
    __shared__ float ms[kWarps], sums[kWarps];
    CUTE_UNROLL
    for (int d = 16; d > 0; d /= 2)
        s = join(s, {__shfl_xor_sync(~0u, s.m, d), __shfl_xor_sync(~0u, s.sum, d)});
    if (threadIdx.x % 32 == 0) {
        ms[threadIdx.x / 32] = s.m;
        sums[threadIdx.x / 32] = s.sum;
    }
    __syncthreads();
    s = {ms[0], sums[0]};
    CUTE_UNROLL
    for (int w = 1; w < kWarps; w++)
        s = join(s, {ms[w], sums[w]});
    return s;
}

__device__ float load_remote(const float *p, int rank)
{
    float v;
    asm volatile("ld.shared::cluster.f32 %0, [%1];"
                 : "=f"(v)
                 : "r"(set_block_rank(cast_smem_ptr_to_uint(p), rank)));
    return v;
}

// Like block_join, for the blocks of the cluster, whose states are in s.
__device__ state cluster_join(state s)
{
    __shared__ state mine;
    if (threadIdx.x == 0)
        mine = s;
    cluster_arrive();
    cluster_wait(); // every block's state is there
    int blocks = cluster_shape().x;
    for (int i = 1; i < blocks; i++) {
        int rank = (block_rank_in_cluster() + i) % blocks;
        s = join(s, {load_remote(&mine.m, rank), load_remote(&mine.sum, rank)});
    }
    cluster_arrive(); // no block may exit before all have read: see cluster_wait() below
    return s;
}

// A row as (tile of kThreads * kVec, tiles), dealt out in vectors: (V, 1, tiles).
template <int kThreads, int kVec, class Vector, class T>
__device__ auto partition_row(T *p, int row, int rows, int cols)
{
    Tensor m = make_tensor(make_gmem_ptr(p), make_shape(rows, cols), LayoutRight{});
    Tensor g = local_tile(m(row, _), Shape<Int<kThreads * kVec>>{}, make_coord(_));
    auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<Vector>, float>{},
                                 Layout<Int<kThreads>>{}, Layout<Int<kVec>>{});
    return tiled.get_slice(threadIdx.x).partition_S(g);
}

// The row in registers: kTiles vectors of four per thread. A block takes the tiles rank,
// rank + kBlocks, ... of a row.
template <int kThreads, int kTiles, int kBlocks>
__device__ void softmax_registers(const float *x, float *y, int rows, int cols)
{
    using Vec4 = Copy_Atom<UniversalCopy<uint128_t>, float>;
    int row = blockIdx.x / kBlocks, rank = blockIdx.x % kBlocks;
    Tensor tX = partition_row<kThreads, 4, uint128_t>(x, row, rows, cols);
    Tensor tY = partition_row<kThreads, 4, uint128_t>(y, row, rows, cols);
    Tensor r = make_tensor<float>(Shape<_4, Int<kTiles>>{});
    auto tile = [&](int k) { return k * kBlocks + rank; };
    auto inside = [&](int k) { return (tile(k) * kThreads + (int)threadIdx.x) * 4 < cols; };
    fill(r, MINUS_INF);
    CUTE_UNROLL
    for (int k = 0; k < kTiles; k++)
        if (inside(k))
            copy(Vec4{}, tX(_, 0, tile(k)), r(_, k));

    float m = MINUS_INF;
    CUTE_UNROLL
    for (int i = 0; i < size(r); i++)
        m = fmaxf(m, r(i));
    float sum = 0;
    float base = m == MINUS_INF ? 0.f : m; // nothing to add for a thread with masked entries only
    CUTE_UNROLL
    for (int i = 0; i < size(r); i++)
        sum += __expf(r(i) - base);
    state s = block_join<kThreads>({m, sum});
    if constexpr (kBlocks > 1)
        s = cluster_join(s);

    float inv = 1.f / s.sum;
    CUTE_UNROLL
    for (int i = 0; i < size(r); i++)
        r(i) = __expf(r(i) - s.m) * inv;
    CUTE_UNROLL
    for (int k = 0; k < kTiles; k++)
        if (inside(k))
            copy(Vec4{}, r(_, k), tY(_, 0, tile(k)));
    if constexpr (kBlocks > 1)
        cluster_wait();
}

// The row read twice, in vectors of kVec.
template <int kVec, class Vector>
__device__ void softmax_twice(const float *x, float *y, int rows, int cols)
{
    using Atom = Copy_Atom<UniversalCopy<Vector>, float>;
    Tensor tX = partition_row<256, kVec, Vector>(x, blockIdx.x, rows, cols);
    Tensor tY = partition_row<256, kVec, Vector>(y, blockIdx.x, rows, cols);
    Tensor r = make_tensor<float>(Shape<Int<kVec>>{});
    int mine = (cols - (int)threadIdx.x * kVec + 256 * kVec - 1) / (256 * kVec);

    state s = {MINUS_INF, 0};
    for (int k = 0; k < mine; k++) {
        copy(Atom{}, tX(_, 0, k), r);
        float m = s.m;
        CUTE_UNROLL
        for (int i = 0; i < kVec; i++)
            m = fmaxf(m, r(i));
        float base = m == MINUS_INF ? 0.f : m;
        s.sum *= scale(s.m, m);
        CUTE_UNROLL
        for (int i = 0; i < kVec; i++)
            s.sum += __expf(r(i) - base);
        s.m = m;
    }
    s = block_join<256>(s);

    float inv = 1.f / s.sum;
    for (int k = 0; k < mine; k++) {
        copy(Atom{}, tX(_, 0, k), r);
        CUTE_UNROLL
        for (int i = 0; i < kVec; i++)
            r(i) = __expf(r(i) - s.m) * inv;
        copy(Atom{}, r, tY(_, 0, k));
    }
}

extern "C" __global__ void __launch_bounds__(128)
    softmax_1k(const float *x, float *y, int rows, int cols)
{
    softmax_registers<128, 2, 1>(x, y, rows, cols);
}

extern "C" __global__ void __launch_bounds__(256)
    softmax_8k(const float *x, float *y, int rows, int cols)
{
    softmax_registers<256, 8, 1>(x, y, rows, cols);
}

extern "C" __global__ void __launch_bounds__(512)
    softmax_cluster(const float *x, float *y, int rows, int cols)
{
    softmax_registers<512, 8, 8>(x, y, rows, cols);
}

extern "C" __global__ void __launch_bounds__(256)
    softmax_long(const float *x, float *y, int rows, int cols)
{
    softmax_twice<4, uint128_t>(x, y, rows, cols);
}

extern "C" __global__ void __launch_bounds__(256)
    softmax_scalar(const float *x, float *y, int rows, int cols)
{
    softmax_twice<1, uint32_t>(x, y, rows, cols);
}
