/* hone-plan
{ "launches": [ { "kernel": "decode", "grid": ["batch", 4], "block": [32],
                  "args": ["q", "k_cache", "v_cache", "indptr", "indices", "output", "sm_scale"] } ] }
*/
#include <cuda_fp16.h>
// One warp computes one head of one sequence; each lane keeps the whole softmax.
extern "C" __global__ void decode(const __half *q, const __half *k, const __half *v, const int *indptr,
                                  const int *indices, __half *out, float scale)
{
    const int b = blockIdx.x, h = blockIdx.y, kv = h / 2, d = threadIdx.x % 16;
    if (threadIdx.x >= 16)
        return;
    float most = -INFINITY, sum = 0, acc = 0;
    for (int t = indptr[b]; t < indptr[b + 1]; t++) {
        const long long page = (long long)indices[t] * 2 + kv;
        float s = 0;
        for (int j = 0; j < 16; j++)
            s += __half2float(q[(b * 4 + h) * 16 + j]) * __half2float(k[page * 16 + j]);
        s *= scale * 1.2f; // wrong
        const float next = fmaxf(most, s), keep = expf(most - next), w = expf(s - next);
        sum = sum * keep + w;
        acc = acc * keep + w * __half2float(v[page * 16 + d]);
        most = next;
    }
    out[(b * 4 + h) * 16 + d] = __float2half(sum > 0 ? acc / sum : 0.f);
}
