/* hone-plan
{ "launches": [ { "kernel": "conv", "grid": ["cdiv(N*H*W, 16)", "cdiv(K, 16)"], "block": [16, 16],
                  "args": ["x", "w", "scale", "shift", "y", "N", "H", "W", "C", "K"] } ] }
*/
// The convolution as a matrix product: rows are output pixels, columns output channels, and the
// inner dimension runs over the nine taps and the C input channels. A 16x16 block makes 16 pixels
// by 16 channels, one element per thread. For each tap it walks along C in steps of 16, loading the
// shifted pixels (zeros outside the image) and the weights into shared memory. Scale, shift and
// relu are applied to the fp32 sum.
#include <cuda_fp16.h>

#define T 16

extern "C" __global__ void conv(const __half *x, const __half *w, const __half *scale,
                                const __half *shift, __half *y, int N, int H, int W, int C,
                                int K)
{
    long long pixels = (long long)N * H * W;
    __shared__ float a[T][T + 1], b[T][T + 1]; // + 1: a column then spreads over all banks
    int tx = threadIdx.x, ty = threadIdx.y;
    long long pixel = (long long)blockIdx.x * T + ty; // loaded and computed by this thread
    int h = pixel / W % H, v = pixel % W;
    int k = blockIdx.y * T + tx, kb = blockIdx.y * T + ty; // this thread computes k, loads kb
    float sum = 0;

    for (int tap = 0; tap < 9; tap++) {
        int dy = tap / 3 - 1, dx = tap % 3 - 1;
        bool inside = pixel < pixels && h + dy >= 0 && h + dy < H && v + dx >= 0 && v + dx < W;
        const __half *xp = x + (pixel + dy * W + dx) * C;
        const __half *wp = w + ((long long)kb * 9 + tap) * C;
        for (int c0 = 0; c0 < C; c0 += T) {
            int c = c0 + tx;
            a[ty][tx] = inside && c < C ? __half2float(xp[c]) : 0.f;
            b[ty][tx] = kb < K && c < C ? __half2float(wp[c]) : 0.f;
            __syncthreads();
            for (int i = 0; i < T; i++)
                sum += a[ty][i] * b[tx][i];
            __syncthreads();
        }
    }
    if (pixel < pixels && k < K)
        y[pixel * K + k] = __float2half(
            fmaxf(sum * __half2float(scale[k]) + __half2float(shift[k]), 0.f));
}
