/* hone-plan
{ "launches": [ { "kernel": "stats", "grid": ["rows"], "block": [32], "args": ["x", "offset", "y", "mean", "rstd"] } ] }
*/
// Wrong: another epsilon. A row has 512 columns.
__device__ float warp_sum(float v)
{
    for (int d = 16; d; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    return v;
}

extern "C" __global__ void stats(const float *x, const float *offset, float *y, float *mean, float *rstd)
{
    const float eps = 1e-5f;
    int row = blockIdx.x;
    float sum = 0, squares = 0;
    for (int c = threadIdx.x; c < 512; c += 32)
        sum += x[row * 512LL + c] - offset[c];
    float m = warp_sum(sum) / 512;
    for (int c = threadIdx.x; c < 512; c += 32) {
        float d = x[row * 512LL + c] - offset[c] - m;
        squares += d * d;
    }
    float r = 1 / sqrtf(warp_sum(squares) / 512 + eps);
    for (int c = threadIdx.x; c < 512; c += 32)
        y[row * 512LL + c] = (x[row * 512LL + c] - offset[c] - m) * r;
    if (threadIdx.x == 0) {
        mean[row] = m;
        rstd[row] = r;
    }
}
