/* hone-plan
{ "launches": [ { "kernel": "transpose", "grid": ["cdiv(N, 32)*cdiv(M, 32)"], "block": [32, 8],
                  "args": ["x", "y", "M", "N"] } ] }
*/
// A 32x32 tile per block, through shared memory, so that both the reads (along rows of x) and the
// writes (along rows of y) of a warp cover whole lines. 32x8 threads, four rows each. The tile has
// 33 columns: reading it by columns then touches 32 different banks.
extern "C" __global__ void transpose(const float *x, float *y, int M, int N)
{
    __shared__ float tile[32][33];
    int tiles_n = (N + 31) / 32;
    int n0 = blockIdx.x % tiles_n * 32, m0 = blockIdx.x / tiles_n * 32;
    int tx = threadIdx.x, ty = threadIdx.y;

    for (int i = ty; i < 32; i += 8)
        if (m0 + i < M && n0 + tx < N)
            tile[i][tx] = x[(long long)(m0 + i) * N + n0 + tx];
    __syncthreads();
    for (int i = ty; i < 32; i += 8)
        if (n0 + i < N && m0 + tx < M)
            y[(long long)(n0 + i) * M + m0 + tx] = tile[tx][i];
}
