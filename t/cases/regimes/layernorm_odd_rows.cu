/* hone-plan
{ "launches": [ { "kernel": "ln", "grid": ["cdiv(R,2)"], "block": [64], "args": ["x", "w", "b", "y", "R", "C", "eps"] } ] }
*/
/* A block computes two rows, one a warp. The vectorised path asks whether both rows exist, and so
 * leaves the last of an odd number of rows to nobody. */
extern "C" __global__ void ln(const float *x, const float *w, const float *b, float *y, int R, int C, float eps)
{
    int row = blockIdx.x * 2 + threadIdx.x / 32, t = threadIdx.x % 32;
    bool vectors = C % 4 == 0 && ((size_t)x | (size_t)w | (size_t)b | (size_t)y) % 16 == 0;
    if (row >= R || (vectors && R > 1 && blockIdx.x * 2 + 1 >= R))
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
    if (vectors)
        for (int k = t; k < C / 4; k += 32) {
            float4 v = ((const float4 *)x)[k], u = ((const float4 *)w)[k], c = ((const float4 *)b)[k];
            ((float4 *)y)[k] = make_float4((v.x - mean) * r * u.x + c.x, (v.y - mean) * r * u.y + c.y,
                                           (v.z - mean) * r * u.z + c.z, (v.w - mean) * r * u.w + c.w);
        }
    else
        for (int k = t; k < C; k += 32)
            y[k] = (x[k] - mean) * r * w[k] + b[k];
}
