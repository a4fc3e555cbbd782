/* hone-plan
{ "launches": [
    { "kernel": "gemm_vec", "when": "@{K} >= 32 && @{whole} && min(alignof(@{A}), alignof(@{B})) >= 16 && @{split} == 1",
      "grid": ["cdiv(@{M}, @{bm})*cdiv(@{N}, @{bn})", "@{Z}"], "block": ["32*@{warps}"], "smem": "@{smem}",
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_one", "when": "@{K} >= 32 && !(@{whole} && min(alignof(@{A}), alignof(@{B})) >= 16) && @{split} == 1",
      "grid": ["cdiv(@{M}, @{bm})*cdiv(@{N}, @{bn})", "@{Z}"], "block": ["32*@{warps}"], "smem": "@{smem}",
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_vec", "when": "@{K} >= 32 && @{whole} && min(alignof(@{A}), alignof(@{B})) >= 16 && @{split} > 1",
      "grid": ["cdiv(@{M}, @{bm})*cdiv(@{N}, @{bn})", "@{Z}", "@{split}"], "block": ["32*@{warps}"], "smem": "@{smem}",
      "args": ["@{A}", "@{B}", "parts", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_one", "when": "@{K} >= 32 && !(@{whole} && min(alignof(@{A}), alignof(@{B})) >= 16) && @{split} > 1",
      "grid": ["cdiv(@{M}, @{bm})*cdiv(@{N}, @{bn})", "@{Z}", "@{split}"], "block": ["32*@{warps}"], "smem": "@{smem}",
      "args": ["@{A}", "@{B}", "parts", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "sum_parts<@{split}>", "when": "@{K} >= 32 && @{split} > 1",
      "grid": ["cdiv(@{Z}*@{M}*@{N}, 256)"], "block": [256],
      "args": ["parts", "@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}", "@{Z}"] },
    { "kernel": "gemm_few", "when": "@{K} < 32",
      "grid": ["cdiv(@{N}, 16)", "cdiv(@{M}, 16)", "@{Z}"], "block": [16, 16],
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] } ],
  "workspace": { "parts": { "bytes": "4*@{split}*@{Z}*@{M}*@{N}", "init": "none" } } }
*/
// C = epilogue(A * B) of fp32 matrices on the tensor cores of Ampere and later, for each matrix of a
// batch. Either operand may be stored transposed.
#include <cute/tensor.hpp>

using namespace cute;

constexpr int kGroup = @{group};
constexpr int kSplit = @{split};
constexpr int kWarps = @{warps};
constexpr bool kTurnedA = @{turned_a}; // A has K rows, not M
constexpr bool kTurnedB = @{turned_b}; // B has N rows, not K

@{part:epilogue}

@{part:masked}

@{part:tf32_split}

@{part:tf32_product}

@{part:tf32_mma}

@{part:tf32_sum}

using Block_ = MmaTile<@{bm}, @{bn}, 2, kWarps / 2, @{stages}, @{promote}>;

// This block's tile (m, n): walks down kGroup tiles before the next column.
__device__ int2 tile_of_block(int M, int N)
{
    int down = ceil_div(M, Block_::kBM), across = ceil_div(N, Block_::kBN);
    int group = blockIdx.x / (kGroup * across), in_group = blockIdx.x % (kGroup * across);
    int first = group * kGroup, height = min(kGroup, down - first);
    return {first + in_group % height, in_group / height};
}

template <int kWidth>
__device__ void gemm(const float *A, const float *B, float *out, const Extra &extra, int M, int N, int K)
{
    extern __shared__ __align__(16) float smem[];
    mma_gemm<Block_, kWidth, kSplit == 1>(smem, A, B, out, extra, tile_of_block(M, N), M, N, K);
}

extern "C" __global__ void __launch_bounds__(Block_::kThreads)
    gemm_vec(const float *A, const float *B, float *out, @{params}int M, int N, int K)
{
    gemm<4>(A, B, out, Extra{@{data}}, M, N, K);
}

extern "C" __global__ void __launch_bounds__(Block_::kThreads)
    gemm_one(const float *A, const float *B, float *out, @{params}int M, int N, int K)
{
    gemm<1>(A, B, out, Extra{@{data}}, M, N, K);
}

extern "C" __global__ void __launch_bounds__(256)
    gemm_few(const float *A, const float *B, float *C, @{params}int M, int N, int K)
{
    few_terms(A, B, C, Extra{@{data}}, M, N, K);
}
