/* hone-plan
{ "launches": [
    { "kernel": "parts", "grid": ["cdiv(C, 32)", "min(kShares, cdiv(R, 256))"], "block": [32, "kRows"], "args": ["x", "part", "R", "C"] },
    { "kernel": "finish", "grid": ["cdiv(C, 256)"], "block": [256], "args": ["part", "sum", "min(kShares, cdiv(R, 256))", "C"] } ],
  "workspace": { "part": { "bytes": "8*C*min(kShares, cdiv(R, 256))", "init": "none" } } }
*/
constexpr int kRows = 32;    // hone: 4 8 16 32
constexpr int kShares = 32; // hone: 32 64 128 256

#include "../parts/columns.cuh"

extern "C" __global__ void parts(const float *x, double *part, int rows, int width)
{
    column_parts([=](long long r, int c) { return (double)x[r * width + c]; }, part, rows, width);
}

extern "C" __global__ void finish(const double *part, float *sum, int parts, int width)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < width)
        sum[c] = (float)all_parts(part, parts, width, c);
}
