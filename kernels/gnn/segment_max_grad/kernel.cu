/* hone-plan
{ "launches": [ { "kernel": "segment_max_grad", "grid": ["cdiv(V, 8)"], "block": [32, 8],
                  "args": ["t_row", "t_dst", "dy", "arg", "dx", "V", "D", "ADD"] } ] }
*/
// One warp for each source, over its edges in order. The sum is compensated, like that of segment_grad.
extern "C" __global__ void segment_max_grad(const int *t_row, const int *t_dst, const float *dy,
                                            const int *arg, float *dx, int sources, int dim, int accumulate)
{
    long long j = (long long)blockIdx.x * 8 + threadIdx.y;
    if (j >= sources)
        return;
    int first = t_row[j], end = t_row[j + 1];
    for (int d = threadIdx.x; d < dim; d += 32) {
        float sum = accumulate ? dx[j * dim + d] : 0.f, lost = 0;
        for (int t = first, last = -1; t < end; t++) {
            int i = t_dst[t];
            if (i != last && arg[(long long)i * dim + d] == j) {
                float y = dy[(long long)i * dim + d] - lost, total = sum + y;
                lost = (total - sum) - y;
                sum = total;
            }
            last = i;
        }
        dx[j * dim + d] = sum;
    }
}
