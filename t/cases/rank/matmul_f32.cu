/* hone-plan
{ "launches": [ { "kernel": "matmul", "grid": ["cdiv(N, @BN@)", "cdiv(M, @BM@)"], "block": [@THREADS@], "smem": "@SMEM@", "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
// A @BM@x@BN@ tile of C by @THREADS@ threads, @TM@x@TN@ each, K in steps of @BK@. WIDE 1: a thread's
// columns are vectors of four; PAD: extra columns of A's tile; AHEAD 1: the next tile is loaded into
// registers while this one is multiplied. Shapes are multiples of the tile.
#define BM @BM@
#define BN @BN@
#define BK @BK@
#define TM @TM@
#define TN @TN@
#define PAD @PAD@
#define WIDE @WIDE@
#define AHEAD @AHEAD@
#define THREADS @THREADS@
static_assert(THREADS == BM / TM * (BN / TN), "");

extern "C" __global__ void __launch_bounds__(THREADS)
    matmul(const float *A, const float *B, float *C, int M, int N, int K)
{
    constexpr int kA = BM * BK / THREADS, kB = BK * BN / THREADS;
    __shared__ alignas(16) float sA[BK][BM + PAD], sB[BK][BN];
    int t = threadIdx.x, m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    int tm = t / (BN / TN) * TM, tn = t % (BN / TN) * (WIDE ? 4 : TN);
    float acc[TM][TN] = {}, rA[kA], rB[kB];
    auto load = [&](int k0) {
#pragma unroll
        for (int i = 0; i < kA; i++) {
            int e = t + i * THREADS;
            rA[i] = A[(long long)(m0 + e / BK) * K + k0 + e % BK];
        }
#pragma unroll
        for (int i = 0; i < kB; i++) {
            int e = t + i * THREADS;
            rB[i] = B[(long long)(k0 + e / BN) * N + n0 + e % BN];
        }
    };
    load(0);
    for (int k0 = 0; k0 < K; k0 += BK) {
#pragma unroll
        for (int i = 0; i < kA; i++)
            sA[(t + i * THREADS) % BK][(t + i * THREADS) / BK] = rA[i];
#pragma unroll
        for (int i = 0; i < kB; i++)
            sB[(t + i * THREADS) / BN][(t + i * THREADS) % BN] = rB[i];
        __syncthreads();
        if (AHEAD && k0 + BK < K)
            load(k0 + BK);
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float a[TM], b[TN];
#pragma unroll
            for (int i = 0; i < TM; i++)
                a[i] = sA[k][tm + i];
#pragma unroll
            for (int j = 0; j < TN; j++)
                b[j] = sB[k][WIDE ? j / 4 * (BN / TN * 4) + tn + j % 4 : tn + j];
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++)
                    acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
        if (!AHEAD && k0 + BK < K)
            load(k0 + BK);
    }
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++)
            C[(long long)(m0 + tm + i) * N + n0 + (WIDE ? j / 4 * (BN / TN * 4) + tn + j % 4 : tn + j)] = acc[i][j];
}
