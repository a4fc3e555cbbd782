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

template <int kWidth>
using Atom = Copy_Atom<UniversalCopy<uint_bit_t<sizeof_bits_v<T> * kWidth>>, T>;

// Adds vector c of the neighbours first, first + step, ... before end to sum.
template <int kWidth, class Table, class Sum>
__device__ void add_rows(const Index *col, int first, int end, int step, int c, const Table &gX,
                         Sum &sum)
{
    Tensor r = make_tensor<T>(Shape<Int<kWidth>, Int<kUnroll>>{});
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
                copy(Atom<kWidth>{}, gX(0, _, next[k], c), r(_, k));
        if constexpr (kAhead)
            fetch(e + kUnroll * step);
        CUTE_UNROLL
        for (int k = 0; k < kUnroll; k++)
            if (e + k * step < end)
                CUTE_UNROLL
                for (int i = 0; i < kWidth; i++)
                    sum(i) += float(r(i, k));
    }
}

template <int kWidth, class Sum, class Out>
__device__ void store(const Sum &sum, int count, Out &&out)
{
    Tensor r = make_tensor<T>(Shape<Int<kWidth>>{});
    float scale = kMean ? 1.f / float(count > 0 ? count : 1) : 1.f;
    CUTE_UNROLL
    for (int i = 0; i < kWidth; i++)
        r(i) = T(sum(i) * scale);
    copy(Atom<kWidth>{}, r, out);
}

template <int kWidth>
__device__ void segment(const Index *rowptr, const Index *col, const T *x, T *y, int n, int rows,
                        int cols)
{
    __shared__ int bounds[kThreads][2];
    __shared__ float part[kThreads * kWidth];
    Tensor mX = make_tensor(make_gmem_ptr(x), make_shape(rows, cols),
                            make_stride(int64_t(cols), _1{}));
    Tensor mY = make_tensor(make_gmem_ptr(y), make_shape(n, cols),
                            make_stride(int64_t(cols), _1{}));
    Tensor gX = local_tile(mX, Shape<_1, Int<kWidth>>{}, make_coord(_, _)); // (1, V, rows, vectors)
    Tensor gY = local_tile(mY, Shape<_1, Int<kWidth>>{}, make_coord(_, _));
    Tensor sum = make_tensor<float>(Shape<Int<kWidth>>{});
    int lanes = blockDim.x, groups = blockDim.y, lane = threadIdx.x, group = threadIdx.y;
    int base = blockIdx.x * groups, row = base + group, vectors = cols / kWidth;

    int first = row < n ? int(rowptr[row]) : 0, end = row < n ? int(rowptr[row + 1]) : 0;
    if (row < n && (kHeavy == 0 || end - first <= kHeavy))
        for (int c = lane; c < vectors; c += lanes) {
            clear(sum);
            add_rows<kWidth>(col, first, end, 1, c, gX, sum);
            store<kWidth>(sum, end - first, gY(0, _, row, c));
        }
    if constexpr (kHeavy > 0) {
        if (!__syncthreads_or(end - first > kHeavy))
            return;
        if (lane == 0) {
            bounds[group][0] = first;
            bounds[group][1] = end;
        }
        __syncthreads();
        Tensor sums = make_tensor(make_smem_ptr(part), make_shape(Int<kWidth>{}, lanes, groups));
        for (int g = 0; g < groups; g++) {
            int from = bounds[g][0], to = bounds[g][1];
            if (to - from <= kHeavy)
                continue;
            for (int c0 = 0; c0 < vectors; c0 += lanes) {
                int c = c0 + lane;
                clear(sum);
                if (c < vectors)
                    add_rows<kWidth>(col, from + group, to, groups, c, gX, sum);
                copy(sum, sums(_, lane, group));
                __syncthreads();
                for (int half = groups / 2; half > 0; half /= 2) {
                    if (group < half)
                        CUTE_UNROLL
                        for (int i = 0; i < kWidth; i++)
                            sums(i, lane, group) += sums(i, lane, group + half);
                    __syncthreads();
                }
                if (group == 0 && c < vectors)
                    store<kWidth>(sums(_, lane, 0), to - from, gY(0, _, base + g, c));
                __syncthreads(); // sums is used again
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
