/* hone-plan
{ "launches": [ { "kernel": "lse", "grid": ["R"], "block": [256], "args": ["x", "len", "y", "C"] } ] }
*/
constexpr int kThreads = 256;

extern "C" __global__ void lse(const float *x, const int *len, float *y, int C)
{
    __shared__ float red[kThreads];
    const int t = threadIdx.x, n = len[blockIdx.x];
    const float *row = x + (long long)blockIdx.x * C;

    float m = -INFINITY;
    for (int j = t; j < n; j += kThreads)
        m = fmaxf(m, row[j]);
    red[t] = m;
    __syncthreads();
    for (int s = kThreads / 2; s > 0; s >>= 1) {
        if (t < s)
            red[t] = fmaxf(red[t], red[t + s]);
        __syncthreads();
    }
    m = red[0];
    __syncthreads();

    float sum = 0;
    for (int j = t; j < n; j += kThreads)
        sum += expf(row[j] - m);
    red[t] = sum;
    __syncthreads();
    for (int s = kThreads / 2; s > 0; s >>= 1) {
        if (t < s)
            red[t] += red[t + s];
        __syncthreads();
    }
    if (t == 0)
        y[blockIdx.x] = m + logf(red[0]);
}
