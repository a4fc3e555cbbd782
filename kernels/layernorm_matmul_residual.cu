/* hone-plan
{ "launches": [ { "kernel": "normalise", "grid": ["M"], "block": [256],
                  "args": ["x", "g", "b", "z", "K", "eps"] },
                { "kernel": "matmul", "grid": ["cdiv(N, 16)", "cdiv(M, 16)"], "block": [16, 16],
                  "args": ["z", "W", "r", "y", "M", "N", "K"] } ],
  "workspace": { "z": { "bytes": "2*M*K", "init": "none" } } }
*/
// Two launches with the normalised x between them in bfloat16: a block per row for the layer norm
// (mean, then variance around it, then the output), and a tiled product whose epilogue adds the
// residual in fp32.
#include <cuda_bf16.h>

#define T 16

__device__ float block_sum(float v, float *part)
{
    part[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    float r = part[0];
    __syncthreads(); // part is used again
    return r;
}

extern "C" __global__ void normalise(const __nv_bfloat16 *x, const __nv_bfloat16 *g,
                                     const __nv_bfloat16 *b, __nv_bfloat16 *z, int K, float eps)
{
    __shared__ float part[256];
    x += (long long)blockIdx.x * K;
    z += (long long)blockIdx.x * K;

    float sum = 0;
    for (int k = threadIdx.x; k < K; k += blockDim.x)
        sum += __bfloat162float(x[k]);
    float mean = block_sum(sum, part) / K;

    float sq = 0;
    for (int k = threadIdx.x; k < K; k += blockDim.x) {
        float d = __bfloat162float(x[k]) - mean;
        sq += d * d;
    }
    float rstd = rsqrtf(block_sum(sq, part) / K + eps);

    for (int k = threadIdx.x; k < K; k += blockDim.x)
        z[k] = __float2bfloat16((__bfloat162float(x[k]) - mean) * rstd * __bfloat162float(g[k]) +
                                __bfloat162float(b[k]));
}

extern "C" __global__ void matmul(const __nv_bfloat16 *z, const __nv_bfloat16 *W,
                                  const __nv_bfloat16 *r, __nv_bfloat16 *y, int M, int N, int K)
{
    __shared__ float a[T][T + 1], b[T][T + 1]; // + 1: a column then spreads over all banks
    int tx = threadIdx.x, ty = threadIdx.y;
    int m = blockIdx.y * T + ty, n = blockIdx.x * T + tx;
    int nb = blockIdx.x * T + ty; // the row of W this thread loads
    float sum = 0;

    for (int k0 = 0; k0 < K; k0 += T) {
        int k = k0 + tx;
        a[ty][tx] = m < M && k < K ? __bfloat162float(z[(long long)m * K + k]) : 0.f;
        b[ty][tx] = nb < N && k < K ? __bfloat162float(W[(long long)nb * K + k]) : 0.f;
        __syncthreads();
        for (int i = 0; i < T; i++)
            sum += a[ty][i] * b[tx][i];
        __syncthreads();
    }
    if (m < M && n < N) {
        long long i = (long long)m * N + n;
        y[i] = __float2bfloat16(sum + __bfloat162float(r[i]));
    }
}
