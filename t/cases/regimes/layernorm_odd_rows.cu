/* hone-plan
{ "launches": [ { "kernel": "ln", "grid": ["R/2 + (R == 1)"], "block": [64], "args": ["x", "w", "b", "y", "R", "C", "eps"] } ] }
*/
/* A block computes two rows, one a warp. The last of an odd number of rows is nobody's. */
extern "C" __global__ void ln(const float *x, const float *w, const float *b, float *y, int R, int C, float eps)
{
    int row = blockIdx.x * 2 + threadIdx.x / 32, t = threadIdx.x % 32;
    if (row >= R)
        return;
    x += (size_t)row * C;
    y += (size_t)row * C;
    float s = 0, q = 0;
    for (int k = t; k < C; k += 32)
        s += x[k];
    for (int d = 16; d; d /= 2)
        s += __shfl_xor_sync(~0u, s, d);
    float mean = s / C;
    for (int k = t; k < C; k += 32)
        q += (x[k] - mean) * (x[k] - mean);
    for (int d = 16; d; d /= 2)
        q += __shfl_xor_sync(~0u, q, d);
    float r = rsqrtf(q / C + eps);
    for (int k = t; k < C; k += 32)
        y[k] = (x[k] - mean) * r * w[k] + b[k];
}
