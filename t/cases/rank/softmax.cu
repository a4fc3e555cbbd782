/* hone-plan
{ "launches": [ { "kernel": "softmax", "grid": ["cdiv(R, @ROWS@)"], "block": [@THREADS@, @ROWS@], "smem": "@SMEM@", "args": ["x", "y", "R", "C"] } ] }
*/
// @THREADS@ threads per row, @ROWS@ rows per block. MODE 0: three passes over memory; 1: two, the
// maximum and the sum together; 2: the row stays in registers.
#define THREADS @THREADS@
#define ROWS @ROWS@
#define VEC @VEC@
#define MODE @MODE@
#define COLS @COLS@
struct alignas(4 * VEC) vec { float v[VEC]; };

__device__ float across(float v, bool is_max, float *part)
{
    for (int o = 16; o; o /= 2) {
        float w = __shfl_xor_sync(~0u, v, o);
        v = is_max ? fmaxf(v, w) : v + w;
    }
    if (THREADS == 32)
        return v;
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[0];
    for (int k = 1; k < THREADS / 32; k++)
        v = is_max ? fmaxf(v, part[k]) : v + part[k];
    __syncthreads();
    return v;
}

extern "C" __global__ void __launch_bounds__(THREADS *ROWS) softmax(const float *x, float *y, int rows, int cols)
{
    __shared__ float parts[ROWS][32];
    float *part = parts[threadIdx.y];
    int row = min((int)(blockIdx.x * ROWS + threadIdx.y), rows - 1);
    const vec *in = (const vec *)(x + (long long)row * cols);
    vec *out = (vec *)(y + (long long)row * cols);
    int n = cols / VEC;
    float m = -3e38f, sum = 0;
#if MODE == 2
    constexpr int kPer = (COLS / VEC + THREADS - 1) / THREADS;
    vec r[kPer];
#pragma unroll
    for (int i = 0; i < kPer; i++)
        if (i * THREADS + (int)threadIdx.x < n)
            r[i] = in[i * THREADS + threadIdx.x];
#pragma unroll
    for (int i = 0; i < kPer; i++)
        if (i * THREADS + (int)threadIdx.x < n)
#pragma unroll
            for (int k = 0; k < VEC; k++)
                m = fmaxf(m, r[i].v[k]);
    m = across(m, true, part);
#pragma unroll
    for (int i = 0; i < kPer; i++)
        if (i * THREADS + (int)threadIdx.x < n)
#pragma unroll
            for (int k = 0; k < VEC; k++)
                sum += r[i].v[k] = __expf(r[i].v[k] - m);
    sum = 1 / across(sum, false, part);
#pragma unroll
    for (int i = 0; i < kPer; i++)
        if (i * THREADS + (int)threadIdx.x < n) {
#pragma unroll
            for (int k = 0; k < VEC; k++)
                r[i].v[k] *= sum;
            out[i * THREADS + threadIdx.x] = r[i];
        }
#else
    for (int j = threadIdx.x; j < n; j += THREADS) {
        vec v = in[j];
#pragma unroll
        for (int k = 0; k < VEC; k++) {
#if MODE == 1
            float t = fmaxf(m, v.v[k]);
            sum = sum * __expf(m - t) + __expf(v.v[k] - t);
            m = t;
#else
            m = fmaxf(m, v.v[k]);
#endif
        }
    }
    float mine = m;
    m = across(m, true, part);
#if MODE == 1
    sum *= __expf(mine - m);
#else
    (void)mine;
    for (int j = threadIdx.x; j < n; j += THREADS) {
        vec v = in[j];
#pragma unroll
        for (int k = 0; k < VEC; k++)
            sum += __expf(v.v[k] - m);
    }
#endif
    sum = 1 / across(sum, false, part);
    for (int j = threadIdx.x; j < n; j += THREADS) {
        vec v = in[j];
#pragma unroll
        for (int k = 0; k < VEC; k++)
            v.v[k] = __expf(v.v[k] - m) * sum;
        out[j] = v;
    }
#endif
}
