/* hone-plan
{ "launches": [
    { "kernel": "from_y", "grid": ["cdiv(R*C/4, kThreads*kAtOnce)"], "block": ["kThreads"], "args": ["y", "dy", "R*C/4", "LIMIT"],
      "when": "FROM_Y == 1 && SLOPE == 0 && R*C % 4 == 0 && min(alignof(y), alignof(dy)) >= 16" },
    { "kernel": "epilogue_grad", "grid": ["cdiv(R*cdiv(C, 8), kThreads)"], "block": ["kThreads"],
      "when": "!(FROM_Y == 1 && SLOPE == 0 && R*C % 4 == 0 && min(alignof(y), alignof(dy)) >= 16)",
      "args": ["node", "y", "dy", "R", "C", "SLOPE", "LIMIT", "SEED_LO", "SEED_HI", "STEP", "PLACE", "FROM_Y"] } ] }
*/
// A thread of from_y serves kAtOnce groups of four elements, a block's width apart, one of epilogue_grad up to
// eight elements of a row. After a ReLU the sign of y tells which elements were kept (FROM_Y = 1), so from_y needs
// no random words.
constexpr int kAtOnce = 1;    // hone: 1 2 4
constexpr int kThreads = 256; // hone: 128 256 512

#include "../parts/dropout.cuh"

extern "C" __global__ void from_y(const float4 *y, float4 *dy, long long groups, unsigned limit)
{
    long long first = (long long)blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
    float scale = 65536.f / (65536.f - (float)limit);
    float4 a[kAtOnce], v[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++)
        if (first + k * kThreads < groups) {
            a[k] = y[first + k * kThreads];
            v[k] = dy[first + k * kThreads];
        }
#pragma unroll
    for (int k = 0; k < kAtOnce; k++)
        if (first + k * kThreads < groups)
            dy[first + k * kThreads] =
                make_float4(a[k].x > 0 ? scale * v[k].x : 0.f, a[k].y > 0 ? scale * v[k].y : 0.f,
                            a[k].z > 0 ? scale * v[k].z : 0.f, a[k].w > 0 ? scale * v[k].w : 0.f);
}

extern "C" __global__ void epilogue_grad(const int *node, const float *y, float *dy, long long rows,
                                         int width, int slope_ppm, unsigned limit, unsigned seed_low,
                                         unsigned seed_high, unsigned step, unsigned place, int from_y)
{
    long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    int groups = (width + 7) / 8;
    long long r = t / groups;
    if (r >= rows)
        return;
    float slope = (float)(slope_ppm / 1e6);
    dropout drop(limit, place, step, seed_low, seed_high);
    for (int c = (int)(t % groups) * 8, end = min(c + 8, width); c < end; c++) {
        float v = dy[r * width + c];
        bool positive = y[r * width + c] > 0;
        if (limit && from_y)
            v = positive ? drop.scale() * v : 0.f;
        else if (limit)
            v = drop.keeps((unsigned long long)node[r] * width + c) ? drop.scale() * v : 0.f;
        if (!positive)
            v = slope_ppm ? slope * v : 0.f;
        dy[r * width + c] = v;
    }
}
