/* hone-plan
{ "launches": [
    { "kernel": "product_vec", "grid": ["cdiv(N, 64)", "min(cdiv(M, 128), 65535)"], "block": [128], "smem": 59392,
      "when": "K >= 32 && K % 4 == 0 && N % 4 == 0 && (N % 8 == 0 || LIMIT == 0) && min(min(alignof(x), alignof(w)), alignof(y)) >= 16",
      "args": ["x", "w", "bias", "node", "y", "M", "N", "K", "ADD", "BIAS", "SLOPE", "LIMIT", "SEED_LO",
               "SEED_HI", "STEP", "PLACE"] },
    { "kernel": "product_any", "grid": ["cdiv(N, 64)", "min(cdiv(M, 64), 65535)"], "block": [256],
      "when": "!(K >= 32 && K % 4 == 0 && N % 4 == 0 && (N % 8 == 0 || LIMIT == 0) && min(min(alignof(x), alignof(w)), alignof(y)) >= 16)",
      "args": ["x", "w", "bias", "node", "y", "M", "N", "K", "ADD", "BIAS", "SLOPE", "LIMIT", "SEED_LO",
               "SEED_HI", "STEP", "PLACE"] } ] }
*/
// A block makes tiles of 128 x 64 elements of y on the tensor cores, a warp 64 x 32 of them. cp.async
// brings pieces of x and w into a ring of stages. The epilogue works on the sums in registers. Other
// addresses and sizes, and short sums, take product_any, with plain arithmetic.
constexpr int kHigh = 128, kWide = 64, kStep = 16, kStages = 4, kThreads = 128;
constexpr bool kThree = false, kTurnedA = false, kTurnedB = false;
constexpr int kPitchA = kTurnedA ? kHigh + 8 : kStep + 4, kPitchB = kTurnedB ? kStep + 4 : kWide + 8;

// A float is nearly the sum of two TF32 numbers: `hi` has its upper 11 bits, `lo` the others. The product
// of two such sums is hi*hi + hi*lo + lo*hi; lo*lo is too small to matter. TF32 alone takes hi*hi.
__device__ __forceinline__ unsigned to_tf32(float v)
{
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return r;
}

__device__ __forceinline__ void split(float v, unsigned &hi, unsigned &lo)
{
    hi = to_tf32(v);
    if (kThree)
        lo = to_tf32(v - __uint_as_float(hi));
}

__device__ __forceinline__ void multiply_add(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Brings a tile of `high` x `wide` elements of a matrix, from (row0, col0) on, into rows of `pitch`
// floats. Elements outside become 0. Addresses, col0 and cols are multiples of four floats.
template <int high, int wide, int pitch>
__device__ __forceinline__ void load_tile(float *to, const float *matrix, long long row0, int col0, long long rows,
                                          int cols)
{
    constexpr int kAcross = wide / 4;
#pragma unroll
    for (int i = 0; i < high * kAcross / kThreads; i++) {
        int v = threadIdx.x + i * kThreads, r = v / kAcross, c = v % kAcross * 4;
        bool inside = row0 + r < rows && col0 + c < cols;
        const float *from = inside ? matrix + (row0 + r) * cols + col0 + c : matrix;
        unsigned at = (unsigned)__cvta_generic_to_shared(to + r * pitch + c);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(inside ? 16 : 0));
    }
}

// Sums of one thread: fragment (i, j) has rows 16 i + g, 16 i + g + 8 and columns 8 j + 2 t, 8 j + 2 t + 1
// of the warp's 64 x 32 elements, where g = lane / 4 and t = lane % 4.
using sums = float[4][4][4];

// Adds the product of two tiles in shared memory. The three products of 8 steps have a sum of their own,
// the small ones first, because tensor cores cut off the low bits of their sums.
__device__ __forceinline__ void multiply(sums &sum, const float *a, const float *b, int m0, int n0)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int k0 = 0; k0 < kStep; k0 += 8) {
        unsigned ah[4][4], al[4][4], bh[4][2], bl[4][2];
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int q = 0; q < 4; q++) {
                int m = m0 + 16 * i + g + q % 2 * 8, k = k0 + t + q / 2 * 4;
                split(a[kTurnedA ? k * kPitchA + m : m * kPitchA + k], ah[i][q], al[i][q]);
            }
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int q = 0; q < 2; q++) {
                int n = n0 + 8 * j + g, k = k0 + t + q * 4;
                split(b[kTurnedB ? n * kPitchB + k : k * kPitchB + n], bh[j][q], bl[j][q]);
            }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                if (kThree) {
                    float three[4] = {};
                    multiply_add(three, al[i], bh[j]);
                    multiply_add(three, ah[i], bl[j]);
                    multiply_add(three, ah[i], bh[j]);
#pragma unroll
                    for (int c = 0; c < 4; c++)
                        sum[i][j][c] += three[c];
                } else {
                    multiply_add(sum[i][j], ah[i], bh[j]);
                }
            }
    }
}

// The product of A (rows x depth) and B (depth x columns) for the tile at (m0, n0), over the depths first
// to end - 1. Tiles come into a ring of stages in shared memory.
__device__ __forceinline__ void tile_product(sums &sum, const float *A, const float *B, long long m0, int n0,
                                             long long rows, int columns, long long first, long long end,
                                             long long depth)
{
    extern __shared__ __align__(16) float smem[];
    constexpr int kSizeA = (kTurnedA ? kStep : kHigh) * kPitchA, kSizeB = (kTurnedB ? kWide : kStep) * kPitchB;
    float *smem_b = smem + kStages * kSizeA;
    int warp = threadIdx.x / 32, steps = (int)((end - first + kStep - 1) / kStep);
    auto load = [&](int i) {
        long long k0 = first + (long long)i * kStep;
        float *a = smem + i % kStages * kSizeA, *b = smem_b + i % kStages * kSizeB;
        if (i < steps) {
            if (kTurnedA)
                load_tile<kStep, kHigh, kPitchA>(a, A, k0, (int)m0, end, (int)rows);
            else
                load_tile<kHigh, kStep, kPitchA>(a, A, m0, (int)k0, rows, (int)depth);
            if (kTurnedB)
                load_tile<kWide, kStep, kPitchB>(b, B, n0, (int)k0, columns, (int)depth);
            else
                load_tile<kStep, kWide, kPitchB>(b, B, k0, n0, end, columns);
        }
        asm volatile("cp.async.commit_group;" ::); // also if nothing is left: the waits count groups
    };
#pragma unroll
    for (int i = 0; i < kStages - 1; i++)
        load(i);
    for (int i = 0; i < steps; i++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2));
        __syncthreads(); // tile i is there for all threads, and all are done with the stage that comes next
        load(i + kStages - 1);
        multiply(sum, smem + i % kStages * kSizeA, smem_b + i % kStages * kSizeB, warp / 2 * 64,
                         warp % 2 * 32);
    }
    asm volatile("cp.async.wait_group 0;" ::);
}

// The parts of an infinite or huge operand are not finite, and inf - inf is NaN, where the product may be
// infinite or finite. So elements that are not finite are computed again, by plain arithmetic. A thread
// notes them in a mask: one bit for the two columns of a row of a fragment.
__device__ __forceinline__ bool is_finite(float v)
{
    return (__float_as_uint(v) & 0x7f800000u) != 0x7f800000u;
}

// Element (m, n) of x w by plain arithmetic.
__device__ __noinline__ float plain_product(const float *x, const float *w, long long m, int n, int N, int K)
{
    float sum = 0;
    for (long long k = 0; k < K; k++)
        sum += x[m * K + k] * w[k * N + n];
    return sum;
}

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


struct epilogue {
    const float *bias;
    const int *node;
    int accumulate, has_bias;
    float slope;
    unsigned limit, place, step, k0, k1;

    // From the sum, the old value of y and the bias to the value before dropout.
    __device__ __forceinline__ float before_drop(float v, float old, float add) const
    {
        v += old + add;
        return v < 0 ? slope != 0 ? slope * v : 0.f : v;
    }
    __device__ __forceinline__ float scale() const { return 65536.f / (65536.f - (float)limit); }
};

// Two elements from (m, n) on, computed again.
__device__ __noinline__ void finish_again(const epilogue &ep, const float *x, const float *w, float *y, long long m,
                                          int n, int N, int K)
{
    dropout drop(ep.limit, ep.place, ep.step, ep.k0, ep.k1);
    for (int end = n + 2; n < end; n++) {
        float v = ep.before_drop(plain_product(x, w, m, n, N, K), ep.accumulate ? y[m * N + n] : 0.f,
                                 ep.has_bias ? ep.bias[n] : 0.f);
        if (ep.limit)
            v = drop.keeps((unsigned long long)ep.node[m] * N + n) ? ep.scale() * v : 0.f;
        y[m * N + n] = v;
    }
}

// The random words of a row for the elements of this thread: word j is for fragment j. N is a multiple of 8
// if there is dropout, so the eight elements of a row of a fragment, which four lanes share, have one block
// of random words, and lane t needs word t of it. Lane t makes the block of fragment t, and the lanes
// exchange words.
__device__ __forceinline__ void row_words(unsigned (&word)[4], const epilogue &ep, long long m, int n0, int M, int N)
{
    int t = threadIdx.x % 4, lane = threadIdx.x % 32;
    unsigned long long first = m < M ? (unsigned long long)ep.node[m] * N + n0 + 8 * t : 0;
    random_block b = random_words(first / 8, ep.place, ep.step, ep.k0, ep.k1);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        unsigned at = lane / 4 * 4 + j;
        unsigned w0 = __shfl_sync(~0u, b.w[0], at), w1 = __shfl_sync(~0u, b.w[1], at);
        unsigned w2 = __shfl_sync(~0u, b.w[2], at), w3 = __shfl_sync(~0u, b.w[3], at);
        word[j] = t < 2 ? (t == 0 ? w0 : w1) : (t == 2 ? w2 : w3);
    }
}

__device__ __forceinline__ void finish(const sums &sum, const epilogue &ep, const float *x, const float *w,
                                       float *y, long long m0, int n0, int M, int N, int K)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    float scale = ep.scale();
    unsigned bad = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            long long m = m0 + 16 * i + g + 8 * h;
            unsigned word[4] = {};
            if (ep.limit)
                row_words(word, ep, m, n0, M, N);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int n = n0 + 8 * j + 2 * t;
                if (m >= M || n >= N)
                    continue;
                float2 *at = reinterpret_cast<float2 *>(y + m * N + n);
                float2 old = ep.accumulate ? *at : make_float2(0.f, 0.f);
                float2 add = ep.has_bias ? make_float2(ep.bias[n], ep.bias[n + 1]) : make_float2(0.f, 0.f);
                float a = sum[i][j][2 * h], b = sum[i][j][2 * h + 1];
                if (!is_finite(a) || !is_finite(b)) {
                    bad |= 1u << (8 * i + 4 * h + j);
                    continue;
                }
                a = ep.before_drop(a, old.x, add.x);
                b = ep.before_drop(b, old.y, add.y);
                if (ep.limit) {
                    a = (word[j] & 0xffffu) >= ep.limit ? scale * a : 0.f;
                    b = word[j] >> 16 >= ep.limit ? scale * b : 0.f;
                }
                *at = make_float2(a, b);
            }
        }
    for (; bad; bad &= bad - 1) {
        int bit = __ffs(bad) - 1;
        finish_again(ep, x, w, y, m0 + bit / 8 * 16 + g + bit / 4 % 2 * 8, n0 + bit % 4 * 8 + 2 * t, N, K);
    }
}

extern "C" __global__ void __launch_bounds__(128, 3)
    product_vec(const float *x, const float *w, const float *bias, const int *node, float *y, int M, int N, int K,
                int accumulate, int has_bias, int slope_ppm, unsigned limit, unsigned seed_low,
                unsigned seed_high, unsigned step, unsigned place)
{
    epilogue ep = {bias,  node, accumulate, has_bias, (float)(slope_ppm / 1e6), limit,
                   place, step, seed_low,   seed_high};
    int warp = threadIdx.x / 32, n0 = blockIdx.x * kWide;
    for (long long m0 = (long long)blockIdx.y * kHigh; m0 < M; m0 += (long long)gridDim.y * kHigh) {
        sums sum = {};
        tile_product(sum, x, w, m0, n0, M, N, 0, K, K);
        finish(sum, ep, x, w, y, m0 + warp / 2 * 64, n0 + warp % 2 * 32, M, N, K);
        __syncthreads(); // the next tile overwrites the stages
    }
}

extern "C" __global__ void __launch_bounds__(256)
    product_any(const float *x, const float *w, const float *bias, const int *node, float *y, int M, int N, int K,
                int accumulate, int has_bias, int slope_ppm, unsigned limit, unsigned seed_low,
                unsigned seed_high, unsigned step, unsigned place)
{
    constexpr int kFew = 64;
    __shared__ float a[kStep][kFew + 4], b[kStep][kFew];
    int t = threadIdx.x, row = t / 16 * 4, column = t % 16 * 4;
    int n0 = blockIdx.x * kFew;
    float slope = (float)(slope_ppm / 1e6);
    for (long long m0 = (long long)blockIdx.y * kFew; m0 < M; m0 += (long long)gridDim.y * kFew) {
        float sum[4][4] = {};
        for (int k0 = 0; k0 < K; k0 += kStep) {
            for (int i = t; i < kFew * kStep; i += 256) {
                int r = i / kStep, k = i % kStep;
                a[k][r] = m0 + r < M && k0 + k < K ? x[(m0 + r) * K + k0 + k] : 0.f;
            }
            for (int i = t; i < kFew * kStep; i += 256) {
                int k = i / kFew, c = i % kFew;
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
