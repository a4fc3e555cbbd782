/* hone-plan
{ "launches": [ { "kernel": "edge_softmax", "grid": ["cdiv(N*H, kThreads/kLanes)"], "block": ["kLanes", "kThreads/kLanes"],
                  "args": ["row", "col", "degree", "src", "dst", "weight", "N", "E", "H", "SLOPE", "MOST"] } ] }
*/
// kLanes lanes for each target and head; they stride over the edges.
constexpr int kLanes = 32;    // hone: 4 8 16 32
constexpr int kThreads = 128; // hone: 128 256 512

#include "../parts/lanes.cuh"

extern "C" __global__ void edge_softmax(const int *row, const int *col, const int *degree, const float *src,
                                        const float *dst, float *weight, long long targets, long long edges,
                                        int heads, int slope_ppm, int most_edges)
{
    long long n = (long long)blockIdx.x * (kThreads / kLanes) + threadIdx.y;
    if (n >= targets * heads)
        return;
    long long i = n / heads;
    int h = (int)(n % heads), first = row[i], end = row[i + 1], lane = threadIdx.x;
    float slope = (float)(slope_ppm / 1e6), to = dst[n], own = src[n] + to;
    own = own > 0 ? own : slope * own;
    float most = own, times = 1.f;
    if (most_edges > 0 && end > first)
        times = (float)(degree[i] < most_edges ? degree[i] : most_edges) / (float)(end - first);
    for (int e = first + lane; e < end; e += kLanes) {
        float s = src[(long long)col[e] * heads + h] + to;
        if (col[e] != i)
            most = fmaxf(most, s > 0 ? s : slope * s);
    }
    most = lanes_max(most);
    float sum = 0;
    for (int e = first + lane; e < end; e += kLanes) {
        float s = src[(long long)col[e] * heads + h] + to;
        if (col[e] != i)
            sum += times * expf((s > 0 ? s : slope * s) - most);
    }
    sum = lanes_sum(sum) + expf(own - most);
    for (int e = first + lane; e < end; e += kLanes) {
        float s = src[(long long)col[e] * heads + h] + to;
        weight[(long long)e * heads + h] = col[e] == i ? 0.f : times * expf((s > 0 ? s : slope * s) - most) / sum;
    }
    if (lane == 0)
        weight[(edges + i) * heads + h] = expf(own - most) / sum;
}
