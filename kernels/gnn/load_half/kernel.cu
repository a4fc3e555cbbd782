/* hone-plan
{ "launches": [
    { "kernel": "load8", "grid": ["cdiv(N/8, 256)"], "block": [256], "args": ["x", "y", "N/8"],
      "when": "N % 8 == 0 && alignof(x) >= 16 && alignof(y) >= 16" },
    { "kernel": "load1", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["x", "y", "N"],
      "when": "!(N % 8 == 0 && alignof(x) >= 16 && alignof(y) >= 16)" } ] }
*/
// Halves to floats. A thread of load8 reads 16 bytes and writes 32; load1 serves other sizes and
// addresses, one element for each thread.
#include <cuda_fp16.h>

extern "C" __global__ void load8(const uint4 *x, float4 *y, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint4 v = x[i];
    const __half2 *h = reinterpret_cast<const __half2 *>(&v);
    float2 a = __half22float2(h[0]), b = __half22float2(h[1]), c = __half22float2(h[2]),
           d = __half22float2(h[3]);
    y[2 * i] = make_float4(a.x, a.y, b.x, b.y);
    y[2 * i + 1] = make_float4(c.x, c.y, d.x, d.y);
}

extern "C" __global__ void load1(const __half *x, float *y, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __half2float(x[i]);
}
