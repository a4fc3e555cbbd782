/* hone-plan
{ "launches": [ { "kernel": "segment_max", "grid": ["cdiv(N, kWarps)"], "block": [32, "kWarps"],
                  "args": ["row", "col", "x", "y", "arg", "N", "D"] } ] }
*/
// One warp for each target; the lanes stride over the features. Loads of kAtOnce rows are in flight at a time.
constexpr int kAtOnce = 1; // hone: 1 2 4 8
constexpr int kWarps = 8;  // hone: 4 8 16

extern "C" __global__ void segment_max(const int *row, const int *col, const float *x, float *y, int *arg,
                                       int targets, int dim)
{
    long long i = (long long)blockIdx.x * kWarps + threadIdx.y;
    if (i >= targets)
        return;
    int first = row[i], end = row[i + 1];
    for (int d = threadIdx.x; d < dim; d += 32) {
        float most = 0;
        int at = -1;
        for (int e = first; e < end; e += kAtOnce) {
            int id[kAtOnce];
            float v[kAtOnce];
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                if (e + k < end) {
                    id[k] = col[e + k];
                    v[k] = x[(long long)id[k] * dim + d];
                }
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                if (e + k < end && (at < 0 || v[k] > most)) {
                    most = v[k];
                    at = id[k];
                }
        }
        y[i * dim + d] = most;
        arg[i * dim + d] = at;
    }
}
