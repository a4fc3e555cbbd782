/* hone-plan
{ "launches": [
    { "kernel": "norm_few",
      "when": "@{C} % @{vec} == 0 && @{aligned} >= @{vec}*@{elem} && (@{R}*cdiv(@{C}, @{vec}*@{few}) <= 131072 || @{C}*@{elem} <= @{short}) && @{C} <= @{threads}*@{vec}*@{few}",
      "grid": ["cdiv(@{R}, max(1, @{block}/align(cdiv(@{C}, @{vec}*@{few}), 32)))"],
      "block": ["align(cdiv(@{C}, @{vec}*@{few}), 32)", "max(1, @{block}/align(cdiv(@{C}, @{vec}*@{few}), 32))"],
      "smem": "align(cdiv(@{C}, @{vec}*@{few}), 32)*max(1, @{block}/align(cdiv(@{C}, @{vec}*@{few}), 32))*@{few}*@{vec}*@{elem}*@{weights}",
      "args": [@{pass}, "@{R}", "@{C}"@{eps:arg}] },
    { "kernel": "norm_block",
      "when": "@{C} % @{vec} == 0 && @{aligned} >= @{vec}*@{elem} && !((@{R}*cdiv(@{C}, @{vec}*@{few}) <= 131072 || @{C}*@{elem} <= @{short}) && @{C} <= @{threads}*@{vec}*@{few}) && @{C} <= @{threads}*@{vec}*@{per}",
      "grid": ["cdiv(@{R}, max(1, @{block}/align(cdiv(@{C}, @{vec}*@{per}), 32)))"],
      "block": ["align(cdiv(@{C}, @{vec}*@{per}), 32)", "max(1, @{block}/align(cdiv(@{C}, @{vec}*@{per}), 32))"],
      "smem": "@{early}*align(cdiv(@{C}, @{vec}*@{per}), 32)*max(1, @{block}/align(cdiv(@{C}, @{vec}*@{per}), 32))*@{per}*@{vec}*@{elem}*@{weights}",
      "args": [@{pass}, "@{R}", "@{C}"@{eps:arg}] },
    { "kernel": "norm_cluster",
      "when": "@{C} % @{vec} == 0 && @{aligned} >= @{vec}*@{elem} && @{C} > @{threads}*@{vec}*@{per} && @{C} <= @{cluster}*@{threads}*@{vec}*@{per}",
      "grid": ["@{cluster}*@{R}"], "block": ["align(cdiv(@{C}, @{cluster}*@{vec}*@{per}), 32)"], "cluster": [@{cluster}],
      "smem": "@{early}*align(cdiv(@{C}, @{cluster}*@{vec}*@{per}), 32)*@{per}*@{vec}*@{elem}*@{weights}",
      "args": [@{pass}, "@{R}", "@{C}"@{eps:arg}] },
    { "kernel": "norm_long",
      "when": "@{C} % @{vec} == 0 && @{aligned} >= @{vec}*@{elem} && @{C} > @{cluster}*@{threads}*@{vec}*@{per}",
      "grid": ["@{R}"], "block": [1024], "args": [@{pass}, "@{R}", "@{C}"@{eps:arg}] },
    { "kernel": "norm_any", "when": "@{C} % @{vec} != 0 || @{aligned} < @{vec}*@{elem}",
      "grid": ["@{R}"], "block": ["min(1024, align(cdiv(@{C}, 4), 32))"], "args": [@{pass}, "@{R}", "@{C}"@{eps:arg}] } ] }
*/
// y = (v - mean) / sqrt(mean((v - mean)^2) + eps) * w + b for each row v of x; without `center` the
// mean is taken as 0 and there is no b; with `residual` v is x + r, which also replaces r.
//
// A row that fits is read once into registers, kPer vectors a thread: by the lanes of one warp, by
// several warps, or by a cluster of blocks, as its length asks; the plan gives a row as many lanes
// as it needs, and a block as many short rows as fill it. Sums are joined by warp shuffles, then
// across a row's warps through shared memory, then across the cluster. The variance is taken around
// the mean, since E[v^2] - E[v]^2 cancels. Where the tensor is too small to fill the GPU, or a row
// too short to keep its threads busy, latency counts: kFew vectors a thread, and the weights
// fetched together with the row. Each thread copies its weights to shared memory: the compiler would
// move loads into registers behind the wait for the row.
//
// A longer row, or one that is not aligned for vectors, is read once for the statistics and once
// more to write. A thread rereads only what it will itself overwrite, so updating in place is safe.
#include <cute/arch/cluster_sm90.hpp>
#include <cute/tensor.hpp>

using namespace cute;

using T = @{x:type};
constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr int kPer = @{per};
constexpr int kFew = @{few};
constexpr int kCluster = @{cluster};
constexpr int kResident = @{resident};
constexpr bool kEarly = @{early};
constexpr bool kStream = @{stream};
constexpr bool kCenter = @{center};     // subtract the mean, add b
constexpr bool kResidual = @{residual}; // add r first

@{part:stream_store}

@{part:start_copy}

@{part:pairs}

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

// The sum of v over the threads of a row: threadIdx.x. part has a float per warp of the block.
__device__ float row_sum(float v, float *part)
{
    int warps = blockDim.x / 32, lane = threadIdx.x % 32;
    CUTE_UNROLL
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    if (warps == 1)
        return v;
    part += threadIdx.y * warps;
    if (lane == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = lane < warps ? part[lane] : 0.f;
    CUTE_UNROLL
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    return v;
}

__device__ float load_remote(const float *p, int rank)
{
    float v;
    asm volatile("ld.shared::cluster.f32 %0, [%1];"
                 : "=f"(v)
                 : "r"(set_block_rank(cast_smem_ptr_to_uint(p), rank)));
    return v;
}

// row_sum, then over the cluster. Every block adds the same values in the same order. The caller
// keeps the block alive until the others have read `mine`.
template <int kBlocks>
__device__ float sum_all(float v, float *part, float *mine)
{
    v = row_sum(v, part);
    if constexpr (kBlocks > 1) {
        if (threadIdx.x == 0)
            *mine = v;
        cluster_arrive();
        cluster_wait();
        v = 0;
        CUTE_UNROLL
        for (int i = 0; i < kBlocks; i++)
            v += load_remote(mine, i);
    }
    return v;
}

// The row stays in registers in its own type and is converted to float at each use: floats would
// need more registers. A block of the cluster takes every kBlocks-th stripe of its vectors.
template <int kBlocks, int kVectors, bool kWeightsFirst>
__device__ void norm_registers(const T *x, const T *res, const T *w, const T *b, T *y, T *sums,
                               int rows, int cols, float eps)
{
    __shared__ float part[2 * 32], mine[2];
    int row = blockIdx.x / kBlocks * blockDim.y + threadIdx.y, rank = blockIdx.x % kBlocks;
    bool there = row < rows;
    int safe = there ? row : 0;
    Tensor gX = row_of<kVec>(x, safe, rows, cols);
    Tensor gY = row_of<kVec>(y, safe, rows, cols);
    Tensor gW = row_of<kVec>(w, 0, 1, cols);
    float share = 1.f / cols; // here, while the row is under way
    auto at = [&](int k) { return (k * kBlocks + rank) * int(blockDim.x) + int(threadIdx.x); };
    auto inside = [&](int k) { return there && at(k) * kVec < cols; };

    using Kept = conditional_t<kResidual, float, T>; // x + r is not rounded before it is used
    Tensor row_v = make_tensor<Kept>(Shape<Int<kVec>, Int<kVectors>>{});
    Tensor rx = make_tensor<T>(shape(row_v));
    Tensor rr = make_tensor<T>(shape(row_v));
    Tensor rw = make_tensor<T>(shape(row_v));
    Tensor rb = make_tensor<T>(shape(row_v));
    extern __shared__ char held[]; // of each thread, vector by vector: w, and b if there is one
    constexpr int kBytes = kVec * sizeof(T), kHeld = kCenter ? 2 : 1;
    auto slot = [&](int k, int which) {
        int thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
        return held + ((k * kHeld + which) * threads + thread) * kBytes;
    };
    auto start_weights = [&](int k) {
        start_copy<kBytes>(slot(k, 0), w + at(k) * kVec);
        if constexpr (kCenter)
            start_copy<kBytes>(slot(k, 1), b + at(k) * kVec);
    };
    auto load_weights = [&](int k) {
        if constexpr (kWeightsFirst) {
            memcpy(&rw(0, k), __builtin_assume_aligned(slot(k, 0), kBytes), kBytes);
            if constexpr (kCenter)
                memcpy(&rb(0, k), __builtin_assume_aligned(slot(k, 1), kBytes), kBytes);
        } else {
            copy(Load<kVec>{}, gW(_, at(k)), rw(_, k));
            if constexpr (kCenter)
                copy(Load<kVec>{}, row_of<kVec>(b, 0, 1, cols)(_, at(k)), rb(_, k));
        }
    };
    if constexpr (kWeightsFirst) {
        CUTE_UNROLL
        for (int k = 0; k < kVectors; k++)
            if (inside(k))
                start_weights(k);
        __syncwarp(); // the compiler must not move the copies behind the wait for the row
    }
    CUTE_UNROLL
    for (int k = 0; k < kVectors; k++)
        if (inside(k)) {
            copy(Load<kVec>{}, gX(_, at(k)), rx(_, k));
            if constexpr (kResidual)
                copy(Load<kVec>{}, row_of<kVec>(res, safe, rows, cols)(_, at(k)), rr(_, k));
        }
    using Floats = decltype(make_tensor<float>(Shape<Int<kVec>>{}));
    if constexpr (kResidual) {
        Floats added;
        convert(rx, row_v);
        CUTE_UNROLL
        for (int k = 0; k < kVectors; k++) {
            convert(rr(_, k), added);
            CUTE_UNROLL
            for (int i = 0; i < kVec; i++)
                row_v(i, k) += added(i);
            if (inside(k)) {
                Tensor out = make_tensor<T>(Shape<Int<kVec>>{});
                convert(row_v(_, k), out);
                copy(Store<kVec>{}, out, row_of<kVec>(sums, safe, rows, cols)(_, at(k)));
            }
        }
    } else {
        copy(rx, row_v);
    }
    auto sum = [&](auto term) {
        float s = 0;
        CUTE_UNROLL
        for (int k = 0; k < kVectors; k++)
            if (inside(k)) {
                Floats v;
                convert(row_v(_, k), v);
                CUTE_UNROLL
                for (int i = 0; i < kVec; i++)
                    s += term(v(i));
            }
        return s;
    };

    float mean = 0;
    if constexpr (kCenter)
        mean = sum_all<kBlocks>(sum([](float v) { return v; }), part, &mine[0]) * share;
    float sq = sum([&](float v) { return (v - mean) * (v - mean); });
    float rstd = rsqrtf(sum_all<kBlocks>(sq, part + 32, &mine[1]) * share + eps);
    if constexpr (kBlocks > 1)
        cluster_arrive(); // done reading: see the wait below
    if constexpr (kWeightsFirst)
        end_copies(); // a thread reads only what it copied itself

    CUTE_UNROLL
    for (int k = 0; k < kVectors; k++)
        if (inside(k)) {
            Tensor out = make_tensor<T>(Shape<Int<kVec>>{});
            Floats v, fw, fb;
            load_weights(k);
            convert(row_v(_, k), v);
            convert(rw(_, k), fw);
            if constexpr (kCenter)
                convert(rb(_, k), fb);
            CUTE_UNROLL
            for (int i = 0; i < kVec; i++)
                v(i) = (v(i) - mean) * rstd * fw(i) + (kCenter ? fb(i) : 0.f);
            convert(v, out);
            copy(Store<kVec>{}, out, gY(_, at(k)));
        }
    if constexpr (kBlocks > 1)
        cluster_wait(); // shared memory must outlive the others' reads
}

// Count, mean and sum of squared distances from it of a part of a row; parts are joined without the
// cancellation of E[v^2] - E[v]^2. Where the mean is taken as 0 it stays 0.
struct Moments {
    float n = 0, mean = 0, m2 = 0;

    __device__ void join(float on, float omean, float om2)
    {
        if constexpr (kCenter) {
            float total = n + on, d = omean - mean, share = total > 0 ? __fdividef(on, total) : 0.f;
            mean += d * share;
            m2 += om2 + d * d * n * share;
            n = total;
        } else {
            m2 += om2;
        }
    }
};

// Joins the parts of all threads of a block; all get the result. part has three floats per warp.
__device__ Moments row_moments(Moments s, float *part)
{
    int warps = blockDim.x / 32, lane = threadIdx.x % 32;
    auto join_lanes = [&] {
        CUTE_UNROLL
        for (int d = 16; d > 0; d /= 2) {
            Moments o = s;
            if constexpr (kCenter) {
                o.n = __shfl_xor_sync(~0u, s.n, d);
                o.mean = __shfl_xor_sync(~0u, s.mean, d);
            }
            o.m2 = __shfl_xor_sync(~0u, s.m2, d);
            s.join(o.n, o.mean, o.m2);
        }
    };
    join_lanes();
    float *mine = part + threadIdx.x / 32 * 3;
    if (lane == 0)
        mine[0] = s.n, mine[1] = s.mean, mine[2] = s.m2;
    __syncthreads();
    s = Moments{};
    if (lane < warps)
        s = {part[lane * 3], part[lane * 3 + 1], part[lane * 3 + 2]};
    join_lanes();
    return s;
}

// The row read once for the statistics and once more to write.
template <int kWidth>
__device__ void norm_passes(const T *x, const T *res, const T *w, const T *b, T *y, T *sums,
                            int rows, int cols, float eps)
{
    constexpr int kAtOnce = 4; // vectors of a thread in flight
    __shared__ float part[3 * 32];
    Tensor gX = row_of<kWidth>(x, blockIdx.x, rows, cols);
    Tensor gY = row_of<kWidth>(y, blockIdx.x, rows, cols);
    Tensor gW = row_of<kWidth>(w, 0, 1, cols);
    Tensor r = make_tensor<T>(Shape<Int<kWidth>>{});
    Tensor q = make_tensor<T>(Shape<Int<kWidth>>{});
    Tensor v = make_tensor<float>(shape(r));
    auto fetch = [&](int i, auto &&to) {
        copy(Load<kWidth>{}, gX(_, i), r);
        if constexpr (kResidual)
            copy(Load<kWidth>{}, row_of<kWidth>(res, blockIdx.x, rows, cols)(_, i), q);
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            to(j) = kResidual ? float(r(j)) + float(q(j)) : float(r(j));
    };

    Moments mine;
    int count = cols / kWidth, threads = blockDim.x;
    for (int first = threadIdx.x; first < count; first += kAtOnce * threads) {
        Tensor some = make_tensor<float>(Shape<Int<kWidth>, Int<kAtOnce>>{});
        float n = 0, mean = 0, m2 = 0;
        CUTE_UNROLL
        for (int k = 0; k < kAtOnce; k++)
            if (first + k * threads < count) {
                fetch(first + k * threads, some(_, k));
                n += kWidth;
            }
        auto sum = [&](auto term) {
            float s = 0;
            CUTE_UNROLL
            for (int k = 0; k < kAtOnce; k++)
                if (first + k * threads < count)
                    CUTE_UNROLL
                    for (int j = 0; j < kWidth; j++)
                        s += term(some(j, k));
            return s;
        };
        if constexpr (kCenter)
            mean = __fdividef(sum([](float e) { return e; }), n);
        m2 = sum([&](float e) { return (e - mean) * (e - mean); });
        mine.join(n, mean, m2);
    }
    Moments all = row_moments(mine, part);
    float mean = all.mean, rstd = rsqrtf(all.m2 / cols + eps);

#pragma unroll 2
    for (int i = threadIdx.x; i < count; i += threads) {
        fetch(i, v);
        if constexpr (kResidual) {
            CUTE_UNROLL
            for (int j = 0; j < kWidth; j++)
                r(j) = T(v(j));
            copy(Store<kWidth>{}, r, row_of<kWidth>(sums, blockIdx.x, rows, cols)(_, i));
        }
        copy(Load<kWidth>{}, gW(_, i), q);
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            v(j) = (v(j) - mean) * rstd * float(q(j));
        if constexpr (kCenter) {
            copy(Load<kWidth>{}, row_of<kWidth>(b, 0, 1, cols)(_, i), q);
            CUTE_UNROLL
            for (int j = 0; j < kWidth; j++)
                v(j) += float(q(j));
        }
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            r(j) = T(v(j));
        copy(Store<kWidth>{}, r, gY(_, i));
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    norm_few(@{params}, int rows, int cols@{eps:param})
{
    norm_registers<1, kFew, true>(@{data}, rows, cols, @{eps:value});
}

extern "C" __global__ void __launch_bounds__(kThreads, kResident)
    norm_block(@{params}, int rows, int cols@{eps:param})
{
    norm_registers<1, kPer, kEarly>(@{data}, rows, cols, @{eps:value});
}

extern "C" __global__ void __launch_bounds__(kThreads, kResident)
    norm_cluster(@{params}, int rows, int cols@{eps:param})
{
    norm_registers<kCluster, kPer, kEarly>(@{data}, rows, cols, @{eps:value});
}

extern "C" __global__ void __launch_bounds__(1024)
    norm_long(@{params}, int rows, int cols@{eps:param})
{
    norm_passes<kVec>(@{data}, rows, cols, @{eps:value});
}

extern "C" __global__ void __launch_bounds__(1024)
    norm_any(@{params}, int rows, int cols@{eps:param})
{
    norm_passes<1>(@{data}, rows, cols, @{eps:value});
}
