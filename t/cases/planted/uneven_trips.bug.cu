/* hone-plan
{ "launches": [ { "kernel": "cumsum", "grid": ["R"], "block": [256],
                  "args": ["x", "y", "C"] } ] }
*/
extern "C" __global__ void cumsum(const float *x, float *y, int cols)
{
    __shared__ float part[256];
    int t = threadIdx.x;
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;
    float carry = 0;
    for (int base = 0; base + t < cols; base += 256) {
        part[t] = base + t < cols ? x[base + t] : 0;
        for (int d = 1; d < 256; d *= 2) {
            __syncthreads();
            float v = t >= d ? part[t - d] : 0;
            __syncthreads();
            part[t] += v;
        }
        __syncthreads();
        if (base + t < cols)
            y[base + t] = part[t] + carry;
        carry += part[255];
        __syncthreads();
    }
}
