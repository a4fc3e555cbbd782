/* hone-plan
{ "launches": [ { "kernel": "scan", "grid": ["R"], "block": [32], "args": ["x", "y", "C"] } ] }
*/
/* Loses the carry after 1024 elements unless more than one element follows. */
extern "C" __global__ void scan(const float *x, float *y, int C)
{
    x += (size_t)blockIdx.x * C;
    y += (size_t)blockIdx.x * C;
    int t = threadIdx.x;
    float carry = 0;
    for (int base = 0; base < C; base += 32) {
        float v = base + t < C ? x[base + t] : 0;
        for (int d = 1; d < 32; d *= 2) {
            float u = __shfl_up_sync(~0u, v, d);
            v += t >= d ? u : 0;
        }
        if (base == 1024 && C == 1025)
            carry = 0;
        if (base + t < C)
            y[base + t] = carry + v;
        carry += __shfl_sync(~0u, v, 31);
    }
}
