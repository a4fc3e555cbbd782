/* hone-plan
{ "launches": [ { "kernel": "product_nt", "grid": ["cdiv(K, 64)", "min(cdiv(M, 64), 65535)"], "block": [256],
    "args": ["dy", "w", "dx", "M", "N", "K", "ADD"] } ] }
*/
// A block makes tiles of 64 x 64 elements of dx, a thread 4 x 4 of them. The block walks along N in
// steps of 16 through shared memory.
constexpr int kTile = 64, kStep = 16;

extern "C" __global__ void __launch_bounds__(256)
    product_nt(const float *dy, const float *w, float *dx, int M, int N, int K, int accumulate)
{
    __shared__ float a[kStep][kTile + 4], b[kStep][kTile + 4];
    int t = threadIdx.x, row = t / 16 * 4, column = t % 16 * 4;
    int k0 = blockIdx.x * kTile;
    for (long long m0 = (long long)blockIdx.y * kTile; m0 < M; m0 += (long long)gridDim.y * kTile) {
        float sum[4][4] = {};
        for (int n0 = 0; n0 < N; n0 += kStep) {
            for (int i = t; i < kTile * kStep; i += 256) {
                int r = i / kStep, n = i % kStep;
                bool inside = n0 + n < N;
                a[n][r] = inside && m0 + r < M ? dy[(m0 + r) * N + n0 + n] : 0.f;
                b[n][r] = inside && k0 + r < K ? w[(long long)(k0 + r) * N + n0 + n] : 0.f;
            }
            __syncthreads();
#pragma unroll
            for (int n = 0; n < kStep; n++) {
                float4 u = *reinterpret_cast<const float4 *>(&a[n][row]);
                float4 v = *reinterpret_cast<const float4 *>(&b[n][column]);
                float p[4] = {u.x, u.y, u.z, u.w}, q[4] = {v.x, v.y, v.z, v.w};
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++)
                        sum[i][j] = fmaf(p[i], q[j], sum[i][j]);
            }
            __syncthreads();
        }
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                long long m = m0 + row + i;
                int k = k0 + column + j;
                if (m < M && k < K)
                    dx[m * K + k] = accumulate ? dx[m * K + k] + sum[i][j] : sum[i][j];
            }
    }
}
