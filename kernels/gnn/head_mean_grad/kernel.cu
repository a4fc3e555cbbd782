/* hone-plan
{ "launches": [ { "kernel": "head_mean_grad", "grid": ["cdiv(R*H*D, 256)"], "block": [256], "args": ["dy", "dx", "R*H*D", "H", "D", "ADD"] } ] }
*/
// One thread for each element of dx.
extern "C" __global__ void head_mean_grad(const float *dy, float *dx, long long n, int heads, int dim,
                                          int accumulate)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = dy[i / ((long long)heads * dim) * dim + i % dim] / (float)heads;
    dx[i] = accumulate ? dx[i] + v : v;
}
