/* hone-plan
{ "launches": [ { "kernel": "edge_softmax_grad", "grid": ["cdiv(N*H, kThreads/kLanes)"], "block": ["kLanes", "kThreads/kLanes"],
                  "args": ["row", "col", "src", "dst", "weight", "z", "dy", "dscore", "ddst", "N", "E", "H", "D", "SLOPE"] } ] }
*/
// kLanes lanes for each target and head. For each edge the lanes compute a dot product together; lane 0
// keeps it in dscore until the mean is known.
constexpr int kLanes = 16;    // hone: 4 8 16 32
constexpr int kThreads = 128; // hone: 128 256 512

#include "../parts/lanes.cuh"

__device__ __forceinline__ float dot(const float *a, const float *b, int n)
{
    float sum = 0;
    for (int c = threadIdx.x; c < n; c += kLanes)
        sum = fmaf(a[c], b[c], sum);
    return lanes_sum(sum);
}

extern "C" __global__ void edge_softmax_grad(const int *row, const int *col, const float *src,
                                             const float *dst, const float *weight, const float *z,
                                             const float *dy, float *dscore, float *ddst, long long targets,
                                             long long edges, int heads, int dim, int slope_ppm)
{
    long long n = (long long)blockIdx.x * (kThreads / kLanes) + threadIdx.y;
    if (n >= targets * heads)
        return;
    long long i = n / heads;
    int h = (int)(n % heads), first = row[i], end = row[i + 1];
    float slope = (float)(slope_ppm / 1e6), mean = 0, sum = 0;
    for (int e = first; e <= end; e++) {
        long long j = e < end ? col[e] : i, at = (e < end ? (long long)e : edges + i) * heads + h;
        float dw = dot(dy + n * dim, z + (j * heads + h) * dim, dim);
        mean = fmaf(weight[at], dw, mean);
        if (threadIdx.x == 0)
            dscore[at] = dw;
    }
    if (threadIdx.x != 0)
        return;
    for (int e = first; e <= end; e++) {
        long long j = e < end ? col[e] : i, at = (e < end ? (long long)e : edges + i) * heads + h;
        float v = weight[at] * (dscore[at] - mean);
        if (!(src[j * heads + h] + dst[n] > 0))
            v *= slope;
        dscore[at] = v;
        sum += v;
    }
    ddst[n] = sum;
}
