/* hone-plan
{ "launches": [ { "kernel": "sigmoid", "grid": ["min(8, cdiv(N, 256))"], "block": [256],
                  "args": ["x", "y", "N"] } ] }
*/
extern "C" __global__ void sigmoid(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < n; i += gridDim.x * blockDim.x)
        y[i] = 1.f / (1.f + __expf(-x[i]));
}
