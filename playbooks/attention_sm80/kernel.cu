/* hone-plan
{ "launches": [
    { "kernel": "flash<64>", "when": "@{whole} && max(@{D}, @{E}) <= 64", "grid": ["@{Z}*cdiv(@{M}, @{warps}*@{rows})"], "block": ["32*@{warps}"],
      "smem": "128*(@{warps}*@{rows} + @{stages}*@{keys})", "args": [@{list}] },
    { "kernel": "flash<96>", "when": "@{whole} && max(@{D}, @{E}) > 64 && max(@{D}, @{E}) <= 96", "grid": ["@{Z}*cdiv(@{M}, @{warps}*@{rows})"], "block": ["32*@{warps}"],
      "smem": "256*(@{warps}*@{rows} + @{stages}*@{keys})", "args": [@{list}] },
    { "kernel": "flash<128>", "when": "@{whole} && max(@{D}, @{E}) > 96 && max(@{D}, @{E}) <= 128", "grid": ["@{Z}*cdiv(@{M}, @{warps}*@{rows})"], "block": ["32*@{warps}"],
      "smem": "256*(@{warps}*@{rows} + @{stages}*@{keys})", "args": [@{list}] },
    { "kernel": "flash<256>", "when": "@{whole} && max(@{D}, @{E}) > 128 && max(@{D}, @{E}) <= 256", "grid": ["@{Z}*cdiv(@{M}, 16*@{warps})"], "block": ["32*@{warps}"],
      "smem": "512*(16*@{warps} + min(@{stages}, 3)*min(@{keys}, 64))", "args": [@{list}] },
    { "kernel": "wide<@{tall}, true, true>", "when": "@{whole} && max(@{D}, @{E}) > 256 && @{N} <= 32768/@{tall}",
      "grid": ["@{Z}*cdiv(@{M}, @{tall})"], "block": [256],
      "smem": "@{slots}*128*(@{tall} + 256) + 65536 + 32*@{tall}", "args": [@{list}] },
    { "kernel": "wide<@{tall}, false, true>", "when": "@{whole} && max(@{D}, @{E}) > 256 && @{N} > 32768/@{tall}",
      "grid": ["@{Z}*cdiv(@{M}, @{tall})*cdiv(@{E}, 32768/@{tall})"], "block": [256],
      "smem": "@{slots}*32768 + 256*@{tall} + 32*@{tall}", "args": [@{list}] },
    { "kernel": "wide<64, false, false>", "when": "!(@{whole})",
      "grid": ["@{Z}*cdiv(@{M}, 64)*cdiv(@{E}, 512)"], "block": [256],
      "smem": "@{slots}*32768 + 256*64 + 32*64", "args": [@{list}] } ] }
*/
// O = softmax(score(Q K^T)) V for each matrix of a batch, without storing the scores: the softmax of
// a row is built up tile by tile of keys. On tensor cores by mma.sync, for Ampere and later.
//
// A row keeps the largest score so far, the sum of its weights and the weighted sum of V. If a tile
// has a larger score, both sums are scaled down. Scores, weights and sums are float32; the weights
// are rounded for the second product. Scores are in units of log(2), so that a weight is one ex2.
//
// flash<HD> serves rows of up to HD elements. A warp has some rows of Q and all of their output in
// registers, and the fragments of the scores become the fragments of the weights. Tiles of K and V
// come by cp.async into a ring of slots: K, V, K, V, ...
//
// wide<> serves any width. Its warps are 2 down and 4 across. They make the scores of a tile from
// pieces of Q and K of 64 columns. The weights go to shared memory, because all four warps of a row
// need all of them. If there are at most 32768 / kBM keys (kOnce), a block keeps the weights of all
// keys, and makes all columns of the output from them, one part after the other. Otherwise it makes
// one part of at most 32768 / kBM columns, and blocks with other parts make the same scores. Without
// kWhole, it copies element by element, which serves any size and address.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{Q:type};
constexpr int kWarps = @{warps};
constexpr int kThreads = 32 * kWarps;
constexpr bool kPlain = @{plain};   // a score is the product times `scale`, except for the band
constexpr bool kMasked = @{masked}; // only keys with kFrom <= n - m <= kTo count
constexpr int64_t kFrom = @{keep_from}, kTo = @{keep_to};
constexpr float kLog2e = 1.44269504f;

@{part:values}

// The scores of a matrix depend on these values, besides the product of Q and K.
struct Extra {
    @{fields}
};

__device__ float infinity()
{
    return __int_as_float(0x7f800000);
}

__device__ float scale_of(const Extra &e, int D)
{
    return @{scale};
}

// The score of query m and key n; v is their product.
__device__ float score(float v, const Extra &e, int64_t m, int64_t n, int64_t N, int D)
{
    return @{score};
}

@{part:half_mma}

__device__ float power_of_2(float x)
{
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

// The four lanes that share a row of a fragment.
__device__ float quad_max(float v)
{
    v = fmaxf(v, __shfl_xor_sync(~0u, v, 1));
    return fmaxf(v, __shfl_xor_sync(~0u, v, 2));
}

__device__ float quad_sum(float v)
{
    v += __shfl_xor_sync(~0u, v, 1);
    return v + __shfl_xor_sync(~0u, v, 2);
}

// ---- tiles --------------------------------------------------------------------------------------

// Exchanges words in each four lanes: lane i gets word i of all four.
__device__ void turn(uint32_t (&w)[4])
{
    int lane = threadIdx.x;
    CUTE_UNROLL
    for (int k = 0; k < 2; k++) {
        int step = 1 << k;
        bool high = lane & step;
        CUTE_UNROLL
        for (int i = 0; i < 4; i++) {
            if (i & step)
                continue;
            uint32_t mine = high ? w[i] : w[i + step];
            uint32_t other = __shfl_xor_sync(~0u, mine, step);
            if (high)
                w[i] = other;
            else
                w[i + step] = other;
        }
    }
}

// Stores 16 rows from `row` on and 8 * kN columns from `col` on, each row times its factor.
template <bool kWhole, int kN>
__device__ void store_rows(T *O, const float (&o)[kN][4], const float *factor, const bool *any, int row, int M,
                           int col, int E)
{
    int lane = threadIdx.x % 32;
    CUTE_UNROLL
    for (int h = 0; h < 2; h++) {
        int m = row + lane / 4 + 8 * h;
        CUTE_UNROLL
        for (int n = 0; n < kN; n += 4) {
            uint32_t w[4];
            CUTE_UNROLL
            for (int k = 0; k < 4; k++)
                w[k] = any[h] ? pack(o[n + k][2 * h] * factor[h], o[n + k][2 * h + 1] * factor[h])
                              : pack(@{empty}, @{empty});
            turn(w);
            int c = col + 8 * (n + lane % 4);
            T *to = O + int64_t(m) * E + c;
            if constexpr (kWhole) {
                if (m < M && c < E)
                    *reinterpret_cast<uint4 *>(to) = make_uint4(w[0], w[1], w[2], w[3]);
            } else {
                CUTE_UNROLL
                for (int k = 0; k < 8; k++) {
                    uint16_t bits = w[k / 2] >> 16 * (k % 2);
                    if (m < M && c + k < E)
                        to[k] = reinterpret_cast<T &>(bits);
                }
            }
        }
    }
}

// ---- scores -------------------------------------------------------------------------------------

struct Problem {
    Extra extra;
    int M, N, D;
    float unit; // a score in units of log(2) is this times an element that turn_to_scores() leaves
    bool negative;

    __device__ Problem(const Extra &e, int M, int N, int D) : extra(e), M(M), N(N), D(D)
    {
        float scale = kPlain ? scale_of(e, D) : 1.f;
        negative = scale < 0;
        unit = fmaxf(fabsf(scale) * kLog2e, 1e-37f); // not 0, because -inf * 0 is not a number
    }

    // The keys that count for some of the queries m0 to m1 - 1.
    __device__ int2 keys_of(int m0, int m1) const
    {
        int64_t from = 0, to = N;
        if (kMasked) {
            from = max(from, m0 + kFrom);
            to = min(to, min(m1, M) - 1 + kTo + 1);
        }
        return {int(min(from, int64_t(N))), int(max(to, int64_t(0)))};
    }

    // Turns products into scores, for a tile whose element 0 is query m and key n; element i belongs to
    // query m + 8 * (i / 2) and key n + i % 2. Elements outside of the tile become -inf.
    template <int kN>
    __device__ void turn_to_scores(float (&s)[kN][4], int m, int n) const
    {
        CUTE_UNROLL
        for (int k = 0; k < kN; k++) {
            CUTE_UNROLL
            for (int i = 0; i < 4; i++) {
                int64_t q = m + 8 * (i / 2), key = n + 8 * k + i % 2;
                bool inside = key < N && (!kMasked || (key - q >= kFrom && key - q <= kTo));
                if constexpr (kPlain)
                    s[k][i] = inside ? s[k][i] : -infinity();
                else
                    s[k][i] = inside && q < M ? score(s[k][i], extra, q, key, N, D) : -infinity();
            }
        }
    }

    // Does every element of a tile count, so that a plain tile can stay as it is?
    __device__ bool is_inside(int m, int rows, int n, int cols) const
    {
        bool all = kPlain && n + cols <= N;
        if (kMasked)
            all = all && n - (m + rows - 1) >= kFrom && n + cols - 1 - m <= kTo;
        return all;
    }
};

template <int kN>
__device__ void change_signs(float (&s)[kN][4])
{
    CUTE_UNROLL
    for (int k = 0; k < kN; k++)
        CUTE_UNROLL
        for (int i = 0; i < 4; i++)
            s[k][i] = -s[k][i];
}

template <int kN>
__device__ float row_max(const float (&s)[kN][4], int h)
{
    float most = s[0][2 * h];
    CUTE_UNROLL
    for (int k = 0; k < kN; k++)
        most = fmaxf(most, fmaxf(s[k][2 * h], s[k][2 * h + 1]));
    return quad_max(most);
}

// Turns the scores of a row into weights, packed in pairs, and returns their sum in this lane.
template <int kN>
__device__ float weigh(const float (&s)[kN][4], uint32_t (&w)[kN][2], int h, float unit, float most)
{
    float sum = 0;
    CUTE_UNROLL
    for (int k = 0; k < kN; k++) {
        float a = power_of_2(fmaf(s[k][2 * h], unit, -most));
        float b = power_of_2(fmaf(s[k][2 * h + 1], unit, -most));
        w[k][h] = pack(a, b);
        sum += a + b;
    }
    return sum;
}

template <int kN>
__device__ void rescale(float (&o)[kN][4], int h, float by)
{
    CUTE_UNROLL
    for (int k = 0; k < kN; k++) {
        o[k][2 * h] *= by;
        o[k][2 * h + 1] *= by;
    }
}

template <int kM, int kN>
__device__ void clear_all(float (&c)[kM][kN][4])
{
    CUTE_UNROLL
    for (int m = 0; m < kM; m++)
        CUTE_UNROLL
        for (int n = 0; n < kN; n++)
            CUTE_UNROLL
            for (int i = 0; i < 4; i++)
                c[m][n][i] = 0;
}

// ---- rows of up to 256 elements -----------------------------------------------------------------

template <int HD>
struct Flash {
    static constexpr int kRows = HD <= 128 ? @{rows} : 16; // of a warp
    static constexpr int kM = kRows / 16, kBM = kRows * kWarps;
    static constexpr int kBN = HD <= 128 || @{keys} < 64 ? @{keys} : 64;
    static constexpr int kStages = HD <= 128 || @{stages} < 3 ? @{stages} : 3;
    static constexpr int kPanels = (HD + 63) / 64;
    static constexpr int kTileBytes = kBN * kPanels * 128;
    static constexpr bool kKeepQ = kM == 1 && HD <= 128; // Q stays in registers
};

template <int HD>
__global__ void __launch_bounds__(kThreads)
    flash(const T *Q, const T *K, const T *V, T *O, @{params}int M, int N, int D, int E)
{
    using S = Flash<HD>;
    constexpr int kM = S::kM, kBM = S::kBM, kBN = S::kBN, kStages = S::kStages, kSteps = HD / 16;
    extern __shared__ __align__(1024) char smem[];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int tiles = ceil_div(M, kBM), tile = blockIdx.x % tiles;
    if (kMasked && kFrom < -(1LL << 31))
        tile = tiles - 1 - tile; // tiles with many keys come first
    int64_t z = blockIdx.x / tiles;
    Q += z * M * D, K += z * N * D, V += z * N * E, O += z * M * E;
    int m0 = tile * kBM, m = m0 + warp * S::kRows;
    Problem p(Extra{@{data}}, M, N, D);
    int2 keys = p.keys_of(m0, m0 + kBM);
    int first = keys.x / kBN, items = 2 * max(ceil_div(keys.y, kBN) - first, 0);

    // Item t of the ring is tile t / 2 of K if t is even, else of V.
    char *ring = smem + kBM * S::kPanels * 128;
    int slot = 0, free = kStages - 1;
    auto load = [&](int t, int to) {
        if (t < items) {
            char *at = ring + to * S::kTileBytes;
            int row = (first + t / 2) * kBN;
            if (t % 2)
                load_tile<kBN, HD, kThreads, true>(at, V, row, N, 0, E);
            else
                load_tile<kBN, HD, kThreads, true>(at, K, row, N, 0, D);
        }
        cp_async_fence(); // also when nothing is left, because the waits count groups
    };
    load_tile<kBM, HD, kThreads, true>(smem, Q, m0, M, 0, D);
    for (int t = 0; t < kStages - 1; t++)
        load(t, t);
    // Waits for item t, starts to load item t + kStages - 1, and returns the address of item t.
    auto next = [&](int t) {
        cp_async_wait<kStages - 2>();
        __syncthreads();
        load(t + kStages - 1, free);
        uint32_t at = shared_address(ring) + slot * S::kTileBytes;
        free = slot;
        slot = slot + 1 == kStages ? 0 : slot + 1;
        return at;
    };

    // Where this lane's rows for ldmatrix begin. Steps of 16 columns change bits 5 and 6.
    int swizzle = lane % 8 * 16;
    uint32_t q_at = shared_address(smem) + (warp * S::kRows + lane % 16) * 128 + (lane / 16 * 16 ^ swizzle);
    int k_at = (lane % 8 + lane / 16 * 8) * 128 + (lane / 8 % 2 * 16 ^ swizzle);
    int v_at = lane % 16 * 128 + (lane / 16 * 16 ^ swizzle);

    uint32_t q[S::kKeepQ ? kSteps : 1][kM][4];
    auto load_q = [&](uint32_t (&a)[kM][4], int k) {
        CUTE_UNROLL
        for (int i = 0; i < kM; i++)
            load_matrices(a[i], (q_at ^ k % 4 * 32) + k / 4 * (kBM * 128) + i * 2048);
    };
    float o[kM][HD / 8][4], most[kM][2], sum[kM][2];
    clear_all(o);
    CUTE_UNROLL
    for (int i = 0; i < kM; i++)
        CUTE_UNROLL
        for (int h = 0; h < 2; h++) {
            most[i][h] = -infinity();
            sum[i][h] = 0;
        }

    for (int t = 0; t < items; t += 2) {
        int n = (first + t / 2) * kBN;
        float s[kM][kBN / 8][4];
        clear_all(s);
        uint32_t at = next(t) + k_at;
        if constexpr (S::kKeepQ)
            if (t == 0) {
                CUTE_UNROLL
                for (int k = 0; k < kSteps; k++)
                    load_q(q[k], k);
            }
        CUTE_UNROLL
        for (int k = 0; k < kSteps; k++) {
            uint32_t(&a)[kM][4] = q[S::kKeepQ ? k : 0];
            if constexpr (!S::kKeepQ)
                load_q(a, k);
            CUTE_UNROLL
            for (int j = 0; j < kBN / 16; j++) {
                uint32_t b[4];
                load_matrices(b, (at ^ k % 4 * 32) + k / 4 * (kBN * 128) + j * 2048);
                CUTE_UNROLL
                for (int i = 0; i < kM; i++) {
                    multiply(s[i][2 * j], a[i], b[0], b[1]);
                    multiply(s[i][2 * j + 1], a[i], b[2], b[3]);
                }
            }
        }

        bool inside = p.is_inside(m, S::kRows, n, kBN);
        uint32_t w[kM][kBN / 8][2];
        CUTE_UNROLL
        for (int i = 0; i < kM; i++) {
            if (p.negative)
                change_signs(s[i]);
            if (!inside)
                p.turn_to_scores(s[i], m + 16 * i + lane / 4, n + lane % 4 * 2);
            CUTE_UNROLL
            for (int h = 0; h < 2; h++) {
                float now = fmaxf(most[i][h], row_max(s[i], h) * p.unit);
                float base = now == -infinity() ? 0.f : now;
                float by = power_of_2(most[i][h] - base);
                most[i][h] = now;
                sum[i][h] = sum[i][h] * by + weigh(s[i], w[i], h, p.unit, base);
                rescale(o[i], h, by);
            }
        }

        at = next(t + 1) + v_at;
        CUTE_UNROLL
        for (int k = 0; k < kBN / 16; k++) {
            uint32_t a[kM][4];
            CUTE_UNROLL
            for (int i = 0; i < kM; i++)
                CUTE_UNROLL
                for (int h = 0; h < 4; h++)
                    a[i][h] = w[i][2 * k + h / 2][h % 2];
            CUTE_UNROLL
            for (int j = 0; j < HD / 16; j++) {
                uint32_t b[4];
                load_turned(b, (at ^ j % 4 * 32) + j / 4 * (kBN * 128) + k * 2048);
                CUTE_UNROLL
                for (int i = 0; i < kM; i++) {
                    multiply(o[i][2 * j], a[i], b[0], b[1]);
                    multiply(o[i][2 * j + 1], a[i], b[2], b[3]);
                }
            }
        }
    }
    cp_async_wait<0>();

    CUTE_UNROLL
    for (int i = 0; i < kM; i++) {
        float factor[2];
        bool any[2];
        CUTE_UNROLL
        for (int h = 0; h < 2; h++) {
            float all = quad_sum(sum[i][h]);
            any[h] = all != 0;
            factor[h] = 1.f / all;
        }
        store_rows<true>(O, o[i], factor, any, m + 16 * i, M, 0, E);
    }
}

// ---- rows of any length -------------------------------------------------------------------------

constexpr int kSlots = @{slots};

template <int kBM, bool kOnce, bool kWhole>
__global__ void __launch_bounds__(256, 1)
    wide(const T *Q, const T *K, const T *V, T *O, @{params}int M, int N, int D, int E)
{
    constexpr int kBN = kOnce ? 256 : 128, kBE = 32768 / kBM; // keys of a tile, columns of a part
    constexpr int kTiles = kOnce ? 128 / kBM : 1;             // tiles whose weights are kept
    constexpr int kKeys = 16384 / kBE;                        // keys of an item of V
    constexpr int kM = kBM / 32, kSN = kBN / 32, kON = kBE / 32; // fragments of a warp
    constexpr int kSlotBytes = kOnce ? (kBM + 256) * 128 : 32768;
    extern __shared__ __align__(1024) char smem[];
    char *weights = smem + kSlots * kSlotBytes;
    float *maxima = reinterpret_cast<float *>(weights + kBM * kTiles * kBN * 2), *sums = maxima + 4 * kBM;
    int lane = threadIdx.x % 32, down = threadIdx.x / 128, across = threadIdx.x / 32 % 4;

    int parts = kOnce ? 1 : ceil_div(E, kBE), tiles = ceil_div(M, kBM);
    int part = blockIdx.x % parts, tile = blockIdx.x / parts % tiles;
    int64_t z = blockIdx.x / parts / tiles;
    Q += z * M * D, K += z * N * D, V += z * N * E, O += z * M * E;
    int m0 = tile * kBM, m = down * (kBM / 2); // m: this warp's rows in the tile
    Problem p(Extra{@{data}}, M, N, D);
    int2 keys = p.keys_of(m0, m0 + kBM);
    int first = kOnce ? 0 : keys.x / kBN;
    int end = kOnce ? 1 : ceil_div(keys.y, kBN);
    int pieces = ceil_div(D, 64), groups = kOnce ? ceil_div(N, kKeys) : kBN / kKeys;
    int kept = kOnce ? min(kTiles, ceil_div(N, kBN)) : 1;
    int own = kOnce ? ceil_div(E, kBE) : 1; // the parts of the output that this block makes

    // The ring has the pieces of Q and K for `kept` tiles of keys, then the groups of V of each part.
    int slot = 0, free = kSlots - 1, load_tile_at = first, load_item = 0, load_part = 0;
    auto load = [&](int to) {
        char *at = smem + to * kSlotBytes;
        int n = load_tile_at * kBN;
        if (load_tile_at < end) {
            if (load_item < kept * pieces) {
                int i = load_item, tile = 0;
                if (kTiles > 1 && i >= pieces) {
                    i -= pieces;
                    tile = 1;
                }
                load_tile<kBM, 64, 256, kWhole>(at, Q, m0, M, 64 * i, D);
                load_tile<kBN, 64, 256, kWhole>(at + kBM * 128, K, n + tile * kBN, N, 64 * i, D);
            } else {
                load_tile<kKeys, kBE, 256, kWhole>(at, V, n + kKeys * (load_item - kept * pieces), N,
                                                   kBE * (part + load_part), E);
            }
            if (++load_item == kept * pieces + groups) {
                load_part++;
                load_item = kept * pieces;
                if (load_part == own) {
                    load_item = load_part = 0;
                    load_tile_at++;
                }
            }
        }
        cp_async_fence(); // also when nothing is left, because the waits count groups
    };
    auto next = [&] {
        cp_async_wait<kSlots - 2>();
        __syncthreads();
        load(free);
        uint32_t at = shared_address(smem) + slot * kSlotBytes;
        free = slot;
        slot = slot + 1 == kSlots ? 0 : slot + 1;
        return at;
    };
    for (int i = 0; i < kSlots - 1; i++)
        load(i);

    // Where this lane's rows for ldmatrix begin. Steps of 16 columns change bits 5 and 6.
    int swizzle = lane % 8 * 16;
    int a_at = (m + lane % 16) * 128 + (lane / 16 * 16 ^ swizzle);
    int k_at = (kBM + across * (kBN / 4) + lane % 8 + lane / 16 * 8) * 128 + (lane / 8 % 2 * 16 ^ swizzle);
    int v_at = lane % 16 * 128 + (lane / 16 * 16 ^ swizzle);
    uint32_t w_at = shared_address(weights) + a_at;

    float o[kM][kON][4], most[kM][2], sum[kM][2];
    CUTE_UNROLL
    for (int i = 0; i < kM; i++)
        CUTE_UNROLL
        for (int h = 0; h < 2; h++) {
            most[i][h] = -infinity();
            sum[i][h] = 0;
        }
    if (!kOnce)
        clear_all(o);

    // Adds up the sums of the four warps of each row, and stores part `c` of the output.
    auto store = [&](int c) {
        CUTE_UNROLL
        for (int i = 0; i < kM; i++) {
            float factor[2];
            bool any[2];
            CUTE_UNROLL
            for (int h = 0; h < 2; h++) {
                const float *of = sums + m + 16 * i + lane / 4 + 8 * h;
                float all = of[0] + of[kBM] + of[2 * kBM] + of[3 * kBM];
                any[h] = all != 0;
                factor[h] = 1.f / all;
            }
            store_rows<kWhole>(O, o[i], factor, any, m0 + m + 16 * i, M, kBE * c + across * (kBE / 4), E);
        }
    };
    auto share_sums = [&] {
        CUTE_UNROLL
        for (int i = 0; i < kM; i++)
            CUTE_UNROLL
            for (int h = 0; h < 2; h++) {
                float all = quad_sum(sum[i][h]);
                if (lane % 4 == 0)
                    sums[across * kBM + m + 16 * i + lane / 4 + 8 * h] = all;
            }
    };

    for (int j = first; j < end; j++) {
        float s[kTiles][kM][kSN][4];
        CUTE_UNROLL
        for (int t = 0; t < kTiles; t++) {
            clear_all(s[t]);
            for (int d = 0; t < kept && d < pieces; d++) {
                uint32_t at = next();
                CUTE_UNROLL
                for (int k = 0; k < 4; k++) {
                    uint32_t a[kM][4];
                    CUTE_UNROLL
                    for (int i = 0; i < kM; i++)
                        load_matrices(a[i], ((at + a_at) ^ k * 32) + i * 2048);
                    CUTE_UNROLL
                    for (int n = 0; n < kSN / 2; n++) {
                        uint32_t b[4];
                        load_matrices(b, ((at + k_at) ^ k * 32) + n * 2048);
                        CUTE_UNROLL
                        for (int i = 0; i < kM; i++) {
                            multiply(s[t][i][2 * n], a[i], b[0], b[1]);
                            multiply(s[t][i][2 * n + 1], a[i], b[2], b[3]);
                        }
                    }
                }
            }
        }

        // The largest score of each row, over the four warps that share it.
        float now[kM][2];
        CUTE_UNROLL
        for (int t = 0; t < kTiles; t++) {
            int n = (j + t) * kBN + across * (kBN / 4);
            bool inside = p.is_inside(m0 + m, kBM / 2, n, kBN / 4);
            CUTE_UNROLL
            for (int i = 0; i < kM; i++) {
                if (p.negative)
                    change_signs(s[t][i]);
                if (!inside)
                    p.turn_to_scores(s[t][i], m0 + m + 16 * i + lane / 4, n + lane % 4 * 2);
                CUTE_UNROLL
                for (int h = 0; h < 2; h++) {
                    float most = row_max(s[t][i], h);
                    now[i][h] = t ? fmaxf(now[i][h], most) : most;
                }
            }
        }
        CUTE_UNROLL
        for (int i = 0; i < kM; i++)
            CUTE_UNROLL
            for (int h = 0; h < 2; h++)
                if (lane % 4 == 0)
                    maxima[across * kBM + m + 16 * i + lane / 4 + 8 * h] = now[i][h];
        __syncthreads();
        CUTE_UNROLL
        for (int i = 0; i < kM; i++) {
            CUTE_UNROLL
            for (int h = 0; h < 2; h++) {
                int row = m + 16 * i + lane / 4 + 8 * h;
                const float *of = maxima + row;
                float now = fmaxf(fmaxf(of[0], of[kBM]), fmaxf(of[2 * kBM], of[3 * kBM])) * p.unit;
                now = fmaxf(most[i][h], now);
                float base = now == -infinity() ? 0.f : now;
                float by = power_of_2(most[i][h] - base);
                most[i][h] = now;
                sum[i][h] *= by;
                if (!kOnce)
                    rescale(o[i], h, by);
                CUTE_UNROLL
                for (int t = 0; t < kTiles; t++) {
                    uint32_t w[kSN][2];
                    sum[i][h] += weigh(s[t][i], w, h, p.unit, base);
                    CUTE_UNROLL
                    for (int n = 0; n < kSN; n++) {
                        int eight = t * (kBN / 8) + across * kSN + n;
                        *reinterpret_cast<uint32_t *>(weights + place<kBM>(row, eight) + lane % 4 * 4) = w[n][h];
                    }
                }
            }
        }
        if (kOnce)
            share_sums();

        for (int c = 0; c < own; c++) {
            if (kOnce)
                clear_all(o);
            for (int g = 0; g < groups; g++) {
                uint32_t at = next() + v_at;
                CUTE_UNROLL
                for (int k = 0; k < kKeys / 16; k++) {
                    int key = g * (kKeys / 16) + k; // in steps of 16
                    uint32_t a[kM][4];
                    CUTE_UNROLL
                    for (int i = 0; i < kM; i++)
                        load_matrices(a[i], (w_at ^ key % 4 * 32) + key / 4 * (kBM * 128) + i * 2048);
                    CUTE_UNROLL
                    for (int n = 0; n < kON / 2; n++) {
                        int col = across * (kON / 2) + n; // in steps of 16
                        uint32_t b[4];
                        load_turned(b, (at ^ col % 4 * 32) + col / 4 * (kKeys * 128) + k * 2048);
                        CUTE_UNROLL
                        for (int i = 0; i < kM; i++) {
                            multiply(o[i][2 * n], a[i], b[0], b[1]);
                            multiply(o[i][2 * n + 1], a[i], b[2], b[3]);
                        }
                    }
                }
            }
            if (kOnce)
                store(part + c);
        }
    }
    cp_async_wait<0>();
    if (!kOnce) {
        share_sums();
        __syncthreads();
        store(part);
    }
}
