/* hone-plan
{ "launches": [ { "kernel": "rms", "grid": ["R"], "block": [128], "args": ["x", "w", "y", "C", "eps"] } ] }
*/
/* Reads vectors of 8 if the first address of a row is aligned, whenever C is a multiple of 4. */
#include <cuda_fp16.h>
extern "C" __global__ void rms(const __half *x, const __half *w, __half *y, int C, float eps)
{
    __shared__ float part[4];
    x += (size_t)blockIdx.x * C;
    y += (size_t)blockIdx.x * C;
    int t = threadIdx.x;
    float s = 0;
    if (C % 4 == 0 && (size_t)x % 16 == 0) {
        for (int k = t; k < C / 8; k += 128) {
            uint4 v = ((const uint4 *)x)[k];
            const __half *h = (const __half *)&v;
            for (int j = 0; j < 8; j++)
                s += __half2float(h[j]) * __half2float(h[j]);
        }
    } else {
        for (int k = t; k < C; k += 128)
            s += __half2float(x[k]) * __half2float(x[k]);
    }
    for (int d = 16; d; d /= 2)
        s += __shfl_xor_sync(~0u, s, d);
    if (t % 32 == 0)
        part[t / 32] = s;
    __syncthreads();
    float r = rsqrtf((part[0] + part[1] + part[2] + part[3]) / C + eps);
    for (int k = t; k < C; k += 128)
        y[k] = __float2half(__half2float(x[k]) * r * __half2float(w[k]));
}
