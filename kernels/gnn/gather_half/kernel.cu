/* hone-plan
{ "launches": [
    { "kernel": "gather8", "grid": ["cdiv(N*(D/8), kThreads*kAtOnce)"], "block": ["kThreads"], "args": ["node", "x", "y", "N", "D/8"],
      "when": "D % 8 == 0 && alignof(x) >= 16 && alignof(y) >= 16" },
    { "kernel": "gather1", "grid": ["cdiv(N*D, 256)"], "block": [256], "args": ["node", "x", "y", "N", "D"],
      "when": "!(D % 8 == 0 && alignof(x) >= 16 && alignof(y) >= 16)" } ] }
*/
// A thread of gather8 reads groups of 16 bytes and writes groups of 32. It has kAtOnce groups, a block's width
// apart, and loads all of them before it stores the first. gather1 serves other sizes and addresses, one element
// for each thread.
#include <cuda_fp16.h>

constexpr int kThreads = 256; // hone: 128 256 512
constexpr int kAtOnce = 1;    // hone: 1 2 4

extern "C" __global__ void gather8(const int *node, const uint4 *x, float4 *y, long long rows, int groups)
{
    long long first = (long long)blockIdx.x * (kThreads * kAtOnce) + threadIdx.x, n = rows * groups;
    uint4 v[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long t = first + k * kThreads;
        if (t < n)
            v[k] = x[(long long)node[t / groups] * groups + t % groups];
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long t = first + k * kThreads;
        if (t >= n)
            continue;
        const __half2 *h = reinterpret_cast<const __half2 *>(&v[k]);
        float2 a = __half22float2(h[0]), b = __half22float2(h[1]), c = __half22float2(h[2]),
               d = __half22float2(h[3]);
        y[2 * t] = make_float4(a.x, a.y, b.x, b.y);
        y[2 * t + 1] = make_float4(c.x, c.y, d.x, d.y);
    }
}

extern "C" __global__ void gather1(const int *node, const __half *x, float *y, long long rows, int dim)
{
    long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (t < rows * dim)
        y[t] = __half2float(x[(long long)node[t / dim] * dim + t % dim]);
}
