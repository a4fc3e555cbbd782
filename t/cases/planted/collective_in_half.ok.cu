/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": ["M"], "block": [256],
                  "args": ["A", "x", "y", "M", "K"] } ] }
*/
__device__ float block_sum(float v, int warps)
{
    __shared__ float s[8];
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0)
        s[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int i = 0; i < warps; i++)
        v += s[i];
    __syncthreads();
    return v;
}
// The first half of the block multiplies, all of it is there for rows to come.
extern "C" __global__ void matvec(const float *A, const float *x, float *y, int M, int K)
{
    __shared__ float total;
    int row = blockIdx.x;
    float sum = 0;
    if (threadIdx.x < 128)
        for (int k = threadIdx.x; k < K; k += 128)
            sum += A[(long long)row * K + k] * x[k];
    sum = block_sum(sum, 4);
    if (threadIdx.x < 128) {
        if (threadIdx.x == 0)
            total = sum;
    }
    __syncthreads();
    if (threadIdx.x == 255)
        y[row] = total;
}
