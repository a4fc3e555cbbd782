/* hone-plan
{ "launches": [ { "kernel": "segment_max", "grid": ["cdiv(N, 8)"], "block": [32, 8],
                  "args": ["row", "col", "x", "y", "arg", "N", "D"] } ] }
*/
// One warp for each target; the lanes stride over the features.
extern "C" __global__ void segment_max(const int *row, const int *col, const float *x, float *y, int *arg,
                                       int targets, int dim)
{
    long long i = (long long)blockIdx.x * 8 + threadIdx.y;
    if (i >= targets)
        return;
    int first = row[i], end = row[i + 1];
    for (int d = threadIdx.x; d < dim; d += 32) {
        float most = 0;
        int at = -1;
        for (int e = first; e < end; e++) {
            float v = x[(long long)col[e] * dim + d];
            if (at < 0 || v > most) {
                most = v;
                at = col[e];
            }
        }
        y[i * dim + d] = most;
        arg[i * dim + d] = at;
    }
}
