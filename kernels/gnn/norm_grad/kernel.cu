/* hone-plan
{ "launches": [
    { "kernel": "gains", "grid": ["cdiv(C, 32)", "min(kShares, cdiv(R, 256))"], "block": [32, "kRows"],
      "args": ["x", "saved", "dy", "part", "R", "C"] },
    { "kernel": "offsets", "grid": ["cdiv(C, 32)", "min(kShares, cdiv(R, 256))"], "block": [32, "kRows"],
      "args": ["dy", "part2", "R", "C"] },
    { "kernel": "finish", "grid": ["cdiv(C, 256)"], "block": [256],
      "args": ["part", "part2", "mean", "dgain", "min(kShares, cdiv(R, 256))", "R", "C"] },
    { "kernel": "apply", "grid": ["cdiv(R*C, kThreads*kAtOnce)"], "block": ["kThreads"],
      "args": ["x", "gain", "saved", "dy", "mean", "dx", "R*C", "C", "ADD"] } ],
  "workspace": { "part": { "bytes": "8*C*min(kShares, cdiv(R, 256))", "init": "none" },
                 "part2": { "bytes": "8*C*min(kShares, cdiv(R, 256))", "init": "none" },
                 "mean": { "bytes": "8*C", "init": "none" } } }
*/
// Sums over the rows first, then kAtOnce elements of dx for each thread, a block's width apart.
constexpr int kAtOnce = 1;    // hone: 1 2 4
constexpr int kThreads = 256; // hone: 128 256 512
constexpr int kRows = 8;      // hone: 4 8 16 32
constexpr int kShares = 64;   // hone: 32 64 128 256

#include "../parts/columns.cuh"

extern "C" __global__ void gains(const float *x, const float *saved, const float *dy, double *part, int rows,
                                 int width)
{
    column_parts(
        [=](long long r, int c) {
            float v = (x[r * width + c] - saved[c]) * saved[width + c];
            return (double)dy[r * width + c] * (double)v;
        },
        part, rows, width);
}

extern "C" __global__ void offsets(const float *dy, double *part, int rows, int width)
{
    column_parts([=](long long r, int c) { return (double)dy[r * width + c]; }, part, rows, width);
}

// mean gets the means of dy v, then those of dy.
extern "C" __global__ void finish(const double *part, const double *part2, float *mean, float *dgain,
                                  int parts, int rows, int width)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= width)
        return;
    double a = all_parts(part, parts, width, c), b = all_parts(part2, parts, width, c);
    dgain[c] = (float)a;
    dgain[width + c] = (float)b;
    mean[c] = (float)(a / rows);
    mean[width + c] = (float)(b / rows);
}

extern "C" __global__ void apply(const float *x, const float *gain, const float *saved, const float *dy,
                                 const float *mean, float *dx, long long n, int width, int accumulate)
{
    long long first = (long long)blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
    float g[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long i = first + k * kThreads;
        if (i >= n)
            continue;
        int c = (int)(i % width);
        float inv = saved[width + c], v = (x[i] - saved[c]) * inv;
        g[k] = gain[c] * inv * (dy[i] - mean[width + c] - v * mean[c]);
        if (accumulate)
            g[k] += dx[i];
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long i = first + k * kThreads;
        if (i < n)
            dx[i] = g[k];
    }
}
