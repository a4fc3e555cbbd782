/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": ["cdiv(M, 8)"], "block": [256],
                  "args": ["A", "x", "y", "M", "K"] } ] }
*/
extern "C" __global__ void matvec(const float *A, const float *x, float *y, int M, int K)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x * 8 + warp;
    if (row >= M)
        return;
    float sum = 0;
    for (int k = lane; k < K; k += 32)
        sum += A[(long long)row * K + k] * x[k];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0)
        y[row] = sum;
}
