/* hone-plan
{ "launches": [
    { "kernel": "parts", "grid": ["cdiv(H*D, 32)", "min(kShares, cdiv(R, 256))"], "block": [32, "kRows"],
      "args": ["dscore", "z", "part", "R", "H", "D"] },
    { "kernel": "finish", "grid": ["cdiv(H*D, 256)"], "block": [256], "args": ["part", "da", "min(kShares, cdiv(R, 256))", "H*D"] } ],
  "workspace": { "part": { "bytes": "8*H*D*min(kShares, cdiv(R, 256))", "init": "none" } } }
*/
constexpr int kRows = 16;    // hone: 4 8 16 32
constexpr int kShares = 64; // hone: 32 64 128 256

#include "../parts/columns.cuh"

extern "C" __global__ void parts(const float *dscore, const float *z, double *part, int rows, int heads, int dim)
{
    int width = heads * dim;
    column_parts(
        [=](long long r, int c) {
            return (double)dscore[r * heads + c / dim] * (double)z[r * width + c];
        },
        part, rows, width);
}

extern "C" __global__ void finish(const double *part, float *da, int parts, int width)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < width)
        da[c] = (float)all_parts(part, parts, width, c);
}
