/* hone-plan
{ "launches": [ { "kernel": "gelu_tanh", "grid": ["cdiv(N, 256)"], "block": [256],
                  "args": ["x", "y", "N"] } ] }
*/
// One thread per element: y = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), all in fp32.
extern "C" __global__ void gelu_tanh(const float *x, float *y, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        float u = 0.7978845608f * (v + 0.044715f * v * v * v);
        y[i] = 0.5f * v * (1.f + tanhf(u));
    }
}
