/* hone-plan
{ "launches": [
    { "kernel": "sums", "grid": ["cdiv(C, 32)", "min(kShares, cdiv(R, 256))"], "block": [32, "kRows"], "args": ["x", "part", "R", "C"] },
    { "kernel": "means", "grid": ["cdiv(C, 256)"], "block": [256], "args": ["part", "saved", "min(kShares, cdiv(R, 256))", "R", "C"] },
    { "kernel": "squares", "grid": ["cdiv(C, 32)", "min(kShares, cdiv(R, 256))"], "block": [32, "kRows"], "args": ["x", "saved", "part", "R", "C"] },
    { "kernel": "finish", "grid": ["cdiv(C, 256)"], "block": [256],
      "args": ["part", "saved", "running", "min(kShares, cdiv(R, 256))", "R", "C"] } ],
  "workspace": { "part": { "bytes": "8*C*min(kShares, cdiv(R, 256))", "init": "none" } } }
*/
// Two passes: the means first, then the squares of the distances from them.
constexpr int kRows = 32;    // hone: 4 8 16 32
constexpr int kShares = 64; // hone: 32 64 128 256

#include "../parts/columns.cuh"

extern "C" __global__ void sums(const float *x, double *part, int rows, int width)
{
    column_parts([=](long long r, int c) { return (double)x[r * width + c]; }, part, rows, width);
}

extern "C" __global__ void means(const double *part, float *saved, int parts, int rows, int width)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < width)
        saved[c] = (float)(all_parts(part, parts, width, c) / rows);
}

extern "C" __global__ void squares(const float *x, const float *saved, double *part, int rows, int width)
{
    column_parts(
        [=](long long r, int c) {
            double v = (double)x[r * width + c] - (double)saved[c];
            return v * v;
        },
        part, rows, width);
}

extern "C" __global__ void finish(const double *part, float *saved, float *running, int parts, int rows,
                                  int width)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= width)
        return;
    double sum = all_parts(part, parts, width, c), unbiased = rows > 1 ? sum / (rows - 1) : 0;
    saved[width + c] = (float)(1 / sqrt(sum / rows + 1e-5));
    running[c] += (float)(0.1 * ((double)saved[c] - (double)running[c]));
    running[width + c] += (float)(0.1 * (unbiased - (double)running[width + c]));
}
