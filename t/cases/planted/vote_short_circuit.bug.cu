/* hone-plan
{ "launches": [ { "kernel": "sigmoid", "grid": ["cdiv(N, 256)"], "block": [256],
                  "args": ["x", "y", "N"] } ] }
*/
// Blocks without large arguments take the short way.
extern "C" __global__ void sigmoid(const float *x, float *y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = i < n ? x[i] : 0.f, e;
    if (i < n && __syncthreads_or(fabsf(v) > 20.f))
        e = expf(-v);
    else
        e = __expf(-v);
    if (i < n)
        y[i] = 1.f / (1.f + e);
}
