/* hone-plan
{ "launches": [ { "kernel": "cumsum", "grid": ["R"], "block": [256],
                  "args": ["x", "y", "R", "C"] } ] }
*/
// A row of up to 256 per block.
extern "C" __global__ void cumsum(const float *x, float *y, int R, int C)
{
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = t < C ? x[blockIdx.x * C + t] : 0.f;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        float other = t >= d ? s[t - d] : 0.f;
        __syncthreads();
        s[t] += other;
        __syncthreads();
    }
    if (t < C)
        y[blockIdx.x * C + t] = s[t];
}
