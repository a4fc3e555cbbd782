/* hone-plan
{ "launches": [ { "kernel": "gelu", "grid": ["@GRID@"], "block": [@BLOCK@], "smem": "@SMEM@", "args": ["x", "y", "N"] } ] }
*/
// @VEC@ floats at a time, @UNROLL@ times; MODE 0: a block's vectors side by side; 1: a thread's own
// in a row; 2: a fixed grid goes round. FN 0: tanhf; 1: through __expf.
#define BLOCK @BLOCK@
#define VEC @VEC@
#define UNROLL @UNROLL@
#define MODE @MODE@
#define FN @FN@
struct alignas(4 * VEC) vec { float v[VEC]; };

__device__ float gelu1(float x)
{
    float u = 0.7978845608028654f * (x + 0.044715f * x * x * x);
#if FN == 0
    return 0.5f * x * (1 + tanhf(u));
#else
    return x - x / (1 + __expf(2 * u));
#endif
}

extern "C" __global__ void __launch_bounds__(BLOCK) gelu(const float *x, float *y, long long n)
{
    const vec *in = (const vec *)x;
    vec *out = (vec *)y;
    long long nv = n / VEC, step = (long long)gridDim.x * BLOCK * UNROLL;
    long long first = (long long)blockIdx.x * BLOCK * UNROLL;
    for (; first < nv; first += step) {
        vec r[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            long long i = MODE == 1 ? first + threadIdx.x * UNROLL + u : first + u * BLOCK + threadIdx.x;
            if (i < nv)
                r[u] = in[i];
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            long long i = MODE == 1 ? first + threadIdx.x * UNROLL + u : first + u * BLOCK + threadIdx.x;
#pragma unroll
            for (int k = 0; k < VEC; k++)
                r[u].v[k] = gelu1(r[u].v[k]);
            if (i < nv)
                out[i] = r[u];
        }
    }
    if (blockIdx.x == 0 && threadIdx.x < n - nv * VEC)
        y[nv * VEC + threadIdx.x] = gelu1(x[nv * VEC + threadIdx.x]);
}
