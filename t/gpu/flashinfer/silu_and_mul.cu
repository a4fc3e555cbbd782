/* hone-plan
{ "fast_math": true,
  "launches": [
    { "kernel": "flashinfer::activation::act_and_mul_kernel<__half, silu, 8>", "grid": ["B"], "pdl": true,
      "block": ["min(D/8, 256)"],
      "when": "D % 8 == 0 && min(alignof(x), alignof(y)) >= 16",
      "args": ["y", "x", "D"] },
    { "kernel": "flashinfer::activation::act_and_mul_kernel<__half, silu, 4>", "grid": ["B"], "pdl": true,
      "block": ["min(D/4, 256)"],
      "when": "D % 4 == 0 && min(alignof(x), alignof(y)) >= 8 && !(D % 8 == 0 && min(alignof(x), alignof(y)) >= 16)",
      "args": ["y", "x", "D"] },
    { "kernel": "flashinfer::activation::act_and_mul_kernel<__half, silu, 2>", "grid": ["B"], "pdl": true,
      "block": ["min(D/2, 256)"],
      "when": "D % 2 == 0 && min(alignof(x), alignof(y)) >= 4 && !(D % 4 == 0 && min(alignof(x), alignof(y)) >= 8)",
      "args": ["y", "x", "D"] },
    { "kernel": "flashinfer::activation::act_and_mul_kernel<__half, silu, 1>", "grid": ["B"], "pdl": true,
      "block": ["min(D, 256)"],
      "when": "!(D % 2 == 0 && min(alignof(x), alignof(y)) >= 4)",
      "args": ["y", "x", "D"] } ] }
*/
// FlashInfer's act_and_mul_kernel with silu, launched as FlashInfer's silu_and_mul() launches it: the widest vectors
// that divide D, up to 256 threads for each row, PDL. FlashInfer takes aligned addresses for granted. Here misaligned
// tensors get narrower vectors. The tensors of the timed shapes are aligned.
#include <flashinfer/activation.cuh>

__device__ __forceinline__ float silu(const float &v) { return v / (1.0f + __expf(-v)); }
