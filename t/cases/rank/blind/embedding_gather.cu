/* hone-plan
{ "launches": [ { "kernel": "gather", "grid": [@GRID@], "block": [@TX@, @TY@], "smem": "@SMEM@", "args": ["idx", "table", "y", "N", "D"] } ] }
*/
// @TX@ threads along a row, @TY@ rows per block, @VEC@ halfs at a time; the grid goes round the rows
// (x) and the columns (y). MODE 0: @UNROLL@ vectors of one row under way; 1: copied by way of shared
// memory with cp.async, @UNROLL@ vectors ahead; 2: y is one long vector and every vector's row is a
// division; 3: one vector of each of @UNROLL@ rows under way. LAYOUT 0: a row's vectors side by side;
// 1: a thread's own in a row. VIA: one thread loads the index for the block's row. SWAP: the columns
// are the grid's x.
#include <cuda_fp16.h>
#define TX @TX@
#define TY @TY@
#define VEC @VEC@
#define UNROLL @UNROLL@
#define MODE @MODE@
#define LAYOUT @LAYOUT@
#define VIA @VIA@
#define SWAP @SWAP@
#if VEC == 8
typedef uint4 raw;
#elif VEC == 4
typedef uint2 raw;
#elif VEC == 2
typedef unsigned raw;
#else
typedef unsigned short raw;
#endif

extern "C" __global__ void __launch_bounds__(TX *TY) gather(const int *idx, const __half *table, __half *y, int rows, int dim)
{
    const raw *in = (const raw *)table;
    raw *out = (raw *)y;
    int n = dim / VEC, tx = threadIdx.x, ty = threadIdx.y;
#if SWAP
    int bx = blockIdx.y, gx = gridDim.y, by = blockIdx.x, gy = gridDim.x;
#else
    int bx = blockIdx.x, gx = gridDim.x, by = blockIdx.y, gy = gridDim.y;
#endif
#if MODE == 0
    for (int first = bx * TY; first < rows; first += gx * TY) {
        int row = min(first + ty, rows - 1);
#if VIA
        __shared__ int where[TY];
        __syncthreads();
        if (tx == 0)
            where[ty] = idx[row];
        __syncthreads();
        const raw *from = in + (long long)where[ty] * n;
#else
        const raw *from = in + (long long)idx[row] * n;
#endif
        raw *to = out + (long long)row * n;
        bool mine = first + ty < rows;
        for (int c = by * TX * UNROLL; c < n; c += gy * TX * UNROLL) {
            raw v[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                int j = c + (LAYOUT ? tx * UNROLL + u : u * TX + tx);
                if (j < n)
                    v[u] = from[j];
            }
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                int j = c + (LAYOUT ? tx * UNROLL + u : u * TX + tx);
                if (j < n && mine)
                    to[j] = v[u];
            }
        }
    }
#elif MODE == 1
    __shared__ raw ring[UNROLL][TY][TX]; // a thread reads back only what it copied itself
    int tiles = (n + TX - 1) / TX, rounds = (rows - 1 - bx * TY) / (gx * TY) + 1;
    for (int t = 0; t < rounds * tiles + UNROLL - 1; t++) {
        int row = (bx + t / tiles * gx) * TY + ty, j = t % tiles * TX + tx;
        if (row < rows && j < n && t < rounds * tiles) {
            unsigned s = (unsigned)__cvta_generic_to_shared(&ring[t % UNROLL][ty][tx]);
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(s), "l"(in + (long long)idx[row] * n + j), "n"(2 * VEC) : "memory");
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        int done = t - (UNROLL - 1);
        if (done >= 0) {
            asm volatile("cp.async.wait_group %0;" ::"n"(UNROLL - 1) : "memory");
            row = (bx + done / tiles * gx) * TY + ty, j = done % tiles * TX + tx;
            if (row < rows && j < n)
                out[(long long)row * n + j] = ring[done % UNROLL][ty][tx];
        }
    }
#elif MODE == 2
    long long all = (long long)rows * n, step = (long long)gx * TX * UNROLL;
    for (long long first = (long long)bx * TX * UNROLL; first < all; first += step) {
        raw v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            long long i = first + u * TX + tx;
            if (i < all)
                v[u] = in[(long long)idx[i / n] * n + i % n];
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            long long i = first + u * TX + tx;
            if (i < all)
                out[i] = v[u];
        }
    }
#else
    for (int first = bx * TY * UNROLL; first < rows; first += gx * TY * UNROLL) {
        const raw *from[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            from[u] = in + (long long)idx[min(first + u * TY + ty, rows - 1)] * n;
        for (int j = by * TX + tx; j < n; j += gy * TX) {
            raw v[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                v[u] = from[u][j];
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                if (first + u * TY + ty < rows)
                    out[(long long)(first + u * TY + ty) * n + j] = v[u];
        }
    }
#endif
    (void)by, (void)gy, (void)ty;
}
