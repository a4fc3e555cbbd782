/* hone-plan
{ "launches": [ { "kernel": "faint_rms", "grid": ["R"], "block": [128], "args": ["x", "y", "C"] } ] }
*/
extern "C" __global__ void faint_rms(const float *x, float *y, int cols)
{
    __shared__ float part[128];
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;
    float sum = 0;
    for (int j = threadIdx.x; j < cols; j += 128)
        sum += x[j] * x[j];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    const float scale = rsqrtf(part[0] / cols + 1e-14f);
    for (int j = threadIdx.x; j < cols; j += 128)
        y[j] = x[j] * scale;
}
