/* hone-plan
{ "launches": [ { "kernel": "rmsnorm", "grid": ["R"], "block": [256],
                  "args": ["x", "w", "y", "C", "eps"] } ] }
*/
#include <cuda_fp16.h>
extern "C" __global__ void rmsnorm(const __half *x, const __half *w, __half *y, int cols, float eps)
{
    __shared__ float part[256];
    int t = threadIdx.x;
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;
    float sum = 0;
    bool pairs = (size_t)x % 4 == 0;
    for (int j = 2 * t; j + 1 < cols; j += 512) {
        float2 v = pairs ? __half22float2(*(const __half2 *)(x + j))
                         : make_float2(__half2float(x[j]), __half2float(x[j + 1]));
        sum += v.x * v.x + v.y * v.y;
    }
    if (cols % 2 && t == 0)
        sum += __half2float(x[cols - 1]) * __half2float(x[cols - 1]);
    part[t] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    float scale = rsqrtf(part[0] / cols + eps);
    for (int j = t; j < cols; j += 256)
        y[j] = __float2half(__half2float(x[j]) * scale * __half2float(w[j]));
}
