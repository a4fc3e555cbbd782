/* hone-plan
{ "launches": [ { "kernel": "transpose", "grid": ["cdiv(N, 16)", "cdiv(M, 16)"], "block": [16, 16],
                  "args": ["x", "y", "M", "N"] } ] }
*/
extern "C" __global__ void transpose(const float *x, float *y, int M, int N)
{
    __shared__ float tile[16][17];
    int n = blockIdx.x * 16 + threadIdx.x, m = blockIdx.y * 16 + threadIdx.y;
    if (m < M && n < N)
        tile[threadIdx.y][threadIdx.x] = x[(long long)m * N + n];
    __syncthreads();
    int r = blockIdx.x * 16 + threadIdx.y, c = blockIdx.y * 16 + threadIdx.x;
    if (r < N && c < M)
        y[(long long)r * M + c] = tile[threadIdx.x][threadIdx.y];
}
