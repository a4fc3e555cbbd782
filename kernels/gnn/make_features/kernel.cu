/* hone-plan
{ "launches": [
    { "kernel": "features8", "grid": ["cdiv(V*(D/8), 256)"], "block": [256], "args": ["mean", "x", "V", "D", "R", "C", "SEED"],
      "when": "D % 8 == 0 && alignof(x) >= 16" },
    { "kernel": "features1", "grid": ["cdiv(V*D, 256)"], "block": [256], "args": ["mean", "x", "V", "D", "R", "C", "SEED"],
      "when": "!(D % 8 == 0 && alignof(x) >= 16)" } ] }
*/
// A thread of features8 makes the eight features that share a block of random words. The functions are
// those of src/gnn/data/papers_core.h.
#include <cuda_fp16.h>

__device__ __forceinline__ unsigned mix(unsigned x)
{
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

#include "../parts/philox.cuh"

__device__ __forceinline__ unsigned label_of(unsigned v, unsigned communities, unsigned classes, unsigned key)
{
    unsigned own = mix(key ^ mix(v));
    return ((own % 4 ? mix(key + v % communities) : own) >> 8) % classes;
}

// A feature, from the mean of its class and the half word that has its noise.
__device__ __forceinline__ __half feature(__half mean, unsigned half)
{
    int noise = (int)(half & 255) - (int)(half >> 8 & 255);
    return __float2half(__half2float(mean) + (float)noise / 128.f);
}

extern "C" __global__ void features8(const __half *mean, uint4 *x, long long nodes, int dim,
                                     unsigned communities, unsigned classes, unsigned seed)
{
    long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    int groups = dim / 8;
    if (t >= nodes * groups)
        return;
    unsigned v = (unsigned)(t / groups), group = (unsigned)(t % groups), key = mix(mix(seed ^ 0x70617065u) - 1);
    unsigned label = label_of(v, communities, classes, key);
    words b = philox(v, group, 0, 0x66656174u, key, seed);
    union {
        __half h[8];
        uint4 v;
    } out;
#pragma unroll
    for (int d = 0; d < 8; d++)
        out.h[d] = feature(mean[(long long)label * dim + group * 8 + d], b.w[d / 2] >> (d % 2 * 16));
    x[t] = out.v;
}

extern "C" __global__ void features1(const __half *mean, __half *x, long long nodes, int dim,
                                     unsigned communities, unsigned classes, unsigned seed)
{
    long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= nodes * dim)
        return;
    unsigned v = (unsigned)(t / dim), d = (unsigned)(t % dim), key = mix(mix(seed ^ 0x70617065u) - 1);
    words b = philox(v, d / 8, 0, 0x66656174u, key, seed);
    unsigned w = d % 8 < 4 ? (d % 8 < 2 ? b.w[0] : b.w[1]) : (d % 8 < 6 ? b.w[2] : b.w[3]);
    unsigned label = label_of(v, communities, classes, key);
    x[t] = feature(mean[(long long)label * dim + d], w >> (d % 2 * 16));
}
