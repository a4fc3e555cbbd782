/* hone-plan
{ "launches": [ { "kernel": "attend", "grid": ["cdiv(N, 8)"], "block": [32, 8],
                  "args": ["row", "col", "weight", "z", "y", "N", "E", "H", "D"] } ] }
*/
// One warp for each target; the lanes stride over the elements of its row. The sum is compensated.
extern "C" __global__ void attend(const int *row, const int *col, const float *weight, const float *z,
                                  float *y, long long targets, long long edges, int heads, int dim)
{
    long long i = (long long)blockIdx.x * 8 + threadIdx.y;
    if (i >= targets)
        return;
    int first = row[i], end = row[i + 1], width = heads * dim;
    for (int at = threadIdx.x; at < width; at += 32) {
        int h = at / dim;
        float sum = weight[(edges + i) * heads + h] * z[i * width + at], lost = 0;
        for (int e = first; e < end; e++) {
            float v = fmaf(weight[(long long)e * heads + h], z[(long long)col[e] * width + at], -lost);
            float total = sum + v;
            lost = (total - sum) - v;
            sum = total;
        }
        y[i * width + at] = sum;
    }
}
