/* hone-plan
{ "launches": [ { "kernel": "hidden", "grid": ["cdiv(F, 16)", "cdiv(N, 16)"], "block": [16, 16],
                  "args": ["x", "wg", "wu", "h", "N", "F", "D"] },
                { "kernel": "down", "grid": ["cdiv(D, 16)", "cdiv(N, 16)"], "block": [16, 16],
                  "args": ["h", "wd", "y", "N", "D", "F"] } ],
  "workspace": { "h": { "bytes": "2*N*F", "init": "none" } } }
*/
// Two tiled products. `hidden` multiplies x with both gate and up weights in one walk along D (the
// tile of x is loaded once for the two), applies silu(gate) * up in fp32 and rounds h to bfloat16;
// `down` multiplies h with wd. In both a 16x16 block makes a 16x16 tile, one element per thread.
#include <cuda_bf16.h>

#define T 16

// Loads rows of a matrix with `inner` columns into a tile, with zeros outside.
__device__ void load_tile(float tile[T][T + 1], const __nv_bfloat16 *src, int row, int rows,
                          int col, int inner)
{
    tile[threadIdx.y][threadIdx.x] =
        row < rows && col < inner ? __bfloat162float(src[(long long)row * inner + col]) : 0.f;
}

extern "C" __global__ void hidden(const __nv_bfloat16 *x, const __nv_bfloat16 *wg,
                                  const __nv_bfloat16 *wu, __nv_bfloat16 *h, int N, int F, int D)
{
    __shared__ float a[T][T + 1], g[T][T + 1], u[T][T + 1];
    int tx = threadIdx.x, ty = threadIdx.y, n0 = blockIdx.y * T, f0 = blockIdx.x * T;
    float gate = 0, up = 0;
    for (int d = 0; d < D; d += T) {
        load_tile(a, x, n0 + ty, N, d + tx, D);
        load_tile(g, wg, f0 + ty, F, d + tx, D);
        load_tile(u, wu, f0 + ty, F, d + tx, D);
        __syncthreads();
        for (int i = 0; i < T; i++) {
            gate += a[ty][i] * g[tx][i];
            up += a[ty][i] * u[tx][i];
        }
        __syncthreads();
    }
    if (n0 + ty < N && f0 + tx < F)
        h[(long long)(n0 + ty) * F + f0 + tx] =
            __float2bfloat16(gate / (1.f + expf(-gate)) * up);
}

extern "C" __global__ void down(const __nv_bfloat16 *h, const __nv_bfloat16 *wd, __nv_bfloat16 *y,
                                int N, int D, int F)
{
    __shared__ float a[T][T + 1], b[T][T + 1];
    int tx = threadIdx.x, ty = threadIdx.y, n0 = blockIdx.y * T, d0 = blockIdx.x * T;
    float sum = 0;
    for (int f = 0; f < F; f += T) {
        load_tile(a, h, n0 + ty, N, f + tx, F);
        load_tile(b, wd, d0 + ty, D, f + tx, F);
        __syncthreads();
        for (int i = 0; i < T; i++)
            sum += a[ty][i] * b[tx][i];
        __syncthreads();
    }
    if (n0 + ty < N && d0 + tx < D)
        y[(long long)(n0 + ty) * D + d0 + tx] = __float2bfloat16(sum);
}
