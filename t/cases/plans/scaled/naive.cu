/* hone-plan
{ "launches": [
    { "memset": "ones", "value": 1065353216, "width": 4 },
    { "memset": "s", "offset": "4*R", "bytes": 4 },
    { "copy": "x", "to": "k" },
    { "kernel": "scale", "grid": ["cdiv(R*C, 256)"], "block": [256],
      "args": ["x", null, "ones", "y", "1/sqrt(C)", "eps*4 - 1", "R*C"] },
    { "kernel": "sums", "grid": ["R"], "block": [32], "args": ["x", "s", "C"] } ],
  "workspace": { "ones": { "bytes": "4*C" } } }
*/
extern "C" __global__ void scale(const float *x, const float *bias, const float *ones, float *y, float a, double b,
                                 int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * a * ones[0] + (bias ? bias[i] : (float)b);
}

extern "C" __global__ void sums(const float *x, float *s, int n)
{
    float v = 0;
    for (int i = threadIdx.x; i < n; i += 32)
        v += x[(size_t)blockIdx.x * n + i];
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x == 0)
        s[blockIdx.x] = v;
}
