/* hone-plan
{ "fast_math": true,
  "launches": [
    { "kernel": "merge_state", "grid": ["N"], "block": ["D/8", "H"],
      "when": "(D == 64 || D == 128 || D == 256) && D/8*H <= 1024 && min(alignof(va), alignof(vb),
alignof(v)) >= 16", "args": ["va", "sa", "vb", "sb", "v", "s", "H", "D"] }, { "kernel": "merge_any",
"grid": ["N*H"], "block": [64], "when": "!((D == 64 || D == 128 || D == 256) && D/8*H <= 1024 &&
min(alignof(va), alignof(vb), alignof(v)) >= 16)", "args": ["va", "sa", "vb", "sb", "v", "s", "D"] }
] }
*/
// FlashInfer's MergeStateKernel, launched as FlashInfer's MergeState() launches it: vectors of 8
// elements, D/8 by H threads, no PDL. FlashInfer's own kernel takes and gives logarithms to base 2,
// and does not expect a sum of +inf. The task's logarithms are natural, and a sum of +inf counts as
// -inf. So three macros change the text of the header: `max` of two sums first replaces +inf, and
// the exponential and the logarithm get a factor. This adds five instructions to each thread.
//
// FlashInfer's kernel takes the task's inputs as pointers that are not const. A plan may pass
// inputs only as const pointers. So FlashInfer's kernel becomes a device function here, and
// `merge_state` calls it. merge_any is not FlashInfer's: it serves the shapes and addresses that
// FlashInfer refuses. No timed shape is among them.
#include <flashinfer/attention/state.cuh>
#include <flashinfer/cp_async.cuh>
#include <flashinfer/utils.cuh>

// Replaces +inf by -inf in a float variable. Leaves values of other types alone.
__device__ __forceinline__ float empty_as_minus_inf(float &s)
{
    return s = s == flashinfer::math::inf ? -flashinfer::math::inf : s;
}
template <typename T> __host__ __device__ constexpr T empty_as_minus_inf(const T &s)
{
    return s;
}

#define max(a, b) max(empty_as_minus_inf(a), empty_as_minus_inf(b))
#define ptx_exp2(x) ptx_exp2(1.44269504f * (x))
#define ptx_log2(x) ptx_log2(x) * 0.69314718f
#define __global__ __device__ __forceinline__
#include <flashinfer/attention/cascade.cuh>
#undef __global__
#define __global__ __attribute__((global))
#undef max
#undef ptx_exp2
#undef ptx_log2

extern "C" __global__ void merge_state(const __half *__restrict__ va, const float *__restrict__ sa,
                                       const __half *__restrict__ vb, const float *__restrict__ sb,
                                       __half *__restrict__ v, float *__restrict__ s,
                                       uint32_t heads, uint32_t dim)
{
    flashinfer::MergeStateKernel<8, __half, __half>(
        const_cast<__half *>(va), const_cast<float *>(sa), const_cast<__half *>(vb),
        const_cast<float *>(sb), v, s, heads, dim);
}

extern "C" __global__ void merge_any(const __half *va, const float *sa, const __half *vb,
                                     const float *sb, __half *v, float *s, int dim)
{
    const float inf = flashinfer::math::inf;
    long long head = blockIdx.x;
    float a = sa[head] == inf ? -inf : sa[head], b = sb[head] == inf ? -inf : sb[head],
          m = fmaxf(a, b);
    bool empty = m == -inf;
    float wa = empty ? 0.f : expf(a - m), wb = empty ? 0.f : expf(b - m), sum = wa + wb;
    if (threadIdx.x == 0)
        s[head] = empty ? -inf : logf(sum) + m;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        long long at = head * dim + i;
        v[at] = __float2half(empty ? 0.f
                                   : (wa * __half2float(va[at]) + wb * __half2float(vb[at])) / sum);
    }
}
