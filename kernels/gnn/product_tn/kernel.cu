/* hone-plan
{ "launches": [
    { "kernel": "product_tn", "grid": ["cdiv(N, 64)", "cdiv(K, 64)", "min(64, cdiv(M, 512))"], "block": [256],
      "args": ["x", "dy", "partial", "M", "N", "K"] },
    { "kernel": "add_parts", "grid": ["cdiv(K*N, 256)"], "block": [256],
      "args": ["partial", "dw", "K*N", "min(64, cdiv(M, 512))"] } ],
  "workspace": { "partial": { "bytes": "4*K*N*min(64, cdiv(M, 512))", "init": "none" } } }
*/
// The result is small and the sum over M is long, so up to 64 blocks share the rows of each tile of
// 64 x 64 elements. add_parts adds their sums in order: the same call gives the same bits.
constexpr int kTile = 64, kStep = 16;

extern "C" __global__ void __launch_bounds__(256)
    product_tn(const float *x, const float *dy, float *partial, int M, int N, int K)
{
    __shared__ float a[kStep][kTile], b[kStep][kTile];
    int t = threadIdx.x, row = t / 16 * 4, column = t % 16 * 4;
    int n0 = blockIdx.x * kTile, k0 = blockIdx.y * kTile;
    int share = ((M + gridDim.z - 1) / gridDim.z + kStep - 1) / kStep * kStep;
    long long first = (long long)blockIdx.z * share, end = min((long long)M, first + share);
    float sum[4][4] = {};
    for (long long m0 = first; m0 < end; m0 += kStep) {
        for (int i = t; i < kTile * kStep; i += 256) {
            int m = i / kTile, c = i % kTile;
            bool inside = m0 + m < end;
            a[m][c] = inside && k0 + c < K ? x[(m0 + m) * K + k0 + c] : 0.f;
            b[m][c] = inside && n0 + c < N ? dy[(m0 + m) * N + n0 + c] : 0.f;
        }
        __syncthreads();
#pragma unroll
        for (int m = 0; m < kStep; m++) {
            float4 u = *reinterpret_cast<const float4 *>(&a[m][row]);
            float4 v = *reinterpret_cast<const float4 *>(&b[m][column]);
            float p[4] = {u.x, u.y, u.z, u.w}, q[4] = {v.x, v.y, v.z, v.w};
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] = fmaf(p[i], q[j], sum[i][j]);
        }
        __syncthreads();
    }
    partial += (long long)blockIdx.z * K * N;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (k0 + row + i < K && n0 + column + j < N)
                partial[(long long)(k0 + row + i) * N + n0 + column + j] = sum[i][j];
}

extern "C" __global__ void add_parts(const float *partial, float *dw, long long n, int parts)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0;
    for (int p = 0; p < parts; p++)
        sum += partial[p * n + i];
    dw[i] = sum;
}
