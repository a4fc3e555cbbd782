/* hone-plan
{ "launches": [ { "kernel": "sigmoid", "grid": ["cdiv(N, 256)"], "block": [256],
                  "args": ["x", "y", "N"] } ] }
*/
// One thread per element: y = 1 / (1 + exp(-x)). For large -x, exp overflows to
// infinity, and y becomes 0 as it should.
extern "C" __global__ void sigmoid(const float *x, float *y, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 1.f / (1.f + expf(-x[i]));
}
