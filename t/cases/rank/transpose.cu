/* hone-plan
{ "launches": [ { "kernel": "transpose", "grid": ["cdiv(N, @TILE@)", "cdiv(M, @TILE@)"], "block": [@TX@, @TY@], "smem": "@SMEM@",
                  "args": ["x", "y", "M", "N"] } ] }
*/
// A @TILE@x@TILE@ tile by @TX@x@TY@ threads. MODE 0: through shared memory with @PAD@ columns of
// padding; 1: straight, reads along rows; 2: straight, writes along rows.
#define TILE @TILE@
#define TX @TX@
#define TY @TY@
#define PAD @PAD@
#define MODE @MODE@

extern "C" __global__ void __launch_bounds__(TX *TY) transpose(const float *x, float *y, int M, int N)
{
    int n0 = blockIdx.x * TILE, m0 = blockIdx.y * TILE;
#if MODE == 0
    __shared__ float tile[TILE][TILE + PAD];
#pragma unroll
    for (int i = threadIdx.y; i < TILE; i += TY)
#pragma unroll
        for (int j = threadIdx.x; j < TILE; j += TX)
            if (m0 + i < M && n0 + j < N)
                tile[i][j] = x[(long long)(m0 + i) * N + n0 + j];
    __syncthreads();
#pragma unroll
    for (int i = threadIdx.y; i < TILE; i += TY)
#pragma unroll
        for (int j = threadIdx.x; j < TILE; j += TX)
            if (n0 + i < N && m0 + j < M)
                y[(long long)(n0 + i) * M + m0 + j] = tile[j][i];
#else
#pragma unroll
    for (int i = threadIdx.y; i < TILE; i += TY)
#pragma unroll
        for (int j = threadIdx.x; j < TILE; j += TX) {
            int m = m0 + (MODE == 1 ? i : j), n = n0 + (MODE == 1 ? j : i);
            if (m < M && n < N)
                y[(long long)n * M + m] = x[(long long)m * N + n];
        }
#endif
}
