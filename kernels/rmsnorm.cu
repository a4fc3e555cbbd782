/* hone-plan
{ "launches": [ { "kernel": "rmsnorm", "grid": ["R"], "block": [256],
                  "args": ["x", "w", "y", "C", "eps"] } ] }
*/
// One block per row, two passes over it: the sum of squares in fp32 (squares overflow half), then
// the scaled output. 256 threads stride over the row; a shared-memory tree joins their sums.
#include <cuda_fp16.h>

__device__ float block_sum(float v, float *part)
{
    part[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    return part[0];
}

extern "C" __global__ void rmsnorm(const __half *x, const __half *w, __half *y, int cols, float eps)
{
    __shared__ float part[256];
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;

    float sq = 0;
    for (int j = threadIdx.x; j < cols; j += blockDim.x) {
        float v = __half2float(x[j]);
        sq += v * v;
    }
    float scale = rsqrtf(block_sum(sq, part) / cols + eps);

    for (int j = threadIdx.x; j < cols; j += blockDim.x)
        y[j] = __float2half(__half2float(x[j]) * scale * __half2float(w[j]));
}
