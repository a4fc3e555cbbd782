/* hone-plan
{ "launches": [ { "kernel": "segment_max_grad", "grid": ["cdiv(V, kWarps)"], "block": [32, "kWarps"],
                  "args": ["t_row", "t_dst", "dy", "arg", "dx", "V", "D", "ADD"] } ] }
*/
// One warp for each source, over its edges in order. Loads of kAtOnce edges are in flight at a time. The sum is
// compensated, like that of segment_grad.
constexpr int kAtOnce = 1; // hone: 1 2 4 8
constexpr int kWarps = 8;  // hone: 4 8 16

extern "C" __global__ void segment_max_grad(const int *t_row, const int *t_dst, const float *dy,
                                            const int *arg, float *dx, int sources, int dim, int accumulate)
{
    long long j = (long long)blockIdx.x * kWarps + threadIdx.y;
    if (j >= sources)
        return;
    int first = t_row[j], end = t_row[j + 1];
    for (int d = threadIdx.x; d < dim; d += 32) {
        float sum = accumulate ? dx[j * dim + d] : 0.f, lost = 0;
        for (int t = first, last = -1; t < end; t += kAtOnce) {
            bool mine[kAtOnce];
            float v[kAtOnce];
#pragma unroll
            for (int k = 0; k < kAtOnce; k++) {
                mine[k] = false;
                if (t + k >= end)
                    continue;
                int i = t_dst[t + k];
                mine[k] = i != last && arg[(long long)i * dim + d] == j;
                if (mine[k])
                    v[k] = dy[(long long)i * dim + d];
                last = i;
            }
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                if (mine[k]) {
                    float y = v[k] - lost, total = sum + y;
                    lost = (total - sum) - y;
                    sum = total;
                }
        }
        dx[j * dim + d] = sum;
    }
}
