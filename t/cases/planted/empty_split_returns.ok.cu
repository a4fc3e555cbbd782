/* hone-plan
{ "launches": [ { "kernel": "split", "grid": ["M", 8], "block": [32], "args": ["A", "x", "part", "M", "K"] },
                { "kernel": "finish", "grid": ["cdiv(M, 32)"], "block": [32], "args": ["part", "y", "M"] } ],
  "workspace": { "part": { "bytes": "4*8*M" } } }
*/
// Splits are multiples of 256 long.
extern "C" __global__ void split(const float *A, const float *x, float *part, int M, int K)
{
    int row = blockIdx.x, length = (K + 8 * 256 - 1) / (8 * 256) * 256, k0 = blockIdx.y * length;
    float sum = 0;
    for (int k = k0 + threadIdx.x; k < min(K, k0 + length); k += 32)
        sum += A[(long long)row * K + k] * x[k];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0)
        part[row * 8 + blockIdx.y] = sum;
}
extern "C" __global__ void finish(const float *part, float *y, int M)
{
    int row = blockIdx.x * 32 + threadIdx.x;
    if (row >= M)
        return;
    float sum = 0;
    for (int i = 0; i < 8; i++)
        sum += part[row * 8 + i];
    y[row] = sum;
}
