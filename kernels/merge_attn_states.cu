/* hone-plan
{ "launches": [ { "kernel": "merge", "grid": ["cdiv(N*H*D, 256)"], "block": [256],
                  "args": ["va", "sa", "vb", "sb", "v", "s", "N", "H", "D"] } ] }
*/
// One thread per element of v. Every thread of a head computes the two weights again, which costs
// less than sharing them; the thread of the head's first element also writes s. A log-sum-exp (sa,
// sb) of +inf marks an empty part, like -inf. If both parts are empty, v is 0 and s is -inf.
#include <cuda_fp16.h>

extern "C" __global__ void merge(const __half *va, const float *sa, const __half *vb,
                                 const float *sb, __half *v, float *s, int n, int h,
                                 int dim)
{
    const float inf = __int_as_float(0x7f800000);
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)n * h * dim)
        return;
    long long head = i / dim;
    float a = sa[head] == inf ? -inf : sa[head];
    float b = sb[head] == inf ? -inf : sb[head];
    float m = fmaxf(a, b);
    bool empty = m == -inf;
    float wa = empty ? 0.f : expf(a - m), wb = empty ? 0.f : expf(b - m);
    float sum = wa + wb;

    if (i % dim == 0)
        s[head] = empty ? -inf : logf(sum) + m;
    float out = (wa * __half2float(va[i]) + wb * __half2float(vb[i])) / sum;
    v[i] = __float2half(empty ? 0.f : out);
}
