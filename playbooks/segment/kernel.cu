/* hone-plan
{ "launches": [
    { "kernel": "segment_vec", "when": "@{D} % @{vec} == 0 && min(alignof(@{x}), alignof(@{y})) >= @{vec}*@{elem}",
      "grid": ["cdiv(@{N}, @{threads}/min(@{lanes}, pow2ceil(@{D}/@{vec})))"], "block": ["min(@{lanes}, pow2ceil(@{D}/@{vec}))", "@{threads}/min(@{lanes}, pow2ceil(@{D}/@{vec}))"],
      "args": ["@{rowptr}", "@{col}", "@{x}", "@{y}", "@{N}", "@{V}", "@{D}"] },
    { "kernel": "segment_one", "when": "!(@{D} % @{vec} == 0 && min(alignof(@{x}), alignof(@{y})) >= @{vec}*@{elem})",
      "grid": ["cdiv(@{N}, @{threads}/min(@{lanes}, pow2ceil(@{D})))"], "block": ["min(@{lanes}, pow2ceil(@{D}))", "@{threads}/min(@{lanes}, pow2ceil(@{D}))"],
      "args": ["@{rowptr}", "@{col}", "@{x}", "@{y}", "@{N}", "@{V}", "@{D}"] } ] }
*/
// y[i] = mean (or sum) of x[col[e]] for e in rowptr[i] .. rowptr[i + 1] - 1; an empty row gives 0.
//
// threadIdx.y is one of the block's output rows, threadIdx.x a lane of the few that share it: each
// lane adds one vector of every neighbour in fp32, kUnroll neighbours on their way at once. Rows are
// uneven: one with more than kHeavy neighbours would keep its lanes busy long after the others are
// done, so the block takes such rows together afterwards, each group of lanes a share of the
// neighbours, and adds the groups' sums in shared memory.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{y:type};
using Index = @{col:type};
constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr int kUnroll = @{unroll};
constexpr int kHeavy = @{heavy};
constexpr bool kAhead = @{ahead};
constexpr bool kMean = @{mean};

@{part:vector_access}

// Adds the vector at column c of the neighbours first, first + step, ... before end to sum.
template <int kWidth>
__device__ void add_rows(float (&sum)[kWidth], const Index *col, int first, int end, int step,
                         const T *x, int cols, int c)
{
    T r[kUnroll][kWidth];
    int next[kUnroll];
    auto fetch = [&](int e) {
        CUTE_UNROLL
        for (int k = 0; k < kUnroll; k++)
            next[k] = e + k * step < end ? int(col[e + k * step]) : 0;
    };
    if constexpr (kAhead)
        fetch(first);
    for (int e = first; e < end; e += kUnroll * step) {
        if constexpr (!kAhead)
            fetch(e);
        CUTE_UNROLL
        for (int k = 0; k < kUnroll; k++)
            if (e + k * step < end)
                load_vector<false>(r[k], x + int64_t(next[k]) * cols + c);
        if constexpr (kAhead)
            fetch(e + kUnroll * step);
        CUTE_UNROLL
        for (int k = 0; k < kUnroll; k++)
            if (e + k * step < end)
                CUTE_UNROLL
                for (int i = 0; i < kWidth; i++)
                    sum[i] += float(r[k][i]);
    }
}

template <int kWidth>
__device__ void store(const float (&sum)[kWidth], int count, T *out)
{
    T r[kWidth];
    float scale = kMean ? 1.f / float(count > 0 ? count : 1) : 1.f;
    CUTE_UNROLL
    for (int i = 0; i < kWidth; i++)
        r[i] = T(sum[i] * scale);
    store_vector<false>(out, r);
}

template <int kWidth>
__device__ void clear_sum(float (&sum)[kWidth])
{
    CUTE_UNROLL
    for (int i = 0; i < kWidth; i++)
        sum[i] = 0;
}

template <int kWidth>
__device__ void segment(const Index *rowptr, const Index *col, const T *x, T *y, int n, int rows,
                        int cols)
{
    __shared__ int bounds[kThreads][2];
    __shared__ float part[kThreads * kWidth];
    float sum[kWidth];
    int lanes = blockDim.x, groups = blockDim.y, lane = threadIdx.x, group = threadIdx.y;
    int base = blockIdx.x * groups, row = base + group;

    int first = row < n ? int(rowptr[row]) : 0, end = row < n ? int(rowptr[row + 1]) : 0;
    if (row < n && (kHeavy == 0 || end - first <= kHeavy))
        for (int c = lane * kWidth; c < cols; c += lanes * kWidth) {
            clear_sum(sum);
            add_rows(sum, col, first, end, 1, x, cols, c);
            store(sum, end - first, y + int64_t(row) * cols + c);
        }
    if constexpr (kHeavy > 0) {
        if (!__syncthreads_or(end - first > kHeavy))
            return;
        if (lane == 0) {
            bounds[group][0] = first;
            bounds[group][1] = end;
        }
        __syncthreads();
        int next = lanes * kWidth; // from a group's sums to those of the next group
        float *mine = part + (group * lanes + lane) * kWidth;
        for (int g = 0; g < groups; g++) {
            int from = bounds[g][0], to = bounds[g][1];
            if (to - from <= kHeavy)
                continue;
            for (int c0 = 0; c0 < cols; c0 += lanes * kWidth) {
                int c = c0 + lane * kWidth;
                clear_sum(sum);
                if (c < cols)
                    add_rows(sum, col, from + group, to, groups, x, cols, c);
                CUTE_UNROLL
                for (int i = 0; i < kWidth; i++)
                    mine[i] = sum[i];
                __syncthreads();
                for (int half = groups / 2; half > 0; half /= 2) {
                    if (group < half)
                        CUTE_UNROLL
                        for (int i = 0; i < kWidth; i++)
                            mine[i] += mine[half * next + i];
                    __syncthreads();
                }
                if (group == 0 && c < cols) {
                    CUTE_UNROLL
                    for (int i = 0; i < kWidth; i++)
                        sum[i] = mine[i];
                    store(sum, to - from, y + int64_t(base + g) * cols + c);
                }
                __syncthreads(); // the sums are used again
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    segment_vec(const Index *__restrict__ rowptr, const Index *__restrict__ col,
                const T *__restrict__ x, T *__restrict__ y, int n, int rows, int cols)
{
    segment<kVec>(rowptr, col, x, y, n, rows, cols);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    segment_one(const Index *__restrict__ rowptr, const Index *__restrict__ col,
                const T *__restrict__ x, T *__restrict__ y, int n, int rows, int cols)
{
    segment<1>(rowptr, col, x, y, n, rows, cols);
}
