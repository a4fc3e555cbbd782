/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": ["M"], "block": [256],
                  "args": ["A", "x", "y", "M", "K"] } ] }
*/
extern "C" __global__ void matvec(const float *A, const float *x, float *y, int M, int K)
{
    __shared__ float s[32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x;
    float sum = 0;
    for (int k = threadIdx.x; k < K; k += blockDim.x)
        sum += A[(long long)row * K + k] * x[k];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0)
        s[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = s[lane];
        for (int d = 16; d > 0; d /= 2)
            sum += __shfl_xor_sync(~0u, sum, d);
        if (lane == 0)
            y[row] = sum;
    }
}
