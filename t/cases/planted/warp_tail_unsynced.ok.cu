/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": ["M"], "block": [64],
                  "args": ["A", "x", "y", "K"] } ] }
*/
extern "C" __global__ void matvec(const float *A, const float *x, float *y, int K)
{
    __shared__ float part[64];
    int t = threadIdx.x;
    float sum = 0;
    for (int k = t; k < K; k += 64)
        sum += A[(long long)blockIdx.x * K + k] * x[k];
    part[t] = sum;
    __syncthreads();
    if (t < 32) {
        for (int s = 32; s > 0; s /= 2) {
            float v = part[t + s];
            __syncwarp();
            part[t] += v;
            __syncwarp();
        }
        if (t == 0)
            y[blockIdx.x] = part[0];
    }
}
