/* hone-plan
{ "launches": [ { "kernel": "softmax", "grid": ["R"], "block": [256],
                  "args": ["x", "y", "C"] } ] }
*/
extern "C" __global__ void softmax(const float *x, float *y, int cols)
{
    __shared__ float part[8];
    int t = threadIdx.x;
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;
    float m = -3e38f, sum = 0;
    for (int j = t; j < cols; j += 256)
        m = fmaxf(m, x[j]);
    for (int o = 16; o; o /= 2)
        m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (t % 32 == 0)
        part[t / 32] = m;
    __syncthreads();
    for (int k = 0; k < 8; k++)
        m = fmaxf(m, part[k]);

    for (int j = t; j < cols; j += 256)
        sum += expf(x[j] - m);
    for (int o = 16; o; o /= 2)
        sum += __shfl_xor_sync(~0u, sum, o);
    if (t % 32 == 0)
        part[t / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int k = 0; k < 8; k++)
        sum += part[k];
    for (int j = t; j < cols; j += 256)
        y[j] = expf(x[j] - m) / sum;
}
