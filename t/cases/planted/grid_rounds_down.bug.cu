/* hone-plan
{ "launches": [ { "kernel": "gelu", "grid": ["N / 256"], "block": [256],
                  "args": ["x", "y", "N"] } ] }
*/
extern "C" __global__ void gelu(const float *x, float *y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
}
