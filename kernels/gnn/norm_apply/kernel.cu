/* hone-plan
{ "launches": [ { "kernel": "norm_apply", "grid": ["cdiv(R*C, 256)"], "block": [256],
                  "args": ["x", "stat", "gain", "y", "R*C", "C", "RUNNING"] } ] }
*/
// One thread for each element.
extern "C" __global__ void norm_apply(const float *x, const float *stat, const float *gain, float *y, long long n,
                                int width, int running)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int c = (int)(i % width);
    float v = stat[width + c], inv = running ? 1.f / sqrtf(v + 1e-5f) : v;
    y[i] = (x[i] - stat[c]) * inv * gain[c] + gain[width + c];
}
