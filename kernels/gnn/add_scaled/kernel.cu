/* hone-plan
{ "launches": [ { "kernel": "add_scaled", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["x", "y", "N", "FACTOR", "ADD"] } ] }
*/
// One thread for each element.
extern "C" __global__ void add_scaled(const float *x, float *y, long long n, int factor, int accumulate)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float a = (float)(factor / 1e6), v = a * x[i];
    y[i] = accumulate ? y[i] + v : v;
}
