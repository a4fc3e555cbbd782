/* hone-plan
{ "launches": [ { "kernel": "attend", "grid": ["cdiv(N, kWarps)"], "block": [32, "kWarps"],
                  "args": ["row", "col", "weight", "z", "y", "N", "E", "H", "D"] } ] }
*/
// One warp for each target; the lanes stride over the elements of its row. Loads of kAtOnce neighbours are in
// flight at a time. The sum is compensated.
constexpr int kAtOnce = 1; // hone: 1 2 4 8
constexpr int kWarps = 4;  // hone: 4 8 16

extern "C" __global__ void attend(const int *row, const int *col, const float *weight, const float *z,
                                  float *y, long long targets, long long edges, int heads, int dim)
{
    long long i = (long long)blockIdx.x * kWarps + threadIdx.y;
    if (i >= targets)
        return;
    int first = row[i], end = row[i + 1], width = heads * dim;
    for (int at = threadIdx.x; at < width; at += 32) {
        int h = at / dim;
        float sum = weight[(edges + i) * heads + h] * z[i * width + at], lost = 0;
        for (int e = first; e < end; e += kAtOnce) {
            float w[kAtOnce], v[kAtOnce];
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                if (e + k < end) {
                    w[k] = weight[(long long)(e + k) * heads + h];
                    v[k] = z[(long long)col[e + k] * width + at];
                }
#pragma unroll
            for (int k = 0; k < kAtOnce; k++)
                if (e + k < end) {
                    float add = fmaf(w[k], v[k], -lost), total = sum + add;
                    lost = (total - sum) - add;
                    sum = total;
                }
        }
        y[i * width + at] = sum;
    }
}
