/* hone-plan
{ "fast_math": true,
  "launches": [
    { "kernel": "fused_add_rmsnorm<8>", "grid": ["B"], "block": [32, "cdiv(min(1024, D/8), 32)"],
"pdl": true, "smem": "4*(cdiv(cdiv(min(1024, D/8), 32), 4)*4 + D)", "when": "D % 8 == 0 &&
min(alignof(x), alignof(r), alignof(w)) >= 16", "args": ["x", "r", "w", "D", "eps"] }, { "kernel":
"fused_add_rmsnorm<4>", "grid": ["B"], "block": [32, "cdiv(min(1024, D/4), 32)"], "pdl": true,
      "smem": "4*(cdiv(cdiv(min(1024, D/4), 32), 4)*4 + D)",
      "when": "D % 4 == 0 && min(alignof(x), alignof(r), alignof(w)) >= 8 && !(D % 8 == 0 &&
min(alignof(x), alignof(r), alignof(w)) >= 16)", "args": ["x", "r", "w", "D", "eps"] }, { "kernel":
"fused_add_rmsnorm<2>", "grid": ["B"], "block": [32, "cdiv(min(1024, D/2), 32)"], "pdl": true,
      "smem": "4*(cdiv(cdiv(min(1024, D/2), 32), 4)*4 + D)",
      "when": "D % 2 == 0 && min(alignof(x), alignof(r), alignof(w)) >= 4 && !(D % 4 == 0 &&
min(alignof(x), alignof(r), alignof(w)) >= 8)", "args": ["x", "r", "w", "D", "eps"] }, { "kernel":
"fused_add_rmsnorm<1>", "grid": ["B"], "block": [32, "cdiv(min(1024, D), 32)"], "pdl": true, "smem":
"4*(cdiv(cdiv(min(1024, D), 32), 4)*4 + D)", "when": "!(D % 2 == 0 && min(alignof(x), alignof(r),
alignof(w)) >= 4)", "args": ["x", "r", "w", "D", "eps"] } ] }
*/
// FlashInfer's FusedAddRMSNormKernel, launched as FlashInfer's FusedAddRMSNorm() launches it: the
// widest vectors that divide D, up to 1024 threads in warps along y, a row in shared memory, PDL.
// FlashInfer takes aligned addresses for granted. Here misaligned tensors get narrower vectors. The
// tensors of the timed shapes are aligned.
//
// FlashInfer's kernel takes the weights, an input, as a pointer that is not const. A plan may pass
// an input only as a const pointer. So FlashInfer's kernel becomes a device function here, and
// `fused_add_rmsnorm` calls it.
#include <flashinfer/math.cuh>
#include <flashinfer/utils.cuh>
#include <flashinfer/vec_dtypes.cuh>

#define __global__ __device__ __forceinline__
#include <flashinfer/norm.cuh>
#undef __global__
#define __global__ __attribute__((global))

template <uint32_t kVec>
__global__ void fused_add_rmsnorm(__half *__restrict__ x, __half *__restrict__ r,
                                  const __half *__restrict__ w, uint32_t dim, float eps)
{
    flashinfer::norm::FusedAddRMSNormKernel<kVec, __half>(x, r, const_cast<__half *>(w), dim, dim,
                                                          dim, 0.f, eps);
}
