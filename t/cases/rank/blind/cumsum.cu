/* hone-plan
{ "launches": [ { "kernel": "cumsum", "grid": ["@GRID@"], "block": [@THREADS@, @ROWS@], "smem": "@SMEM@", "args": ["x", "y", "R", "C"] } ] }
*/
// @THREADS@ threads per row, @ROWS@ rows per block, @VEC@ floats at a time; the grid goes round.
// MODE 0: chunk after chunk of a vector per thread, scanned by shuffles, with AHEAD the next one under
// way; 1: every warp holds its stretch of the row in registers; 2: chunks of @ITEMS@ floats per thread,
// turned round in shared memory with @PAD@ floats after each thread's; 3: chunk after chunk of a float
// per thread, scanned in shared memory; 4: every warp reads its stretch twice, first for its sum;
// 5: every thread holds its stretch of the row in registers. MINB: blocks an SM must hold.
// RESTRICT: the pointers are said not to overlap, so that loads may pass stores.
#define THREADS @THREADS@
#define ROWS @ROWS@
#define VEC @VEC@
#define MODE @MODE@
#define AHEAD @AHEAD@
#define ITEMS @ITEMS@
#define PAD @PAD@
#define MINB @MINB@
#define COLS @COLS@
#if @RESTRICT@
#define ALONE __restrict__
#else
#define ALONE
#endif
#define WARPS (THREADS / 32)
#define PER (COLS / VEC / THREADS)
struct alignas(4 * VEC) vec { float v[VEC]; };

__device__ float vec_scan(vec &v) // in place; the sum
{
#pragma unroll
    for (int k = 1; k < VEC; k++)
        v.v[k] += v.v[k - 1];
    return v.v[VEC - 1];
}

__device__ void vec_add(vec &v, float a)
{
#pragma unroll
    for (int k = 0; k < VEC; k++)
        v.v[k] += a;
}

__device__ float warp_scan(float v) // inclusive
{
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        float left = __shfl_up_sync(~0u, v, d);
        if (threadIdx.x % 32 >= d)
            v += left;
    }
    return v;
}

// What lies left of this warp, given its sum (by its last lane), and the sum of all
__device__ float left_of_warp(float sum, float *part, float &all)
{
    int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 31)
        part[warp] = sum;
    __syncthreads();
    float left = 0;
    all = 0;
#pragma unroll
    for (int k = 0; k < WARPS; k++) {
        float p = part[k];
        left += k < warp ? p : 0.f;
        all += p;
    }
    return left;
}

extern "C" __global__ void __launch_bounds__(THREADS *ROWS, MINB) cumsum(const float *ALONE x, float *ALONE y, int rows, int cols)
{
    __shared__ float parts[ROWS][2][MODE == 3 ? THREADS : 32];
#if MODE == 2
    __shared__ float tiles[ROWS][THREADS * (ITEMS + PAD)];
#endif
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    for (int first = blockIdx.x * ROWS; first < rows; first += gridDim.x * ROWS) {
        int row = min(first + (int)threadIdx.y, rows - 1);
        bool mine = first + (int)threadIdx.y < rows;
        const vec *in = (const vec *)(x + (long long)row * COLS);
        vec *out = (vec *)(y + (long long)row * COLS);
#if MODE == 0
        float carry = 0;
        vec v = in[t];
#pragma unroll 2
        for (int i = 0; i < PER; i++) {
#if AHEAD
            vec next = in[min(i + 1, PER - 1) * THREADS + t];
#else
            v = in[i * THREADS + t];
#endif
            float own = vec_scan(v), sum = warp_scan(own), left = carry;
            if (THREADS == 32) {
                carry += __shfl_sync(~0u, sum, 31);
            } else { // the other half of parts next time: one barrier per chunk
                float all;
                left += left_of_warp(sum, parts[threadIdx.y][i % 2], all);
                carry += all;
            }
            vec_add(v, left + sum - own);
            if (mine)
                out[i * THREADS + t] = v;
#if AHEAD
            v = next;
#endif
        }
#elif MODE == 1 || MODE == 4
        in += warp * PER * 32 + lane;
        out += warp * PER * 32 + lane;
        float carry = 0, all;
#if MODE == 1
        vec r[PER];
#pragma unroll
        for (int i = 0; i < PER; i++)
            r[i] = in[i * 32];
#pragma unroll
        for (int i = 0; i < PER; i++) {
            float own = vec_scan(r[i]), sum = warp_scan(own);
            vec_add(r[i], carry + sum - own);
            carry += __shfl_sync(~0u, sum, 31);
        }
        float left = THREADS == 32 ? 0.f : left_of_warp(carry, parts[threadIdx.y][0], all);
#pragma unroll
        for (int i = 0; i < PER; i++) {
            vec_add(r[i], left);
            if (mine)
                out[i * 32] = r[i];
        }
#else
#pragma unroll 8
        for (int i = 0; i < PER; i++) {
            vec v = in[i * 32];
            carry += vec_scan(v);
        }
        carry = left_of_warp(warp_scan(carry), parts[threadIdx.y][0], all);
#pragma unroll 4
        for (int i = 0; i < PER; i++) {
            vec v = in[i * 32];
            float own = vec_scan(v), sum = warp_scan(own);
            vec_add(v, carry + sum - own);
            carry += __shfl_sync(~0u, sum, 31);
            if (mine)
                out[i * 32] = v;
        }
#endif
#elif MODE == 2
        float *tile = tiles[threadIdx.y], carry = 0;
        for (int c = 0; c < COLS; c += THREADS * ITEMS) {
#pragma unroll
            for (int i = 0; i < ITEMS / VEC; i++) {
                vec v = in[c / VEC + i * THREADS + t];
#pragma unroll
                for (int k = 0; k < VEC; k++) {
                    int j = (i * THREADS + t) * VEC + k;
                    tile[j + j / ITEMS * PAD] = v.v[k];
                }
            }
            __syncthreads();
            float r[ITEMS], own = 0, all;
#pragma unroll
            for (int k = 0; k < ITEMS; k++)
                r[k] = own += tile[t * (ITEMS + PAD) + k];
            float sum = warp_scan(own);
            float left = carry + left_of_warp(sum, parts[threadIdx.y][0], all) + sum - own;
            carry += all;
#pragma unroll
            for (int k = 0; k < ITEMS; k++)
                tile[t * (ITEMS + PAD) + k] = left + r[k];
            __syncthreads();
#pragma unroll
            for (int i = 0; i < ITEMS / VEC; i++) {
                vec v;
#pragma unroll
                for (int k = 0; k < VEC; k++) {
                    int j = (i * THREADS + t) * VEC + k;
                    v.v[k] = tile[j + j / ITEMS * PAD];
                }
                if (mine)
                    out[c / VEC + i * THREADS + t] = v;
            }
            __syncthreads();
        }
#elif MODE == 3
        float carry = 0, *part = parts[threadIdx.y][0];
        for (int c = 0; c < COLS; c += THREADS) {
            float v = ((const float *)in)[c + t];
            part[t] = v;
            __syncthreads();
            for (int d = 1; d < THREADS; d *= 2) {
                float left = t >= d ? part[t - d] : 0.f;
                __syncthreads();
                part[t] = v += left;
                __syncthreads();
            }
            if (mine)
                ((float *)out)[c + t] = carry + v;
            carry += part[THREADS - 1];
            __syncthreads();
        }
#else
        vec r[PER];
        float own = 0, all;
#pragma unroll
        for (int i = 0; i < PER; i++)
            r[i] = in[t * PER + i];
#pragma unroll
        for (int i = 0; i < PER; i++) {
            float before = own;
            own += vec_scan(r[i]);
            vec_add(r[i], before);
        }
        float sum = warp_scan(own);
        float left = left_of_warp(sum, parts[threadIdx.y][0], all) + sum - own;
#pragma unroll
        for (int i = 0; i < PER; i++) {
            vec_add(r[i], left);
            if (mine)
                out[t * PER + i] = r[i];
        }
#endif
        if (THREADS > 32)
            __syncthreads(); // parts is used again
    }
    (void)cols, (void)lane, (void)warp;
}
