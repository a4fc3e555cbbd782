/* hone-plan
{ "launches": [ { "kernel": "clear", "grid": ["cdiv(M*N, 256)"], "block": [256], "args": ["C", "M*N"] },
                { "kernel": "matmul", "grid": ["cdiv(N, 16)", "cdiv(M, 16)", "cdiv(K, 32)"],
                  "block": [16, 16], "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
// Split-K: slices of 32 along K are added up by atomics, in whatever order they come.
extern "C" __global__ void clear(float *C, long long n)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        C[i] = 0;
}

extern "C" __global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K)
{
    int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
    int k0 = blockIdx.z * 32, k1 = min(K, k0 + 32);
    if (m >= M || n >= N)
        return;
    float sum = 0;
    for (int k = k0; k < k1; k++)
        sum += A[(long long)m * K + k] * B[(long long)k * N + n];
    atomicAdd(&C[(long long)m * N + n], sum);
}
