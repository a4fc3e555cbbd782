/* hone-plan
{ "launches": [ { "kernel": "layernorm", "grid": ["@GRID@"], "block": [@THREADS@, @ROWS@], "smem": "@SMEM@", "args": ["x", "w", "b", "y", "R", "C"] } ] }
*/
// @THREADS@ threads per row, @ROWS@ rows per block and @NR@ per thread, @VEC@ floats at a time; the
// grid goes round. MODE 0: three passes over memory; 1: two, the sum and the squares together; 2: the
// row stays in registers, the squares around the mean; 3: likewise in shared memory; 4: in registers,
// both sums together. LAYOUT 0: a warp's vectors side by side; 1: a thread's own in a row. HOLD: w and
// b stay in registers. UNROLL of the loops of modes 0, 1 and 3. MINB: blocks an SM must hold.
// RESTRICT: the pointers are said not to overlap, so that loads may pass stores.
#define THREADS @THREADS@
#define ROWS @ROWS@
#define NR @NR@
#define VEC @VEC@
#define MODE @MODE@
#define LAYOUT @LAYOUT@
#define HOLD @HOLD@
#define UNROLL @UNROLL@
#define MINB @MINB@
#define COLS @COLS@
#if @RESTRICT@
#define ALONE __restrict__
#else
#define ALONE
#endif
#define PER (COLS / VEC / THREADS)
#define IN_REGISTERS (MODE == 2 || MODE == 4)
struct alignas(4 * VEC) vec { float v[VEC]; };

__device__ int at(int i)
{
    return LAYOUT ? (int)threadIdx.x * PER + i : i * THREADS + (int)threadIdx.x;
}

// Q sums over the threads of a row at once
template <int Q> __device__ void row_sum(float (&v)[Q], float (*part)[2 * NR])
{
#pragma unroll
    for (int o = 16; o; o /= 2)
#pragma unroll
        for (int q = 0; q < Q; q++)
            v[q] += __shfl_xor_sync(~0u, v[q], o);
    if (THREADS == 32)
        return;
    if (threadIdx.x % 32 == 0)
#pragma unroll
        for (int q = 0; q < Q; q++)
            part[threadIdx.x / 32][q] = v[q];
    __syncthreads();
#pragma unroll
    for (int q = 0; q < Q; q++) {
        v[q] = 0;
#pragma unroll
        for (int k = 0; k < THREADS / 32; k++)
            v[q] += part[k][q];
    }
    __syncthreads();
}

__device__ vec norm(const vec &x, const vec &w, const vec &b, float mean, float rstd)
{
    vec o;
#pragma unroll
    for (int k = 0; k < VEC; k++)
        o.v[k] = (x.v[k] - mean) * rstd * w.v[k] + b.v[k];
    return o;
}

extern "C" __global__ void __launch_bounds__(THREADS *ROWS, MINB) layernorm(const float *ALONE x, const float *ALONE w, const float *ALONE b, float *ALONE y, int rows, int cols)
{
    __shared__ float parts[ROWS][32][2 * NR];
#if MODE == 3
    __shared__ vec kept[ROWS * NR][COLS / VEC];
#endif
    float(*part)[2 * NR] = parts[threadIdx.y];
    const vec *wv = (const vec *)w, *bv = (const vec *)b;
#if HOLD
    vec hw[PER], hb[PER];
#pragma unroll
    for (int i = 0; i < PER; i++) {
        hw[i] = wv[at(i)];
        hb[i] = bv[at(i)];
    }
#endif
    for (int first = blockIdx.x * ROWS * NR; first < rows; first += gridDim.x * ROWS * NR) {
        const vec *in[NR];
        vec *out[NR];
        float mean[NR], rstd[NR];
#pragma unroll
        for (int q = 0; q < NR; q++) {
            int row = min(first + (int)threadIdx.y * NR + q, rows - 1);
            in[q] = (const vec *)(x + (long long)row * COLS);
            out[q] = (vec *)(y + (long long)row * COLS);
        }
#if MODE == 1 || MODE == 4
        float both[2 * NR];
#pragma unroll
        for (int q = 0; q < 2 * NR; q++)
            both[q] = 0;
#else
#pragma unroll
        for (int q = 0; q < NR; q++)
            mean[q] = rstd[q] = 0;
#endif
#if IN_REGISTERS
        vec r[NR][PER];
#pragma unroll
        for (int q = 0; q < NR; q++)
#pragma unroll
            for (int i = 0; i < PER; i++)
                r[q][i] = in[q][at(i)];
#pragma unroll
#else
#pragma unroll UNROLL
#endif
        for (int i = 0; i < PER; i++)
#pragma unroll
            for (int q = 0; q < NR; q++) {
#if IN_REGISTERS
                vec v = r[q][i];
#else
                vec v = in[q][at(i)];
#endif
#if MODE == 3
                kept[threadIdx.y * NR + q][at(i)] = v;
#endif
#pragma unroll
                for (int k = 0; k < VEC; k++) {
#if MODE == 1 || MODE == 4
                    both[2 * q] += v.v[k];
                    both[2 * q + 1] += v.v[k] * v.v[k];
#else
                    mean[q] += v.v[k];
#endif
                }
            }
#if MODE == 1 || MODE == 4
        row_sum(both, part);
#pragma unroll
        for (int q = 0; q < NR; q++) {
            mean[q] = both[2 * q] / COLS;
            rstd[q] = rsqrtf(both[2 * q + 1] / COLS - mean[q] * mean[q] + 1e-5f);
        }
#else
        row_sum(mean, part);
#pragma unroll
        for (int q = 0; q < NR; q++)
            mean[q] /= COLS;
#if IN_REGISTERS
#pragma unroll
#else
#pragma unroll UNROLL
#endif
        for (int i = 0; i < PER; i++)
#pragma unroll
            for (int q = 0; q < NR; q++) {
#if MODE == 2
                vec v = r[q][i];
#elif MODE == 3
                vec v = kept[threadIdx.y * NR + q][at(i)];
#else
                vec v = in[q][at(i)];
#endif
#pragma unroll
                for (int k = 0; k < VEC; k++)
                    rstd[q] += (v.v[k] - mean[q]) * (v.v[k] - mean[q]);
            }
        row_sum(rstd, part);
#pragma unroll
        for (int q = 0; q < NR; q++)
            rstd[q] = rsqrtf(rstd[q] / COLS + 1e-5f);
#endif
#if IN_REGISTERS
#pragma unroll
#else
#pragma unroll UNROLL
#endif
        for (int i = 0; i < PER; i++) {
#if HOLD
            vec wi = hw[i], bi = hb[i];
#else
            vec wi = wv[at(i)], bi = bv[at(i)];
#endif
#pragma unroll
            for (int q = 0; q < NR; q++) {
#if IN_REGISTERS
                vec v = r[q][i];
#elif MODE == 3
                vec v = kept[threadIdx.y * NR + q][at(i)];
#else
                vec v = in[q][at(i)];
#endif
                if (first + (int)threadIdx.y * NR + q < rows)
                    out[q][at(i)] = norm(v, wi, bi, mean[q], rstd[q]);
            }
        }
    }
    (void)cols;
}
