/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": ["M"], "block": [32],
                  "args": ["A", "x", "y", "M", "K"] } ] }
*/
extern "C" __global__ void matvec(const float *A, const float *x, float *y, int M, int K)
{
    __shared__ float s[32];
    int lane = threadIdx.x % 32, row = blockIdx.x;
    float sum = 0;
    for (int k = threadIdx.x; k < K; k += blockDim.x)
        sum += A[(long long)row * K + k] * x[k];
    s[lane] = sum;
    __syncwarp();
    for (int d = 16; d > 0; d /= 2) {
        if (lane < d) {
            s[lane] += s[lane + d];
        }
        __syncwarp();
    }
    float total = __shfl_sync(~0u, s[lane], 0);
    if (lane == 31)
        y[row] = total;
}
