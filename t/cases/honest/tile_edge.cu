/* hone-plan
{ "launches": [ { "kernel": "transpose", "grid": ["cdiv(N,32)", "cdiv(M,32)"], "block": [32, 8],
                  "args": ["x", "y", "M", "N"] } ] }
*/
// At the edge of the matrix part of the tile is never written; it is read with the rest, and not
// used.
extern "C" __global__ void transpose(const float *x, float *y, int M, int N)
{
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r0 = blockIdx.y * 32;
    for (int k = threadIdx.y; k < 32; k += 8)
        if (c < N && r0 + k < M)
            tile[k][threadIdx.x] = x[(long long)(r0 + k) * N + c];
    __syncthreads();
    int r = r0 + threadIdx.x, c0 = blockIdx.x * 32;
    for (int k = threadIdx.y; k < 32; k += 8) {
        float v = *(volatile float *)&tile[threadIdx.x][k];
        if (r < M && c0 + k < N)
            y[(long long)(c0 + k) * M + r] = v;
    }
}
