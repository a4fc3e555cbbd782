/* hone-plan
{ "launches": [ { "kernel": "softmax", "grid": ["R"], "block": [128], "smem": "1024",
                  "args": ["x", "y", "C"] } ] }
*/
// Dynamic shared memory: a byte per warp, then the floats.
extern "C" __global__ void softmax(const float *x, float *y, int cols)
{
    extern __shared__ char smem[];
    char *seen = smem;
    float *part = (float *)(smem + 6);
    int t = threadIdx.x;
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;
    float m = -3e38f, sum = 0;
    for (int j = t; j < cols; j += 128)
        m = fmaxf(m, x[j]);
    if (t % 32 == 0)
        seen[t / 32] = 1;
    part[t] = m;
    __syncthreads();
    for (int k = 0; k < 128; k++)
        m = seen[k / 32] ? fmaxf(m, part[k]) : m;
    __syncthreads();
    for (int j = t; j < cols; j += 128)
        sum += expf(x[j] - m);
    part[t] = sum;
    __syncthreads();
    sum = 0;
    for (int k = 0; k < 128; k++)
        sum += part[k];
    for (int j = t; j < cols; j += 128)
        y[j] = expf(x[j] - m) / sum;
}
