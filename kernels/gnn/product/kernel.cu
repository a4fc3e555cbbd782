/* hone-plan
{ "launches": [ { "kernel": "product", "grid": ["cdiv(N, 64)", "min(cdiv(M, 64), 65535)"], "block": [256],
    "args": ["x", "w", "bias", "node", "y", "M", "N", "K", "ADD", "BIAS", "SLOPE", "LIMIT", "SEED_LO",
             "SEED_HI", "STEP", "PLACE"] } ] }
*/
// A block makes tiles of 64 x 64 elements of y, a thread 4 x 4 of them. The block walks along K in
// steps of 16 through shared memory. The epilogue works on the sums in registers.
constexpr int kTile = 64, kStep = 16;

struct random_block {
    unsigned w[4];
};

// The random words of elements 8 * group .. 8 * group + 7: one block of Philox4x32-10.
__device__ __forceinline__ random_block random_words(unsigned long long group, unsigned place,
                                                     unsigned step, unsigned k0, unsigned k1)
{
    unsigned a = (unsigned)group, b = (unsigned)(group >> 32), c = place, d = step;
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned p = __umulhi(a, 0xD2511F53u), p_low = a * 0xD2511F53u;
        unsigned q = __umulhi(c, 0xCD9E8D57u), q_low = c * 0xCD9E8D57u;
        a = q ^ b ^ k0;
        b = q_low;
        c = p ^ d ^ k1;
        d = p_low;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{a, b, c, d}};
}

// Which elements of a row dropout keeps. Remembers the last block, because neighbours share it.
struct dropout {
    unsigned limit, place, step, k0, k1;
    unsigned long long group = ~0ull;
    random_block words = {};

    __device__ dropout(unsigned limit, unsigned place, unsigned step, unsigned k0, unsigned k1)
        : limit(limit), place(place), step(step), k0(k0), k1(k1)
    {
    }
    __device__ __forceinline__ bool keeps(unsigned long long i)
    {
        if (i / 8 != group) {
            group = i / 8;
            words = random_words(group, place, step, k0, k1);
        }
        unsigned lane = (unsigned)i % 8;
        unsigned w = lane < 4 ? (lane < 2 ? words.w[0] : words.w[1]) : (lane < 6 ? words.w[2] : words.w[3]);
        return (w >> (16 * (lane & 1)) & 0xffffu) >= limit;
    }
    __device__ __forceinline__ float scale() const { return 65536.f / (65536.f - (float)limit); }
};

extern "C" __global__ void __launch_bounds__(256)
    product(const float *x, const float *w, const float *bias, const int *node, float *y, int M, int N,
            int K, int accumulate, int has_bias, int slope_ppm, unsigned limit, unsigned seed_low,
            unsigned seed_high, unsigned step, unsigned place)
{
    __shared__ float a[kStep][kTile + 4], b[kStep][kTile];
    int t = threadIdx.x, row = t / 16 * 4, column = t % 16 * 4;
    int n0 = blockIdx.x * kTile;
    float slope = (float)(slope_ppm / 1e6);
    for (long long m0 = (long long)blockIdx.y * kTile; m0 < M; m0 += (long long)gridDim.y * kTile) {
        float sum[4][4] = {};
        for (int k0 = 0; k0 < K; k0 += kStep) {
            for (int i = t; i < kTile * kStep; i += 256) {
                int r = i / kStep, k = i % kStep;
                a[k][r] = m0 + r < M && k0 + k < K ? x[(m0 + r) * K + k0 + k] : 0.f;
            }
            for (int i = t; i < kTile * kStep; i += 256) {
                int k = i / kTile, c = i % kTile;
                b[k][c] = k0 + k < K && n0 + c < N ? w[(long long)(k0 + k) * N + n0 + c] : 0.f;
            }
            __syncthreads();
#pragma unroll
            for (int k = 0; k < kStep; k++) {
                float4 u = *reinterpret_cast<const float4 *>(&a[k][row]);
                float4 v = *reinterpret_cast<const float4 *>(&b[k][column]);
                float p[4] = {u.x, u.y, u.z, u.w}, q[4] = {v.x, v.y, v.z, v.w};
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++)
                        sum[i][j] = fmaf(p[i], q[j], sum[i][j]);
            }
            __syncthreads();
        }
        dropout drop(limit, place, step, seed_low, seed_high);
        for (int i = 0; i < 4; i++) {
            long long m = m0 + row + i;
            for (int j = 0; j < 4 && m < M; j++) {
                int n = n0 + column + j;
                if (n >= N)
                    break;
                float v = sum[i][j];
                if (accumulate)
                    v += y[m * N + n];
                if (has_bias)
                    v += bias[n];
                if (v < 0)
                    v = slope_ppm ? slope * v : 0.f;
                if (limit)
                    v = drop.keeps((unsigned long long)node[m] * N + n) ? drop.scale() * v : 0.f;
                y[m * N + n] = v;
            }
        }
    }
}
