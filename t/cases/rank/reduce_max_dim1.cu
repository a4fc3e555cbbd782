/* hone-plan
{ "launches": [ { "kernel": "reduce_max", "grid": ["cdiv(C, @TX@*@VEC@)", "A"], "block": [@TX@, @TY@], "smem": "@SMEM@", "args": ["x", "y", "R", "C"] } ] }
*/
// @TX@ threads across, @VEC@ columns each; @TY@ down, which share the rows; @UNROLL@ rows at a time.
#define TX @TX@
#define TY @TY@
#define VEC @VEC@
#define UNROLL @UNROLL@
struct alignas(4 * VEC) vec { float v[VEC]; };

extern "C" __global__ void __launch_bounds__(TX *TY) reduce_max(const float *x, float *y, int rows, int cols)
{
    __shared__ vec part[TY][TX];
    int c = blockIdx.x * TX + threadIdx.x, n = cols / VEC;
    const vec *in = (const vec *)(x + (long long)blockIdx.y * rows * cols);
    vec best;
#pragma unroll
    for (int k = 0; k < VEC; k++)
        best.v[k] = -__int_as_float(0x7f800000);
    if (c < n) {
        for (int r = threadIdx.y * UNROLL; r < rows; r += TY * UNROLL) {
            vec v[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                v[u] = in[(long long)min(r + u, rows - 1) * n + c];
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
#pragma unroll
                for (int k = 0; k < VEC; k++)
                    best.v[k] = fmaxf(best.v[k], v[u].v[k]);
        }
    }
    part[threadIdx.y][threadIdx.x] = best;
    __syncthreads();
    if (threadIdx.y == 0 && c < n) {
        for (int t = 1; t < TY; t++)
#pragma unroll
            for (int k = 0; k < VEC; k++)
                best.v[k] = fmaxf(best.v[k], part[t][threadIdx.x].v[k]);
        ((vec *)(y + (long long)blockIdx.y * cols))[c] = best;
    }
}
