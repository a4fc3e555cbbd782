/* hone-plan
{ "launches": [ { "kernel": "silu_and_mul", "grid": [@GRID@], "block": [@BLOCK@], "smem": "@SMEM@", "args": ["x", "y", "B", "D"] } ] }
*/
// @VEC@ halfs at a time, @UNROLL@ vectors of each half of the row under way. MODE 0: y is one long
// vector and every vector's row is a division; 1: a row of the grid is a row of y; 2: likewise, and
// both halves go through shared memory by cp.async, @UNROLL@ tiles ahead; 3: through shared memory
// @PAD@ vectors apart. LAYOUT 0: a block's vectors side by side; 1: a thread's own in a row. WIDE:
// 64-bit division. FN 0: expf and a true division; 1: __expf and __fdividef.
#include <cuda_fp16.h>
#define BLOCK @BLOCK@
#define VEC @VEC@
#define UNROLL @UNROLL@
#define MODE @MODE@
#define LAYOUT @LAYOUT@
#define WIDE @WIDE@
#define FN @FN@
#define PAD @PAD@
#define MINB @MINB@
#if VEC == 8
typedef uint4 raw;
#elif VEC == 4
typedef uint2 raw;
#elif VEC == 2
typedef unsigned raw;
#else
typedef unsigned short raw;
#endif

__device__ raw gated(raw a, raw b)
{
    raw o;
#pragma unroll
    for (int k = 0; k < VEC; k++) {
        float g = __half2float(((const __half *)&a)[k]), u = __half2float(((const __half *)&b)[k]);
#if FN == 0
        g = g / (1.f + expf(-g));
#else
        g = __fdividef(g, 1.f + __expf(-g));
#endif
        ((__half *)&o)[k] = __float2half(g * u);
    }
    return o;
}

__device__ int at(int u)
{
    return LAYOUT ? (int)threadIdx.x * UNROLL + u : u * BLOCK + (int)threadIdx.x;
}

extern "C" __global__ void __launch_bounds__(BLOCK, MINB) silu_and_mul(const __half *x, __half *y, int rows, int dim)
{
    const raw *in = (const raw *)x;
    raw *out = (raw *)y;
    int n = dim / VEC;
#if MODE == 0
#if WIDE
    typedef long long index;
#else
    typedef int index;
#endif
    index all = (index)rows * n, step = (index)gridDim.x * BLOCK * UNROLL;
    for (index first = (index)blockIdx.x * BLOCK * UNROLL; first < all; first += step) {
        raw a[UNROLL], b[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            index i = first + at(u), row = i / n;
            if (i < all) {
                a[u] = in[i + row * n];
                b[u] = in[i + row * n + n];
            }
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (first + at(u) < all)
                out[first + at(u)] = gated(a[u], b[u]);
    }
#elif MODE == 1
    for (int row = blockIdx.y; row < rows; row += gridDim.y) {
        const raw *gate = in + (long long)row * 2 * n, *up = gate + n;
        raw *to = out + (long long)row * n;
        for (int first = blockIdx.x * BLOCK * UNROLL; first < n; first += gridDim.x * BLOCK * UNROLL) {
            raw a[UNROLL], b[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                if (first + at(u) < n) {
                    a[u] = gate[first + at(u)];
                    b[u] = up[first + at(u)];
                }
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                if (first + at(u) < n)
                    to[first + at(u)] = gated(a[u], b[u]);
        }
    }
#elif MODE == 2
    __shared__ raw tile[UNROLL][2][BLOCK]; // a thread reads back only what it copied itself
    for (int row = blockIdx.y; row < rows; row += gridDim.y) {
        const raw *gate = in + (long long)row * 2 * n, *up = gate + n;
        raw *to = out + (long long)row * n;
        int tiles = (n + BLOCK - 1) / BLOCK;
        for (int t = 0; t < tiles + UNROLL - 1; t++) {
            int j = t * BLOCK + threadIdx.x;
            if (j < n) {
                unsigned s = (unsigned)__cvta_generic_to_shared(&tile[t % UNROLL][0][threadIdx.x]);
                asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(s), "l"(gate + j), "n"(2 * VEC) : "memory");
                asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(s + 2 * VEC * BLOCK), "l"(up + j), "n"(2 * VEC) : "memory");
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
            int done = t - (UNROLL - 1);
            j = done * BLOCK + threadIdx.x;
            if (done >= 0) {
                asm volatile("cp.async.wait_group %0;" ::"n"(UNROLL - 1) : "memory");
                if (j < n)
                    to[j] = gated(tile[done % UNROLL][0][threadIdx.x], tile[done % UNROLL][1][threadIdx.x]);
            }
        }
        asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
#else
    __shared__ raw a[BLOCK * PAD], b[BLOCK * PAD];
    for (int row = blockIdx.y; row < rows; row += gridDim.y) {
        const raw *gate = in + (long long)row * 2 * n, *up = gate + n;
        raw *to = out + (long long)row * n;
        for (int first = blockIdx.x * BLOCK; first < n; first += gridDim.x * BLOCK) {
            int t = threadIdx.x, j = first + t, last = min(first + BLOCK, n) - 1;
            if (j < n) {
                a[t * PAD] = gate[j];
                b[t * PAD] = up[j];
            }
            __syncthreads();
            if (j < n) // the block's vectors from its end: another thread's
                to[first + last - j] = gated(a[(last - j) * PAD], b[(last - j) * PAD]);
            __syncthreads();
        }
    }
#endif
    (void)at;
}
