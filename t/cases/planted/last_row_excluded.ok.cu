/* hone-plan
{ "launches": [ { "kernel": "transpose", "grid": ["cdiv(N, 32)", "cdiv(M, 8)"], "block": [32, 8],
                  "args": ["x", "y", "M", "N"] } ] }
*/
extern "C" __global__ void transpose(const float *x, float *y, int M, int N)
{
    int n = blockIdx.x * 32 + threadIdx.x, m = blockIdx.y * 8 + threadIdx.y;
    if (n < N && m < M)
        y[n * M + m] = x[m * N + n];
}
