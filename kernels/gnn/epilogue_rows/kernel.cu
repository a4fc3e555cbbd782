/* hone-plan
{ "launches": [ { "kernel": "epilogue", "grid": ["cdiv(R*cdiv(C, 8), kThreads)"], "block": ["kThreads"],
    "args": ["bias", "node", "y", "R", "C", "BIAS", "SLOPE", "LIMIT", "SEED_LO", "SEED_HI", "STEP",
             "PLACE"] } ] }
*/
// A thread serves up to eight elements of a row, which share at most two blocks of random words.
constexpr int kThreads = 256; // hone: 128 256 512

#include "../parts/dropout.cuh"

extern "C" __global__ void epilogue(const float *bias, const int *node, float *y, long long rows, int width,
                                    int has_bias, int slope_ppm, unsigned limit, unsigned seed_low,
                                    unsigned seed_high, unsigned step, unsigned place)
{
    long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    int groups = (width + 7) / 8;
    long long r = t / groups;
    if (r >= rows)
        return;
    float slope = (float)(slope_ppm / 1e6);
    dropout drop(limit, place, step, seed_low, seed_high);
    for (int c = (int)(t % groups) * 8, end = min(c + 8, width); c < end; c++) {
        float v = y[r * width + c];
        if (has_bias)
            v += bias[c];
        if (v < 0)
            v = slope_ppm ? slope * v : 0.f;
        if (limit)
            v = drop.keeps((unsigned long long)node[r] * width + c) ? drop.scale() * v : 0.f;
        y[r * width + c] = v;
    }
}
