/* hone-plan
{ "launches": [
    { "kernel": "rows_vec", "when": "@{D} % @{vec} == 0 && min(alignof(@{a}), alignof(@{p}), alignof(@{n})) >= @{vec}*4", "grid": ["@{B}*(@{split} ? cdiv(@{D}, @{split} ? @{split} : 1) : 1)"],
      "block": [@{threads}], "args": ["@{a}", "@{p}", "@{n}", "part", "@{B}", "@{D}", "(@{split} ? @{split} : @{D})", "(@{split} ? cdiv(@{D}, @{split} ? @{split} : 1) : 1)"@{eps:arg}] },
    { "kernel": "rows_one", "when": "!(@{D} % @{vec} == 0 && min(alignof(@{a}), alignof(@{p}), alignof(@{n})) >= @{vec}*4)", "grid": ["@{B}*(@{split} ? cdiv(@{D}, @{split} ? @{split} : 1) : 1)"],
      "block": [@{threads}], "args": ["@{a}", "@{p}", "@{n}", "part", "@{B}", "@{D}", "(@{split} ? @{split} : @{D})", "(@{split} ? cdiv(@{D}, @{split} ? @{split} : 1) : 1)"@{eps:arg}] },
    { "kernel": "mean", "grid": [1], "block": [1024],
      "args": ["part", "@{loss}", "@{B}", "(@{split} ? cdiv(@{D}, @{split} ? @{split} : 1) : 1)"@{margin:arg}] } ],
  "workspace": { "part": { "bytes": "8*@{B}*(@{split} ? cdiv(@{D}, @{split} ? @{split} : 1) : 1)", "init": "none" } } }
*/
// loss = mean over rows of max(0, margin + |a - p + eps| - |a - n + eps|).
//
// A block takes a row, or a stretch of one, and adds both squared distances in one pass: kUnroll
// vectors of each of the three inputs on their way at once. The sums go to the workspace, from which
// a second launch of one block takes roots, hinge and mean, in an order that does not depend on
// timing.
#include <cute/tensor.hpp>

using namespace cute;

constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr int kUnroll = @{unroll};
constexpr bool kStream = @{stream};

@{part:stream_load}

// The sum of v over the block, in its first thread.
template <int kWarps>
__device__ float block_sum(float v)
{
    __shared__ float part[kWarps];
    CUTE_UNROLL
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x < kWarps ? part[threadIdx.x] : 0.f;
    if (threadIdx.x < 32)
        CUTE_UNROLL
        for (int d = 16; d > 0; d /= 2)
            v += __shfl_xor_sync(~0u, v, d);
    __syncthreads(); // part is used again
    return v;
}

template <int kWidth>
__device__ void distances(const float *a, const float *p, const float *n, float2 *part, int rows,
                          int cols, int split, int splits, float eps)
{
    using V = uint_bit_t<32 * kWidth>;
    using Load = Copy_Atom<conditional_t<kStream, StreamLoad<V>, UniversalCopy<V>>, float>;
    int row = blockIdx.x / splits, piece = blockIdx.x % splits;
    auto vectors = [&](const float *x) { // (kWidth, vectors) of this row
        Tensor m = make_tensor(make_gmem_ptr(x), make_shape(rows, cols),
                               make_stride(int64_t(cols), _1{}));
        return local_tile(m(row, _), Shape<Int<kWidth>>{}, make_coord(_));
    };
    Tensor gA = vectors(a);
    Tensor gP = vectors(p);
    Tensor gN = vectors(n);
    Tensor r = make_tensor<float>(Shape<Int<kWidth>, _3, Int<kUnroll>>{});
    int end = min(cols, (piece + 1) * split) / kWidth;
    float pos = 0, neg = 0;
    for (int i = piece * split / kWidth + threadIdx.x; i < end; i += kThreads * kUnroll) {
        CUTE_UNROLL
        for (int k = 0; k < kUnroll; k++)
            if (i + k * kThreads < end) {
                copy(Load{}, gA(_, i + k * kThreads), r(_, 0, k));
                copy(Load{}, gP(_, i + k * kThreads), r(_, 1, k));
                copy(Load{}, gN(_, i + k * kThreads), r(_, 2, k));
            }
        CUTE_UNROLL
        for (int k = 0; k < kUnroll; k++)
            if (i + k * kThreads < end)
                CUTE_UNROLL
                for (int j = 0; j < kWidth; j++) {
                    float dp = r(j, 0, k) - r(j, 1, k) + eps, dn = r(j, 0, k) - r(j, 2, k) + eps;
                    pos += dp * dp;
                    neg += dn * dn;
                }
    }
    pos = block_sum<kThreads / 32>(pos);
    neg = block_sum<kThreads / 32>(neg);
    if (threadIdx.x == 0)
        part[blockIdx.x] = {pos, neg};
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_vec(const float *__restrict__ a, const float *__restrict__ p, const float *__restrict__ n,
             float2 *__restrict__ part, int rows, int cols, int split, int splits@{eps:param})
{
    distances<kVec>(a, p, n, part, rows, cols, split, splits, @{eps:value});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_one(const float *__restrict__ a, const float *__restrict__ p, const float *__restrict__ n,
             float2 *__restrict__ part, int rows, int cols, int split, int splits@{eps:param})
{
    distances<1>(a, p, n, part, rows, cols, split, splits, @{eps:value});
}

extern "C" __global__ void __launch_bounds__(1024)
    mean(const float2 *__restrict__ part, float *__restrict__ loss, int rows, int splits@{margin:param})
{
    float sum = 0;
#pragma unroll 4
    for (int i = threadIdx.x; i < rows; i += 1024) {
        float pos = 0, neg = 0;
        for (int k = 0; k < splits; k++) {
            float2 v = part[int64_t(i) * splits + k];
            pos += v.x;
            neg += v.y;
        }
        sum += fmaxf(0.f, @{margin:value} + sqrtf(pos) - sqrtf(neg));
    }
    sum = block_sum<32>(sum);
    if (threadIdx.x == 0)
        loss[0] = sum / rows;
}
