/* hone-plan
{ "launches": [ { "kernel": "product", "grid": ["N", "M"], "block": [32], "args": ["A", "B", "C", "N", "K"] } ] }
*/
// One warp computes one element, and adds up in float64.

extern "C" __global__ void product(const float *A, const float *B, float *C, int N, int K)
{
    double sum = 0;
    for (int k = threadIdx.x; k < K; k += 32)
        sum += A[(long long)blockIdx.y * K + k] * B[(long long)k * N + blockIdx.x];
    for (int d = 16; d; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0)
        C[(long long)blockIdx.y * N + blockIdx.x] = (float)sum;
}
