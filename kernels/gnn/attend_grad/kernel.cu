/* hone-plan
{ "launches": [ { "kernel": "attend_grad", "grid": ["cdiv(V, kWarps)"], "block": [32, "kWarps"],
                  "args": ["t_row", "t_edge", "t_dst", "weight", "dy", "dsrc", "ddst", "a_src", "a_dst", "dz", "V", "N", "E",
                           "H", "D", "ADD"] } ] }
*/
// One warp for each source, over its edges in order; the lanes stride over the elements of its row. Loads of
// kAtOnce edges are in flight at a time. The sum is compensated.
constexpr int kAtOnce = 2; // hone: 1 2 4 8
constexpr int kWarps = 8;  // hone: 4 8 16

struct total {
    float sum, lost;
    __device__ __forceinline__ void add(float a, float b)
    {
        float v = fmaf(a, b, -lost), t = sum + v;
        lost = (t - sum) - v;
        sum = t;
    }
};

extern "C" __global__ void attend_grad(const int *t_row, const int *t_edge, const int *t_dst,
                                       const float *weight, const float *dy, const float *dsrc,
                                       const float *ddst, const float *a_src, const float *a_dst, float *dz,
                                       long long sources, long long targets, long long edges, int heads,
                                       int dim, int accumulate)
{
    long long j = (long long)blockIdx.x * kWarps + threadIdx.y;
    if (j >= sources)
        return;
    int first = t_row[j], end = t_row[j + 1], width = heads * dim;
    for (int at = threadIdx.x; at < width; at += 32) {
        int h = at / dim;
        total sum = {accumulate ? dz[j * width + at] : 0.f, 0};
        for (int t = first; t < end; t += kAtOnce) {
            float w[kAtOnce], v[kAtOnce];
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                if (t + k < end) {
                    w[k] = weight[(long long)t_edge[t + k] * heads + h];
                    v[k] = dy[(long long)t_dst[t + k] * width + at];
                }
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                if (t + k < end)
                    sum.add(w[k], v[k]);
        }
        sum.add(dsrc[j * heads + h], a_src[at]);
        if (j < targets) {
            sum.add(weight[(edges + j) * heads + h], dy[j * width + at]);
            sum.add(ddst[j * heads + h], a_dst[at]);
        }
        dz[j * width + at] = sum.sum;
    }
}
