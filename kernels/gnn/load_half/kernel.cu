/* hone-plan
{ "launches": [
    { "kernel": "load4", "grid": ["cdiv(N/4, kThreads*kAtOnce)"], "block": ["kThreads"], "args": ["x", "y", "N/4"],
      "when": "N % 4 == 0 && alignof(x) >= 8 && alignof(y) >= 16" },
    { "kernel": "load1", "grid": ["cdiv(N, kThreads*kAtOnce)"], "block": ["kThreads"], "args": ["x", "y", "N"],
      "when": "!(N % 4 == 0 && alignof(x) >= 8 && alignof(y) >= 16)" } ] }
*/
// Halves to floats. load4 reads groups of 8 bytes and writes groups of 16, so that the groups of a warp lie
// side by side in both arrays. A thread has kAtOnce groups, a block's width apart, and loads all of them
// before it stores the first. load1 serves other sizes and addresses, element by element.
#include <cuda_fp16.h>

constexpr int kThreads = 256; // hone: 128 256 512
constexpr int kAtOnce = 4;    // hone: 2 4 8

__device__ __forceinline__ float to_float(__half v)
{
    return __half2float(v);
}

__device__ __forceinline__ float4 to_float(uint2 v)
{
    const __half2 *h = reinterpret_cast<const __half2 *>(&v);
    float2 a = __half22float2(h[0]), b = __half22float2(h[1]);
    return make_float4(a.x, a.y, b.x, b.y);
}

// S: some halves. T: as many floats.
template <class S, class T>
__device__ __forceinline__ void load(const S *__restrict__ x, T *__restrict__ y, long long n)
{
    long long first = (long long)blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
    S v[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++)
        if (first + k * kThreads < n)
            v[k] = x[first + k * kThreads];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++)
        if (first + k * kThreads < n)
            y[first + k * kThreads] = to_float(v[k]);
}

extern "C" __global__ void load4(const uint2 *x, float4 *y, long long n)
{
    load(x, y, n);
}

extern "C" __global__ void load1(const __half *x, float *y, long long n)
{
    load(x, y, n);
}
