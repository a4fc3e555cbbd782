/* hone-plan
{ "launches": [ { "kernel": "affine", "grid": ["cdiv(B*C, 256)"], "block": [256],
                  "args": ["x", "last", "norm_scale", "norm_shift", "y", "new_last", "B*C", "C"] } ] }
*/
extern "C" __global__ void affine(const float *x, const float *last, const float *scale, const float *shift,
                                  float *y, float *next, long long n, int cols)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    float v = x[i] * scale[i % cols] + shift[i % cols];
    y[i] = v;
    if (i < cols)
        next[i] = last[i] / 2 + v;
}
