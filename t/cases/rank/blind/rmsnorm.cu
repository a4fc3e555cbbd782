/* hone-plan
{ "launches": [ { "kernel": "rmsnorm", "grid": ["@GRID@"], "block": [@THREADS@, @ROWS@], "smem": "@SMEM@", "args": ["x", "w", "y", "R", "C"] } ] }
*/
// @THREADS@ threads per row, @ROWS@ rows per block, @VEC@ halfs at a time; the grid goes round.
// MODE 0: the row is read twice; 1: it stays in registers; 2: in shared memory, packed; 3: in shared
// memory as floats, a thread's own side by side; 4: in registers, the next row under way.
// LAYOUT 0: a warp's vectors side by side; 1: a thread's own in a row. TREE: sums by a tree in shared
// memory. EARLY: the weights are loaded before the sum is known. MINB: blocks an SM must hold.
// RESTRICT: the pointers are said not to overlap, so that loads may pass stores.
#include <cuda_fp16.h>
#define THREADS @THREADS@
#define ROWS @ROWS@
#define VEC @VEC@
#define MODE @MODE@
#define LAYOUT @LAYOUT@
#define TREE @TREE@
#define EARLY @EARLY@
#define MINB @MINB@
#define COLS @COLS@
#if @RESTRICT@
#define ALONE __restrict__
#else
#define ALONE
#endif
#define PER (COLS / VEC / THREADS)
#if VEC == 8
typedef uint4 raw;
#elif VEC == 4
typedef uint2 raw;
#elif VEC == 2
typedef unsigned raw;
#else
typedef unsigned short raw;
#endif

__device__ int at(int i)
{
    return LAYOUT ? (int)threadIdx.x * PER + i : i * THREADS + (int)threadIdx.x;
}

__device__ float get(const raw &r, int k)
{
    return __half2float(((const __half *)&r)[k]);
}

__device__ float squares(raw r)
{
    float sum = 0;
#pragma unroll
    for (int k = 0; k < VEC; k++)
        sum += get(r, k) * get(r, k);
    return sum;
}

__device__ raw scaled(raw r, raw w, float scale)
{
    raw o;
#pragma unroll
    for (int k = 0; k < VEC; k++)
        ((__half *)&o)[k] = __float2half(get(r, k) * scale * get(w, k));
    return o;
}

__device__ float row_sum(float v, float *part)
{
#if TREE
    part[threadIdx.x] = v;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if ((int)threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    v = part[0];
    __syncthreads();
    return v;
#else
#pragma unroll
    for (int o = 16; o; o /= 2)
        v += __shfl_xor_sync(~0u, v, o);
    if (THREADS == 32)
        return v;
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
#pragma unroll
    for (int k = 0; k < THREADS / 32; k++)
        v += part[k];
    __syncthreads();
    return v;
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS *ROWS, MINB) rmsnorm(const __half *ALONE x, const __half *ALONE w, __half *ALONE y, int rows, int cols)
{
    __shared__ float parts[ROWS][TREE ? THREADS : 32];
#if MODE == 2
    __shared__ raw kept[ROWS][COLS / VEC];
#elif MODE == 3
    __shared__ float kept[ROWS][COLS];
#endif
    float *part = parts[threadIdx.y];
    const raw *weight = (const raw *)w;
#if MODE == 4
    raw next[PER];
#pragma unroll
    for (int i = 0; i < PER; i++)
        next[i] = ((const raw *)(x + (long long)min((int)(blockIdx.x * ROWS + threadIdx.y), rows - 1) * COLS))[at(i)];
#endif
    for (int first = blockIdx.x * ROWS; first < rows; first += gridDim.x * ROWS) {
        int row = min(first + (int)threadIdx.y, rows - 1);
        bool mine = first + (int)threadIdx.y < rows;
        const raw *in = (const raw *)(x + (long long)row * COLS);
        raw *out = (raw *)(y + (long long)row * COLS);
        float sum = 0;
#if EARLY
        raw held[PER];
#pragma unroll
        for (int i = 0; i < PER; i++)
            held[i] = weight[at(i)];
#endif
#if MODE == 1 || MODE == 4
        raw r[PER];
#pragma unroll
        for (int i = 0; i < PER; i++)
#if MODE == 4
            r[i] = next[i];
        int after = min(first + (int)(gridDim.x * ROWS + threadIdx.y), rows - 1);
#pragma unroll
        for (int i = 0; i < PER; i++)
            next[i] = ((const raw *)(x + (long long)after * COLS))[at(i)];
#else
            r[i] = in[at(i)];
#endif
#pragma unroll
        for (int i = 0; i < PER; i++)
            sum += squares(r[i]);
#else
#pragma unroll 4
        for (int i = 0; i < PER; i++) {
            raw v = in[at(i)];
#if MODE == 2
            kept[threadIdx.y][at(i)] = v;
#elif MODE == 3
#pragma unroll
            for (int k = 0; k < VEC; k++)
                kept[threadIdx.y][at(i) * VEC + k] = get(v, k);
#endif
            sum += squares(v);
        }
#endif
        float scale = rsqrtf(row_sum(sum, part) / COLS + 1e-6f);
#if MODE == 1 || MODE == 4
#pragma unroll
#else
#pragma unroll 4
#endif
        for (int i = 0; i < PER; i++) {
#if EARLY
            raw g = held[i];
#else
            raw g = weight[at(i)];
#endif
#if MODE == 3
            raw o;
#pragma unroll
            for (int k = 0; k < VEC; k++)
                ((__half *)&o)[k] = __float2half(kept[threadIdx.y][at(i) * VEC + k] * scale * get(g, k));
#elif MODE == 2
            raw o = scaled(kept[threadIdx.y][at(i)], g, scale);
#elif MODE == 0
            raw o = scaled(in[at(i)], g, scale);
#else
            raw o = scaled(r[i], g, scale);
#endif
            if (mine)
                out[at(i)] = o;
        }
    }
    (void)cols;
}
