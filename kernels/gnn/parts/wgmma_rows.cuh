// Many rows times a small matrix, which stays in shared memory. kCols of the matrix's columns and the whole
// sum belong to a block. Its two consumer warpgroups multiply tiles of 64 rows, each its own, so that one
// multiplies while the other finishes its tile. A thread for each consumer asks TMA for the rows, in pieces
// of 32 columns, into a ring of stages. Two mbarriers per stage join them: `full` completes when the bytes
// have arrived, `empty` when the consumer has the stage in registers. A product may have two terms: the
// pieces of the second follow those of the first. The kernel that includes this says how many stages the ring has
// (kRowStages).
#include "wgmma.cuh"

// Columns of a block, for sums of up to kDeepest terms: the matrix takes at most 128 KB. For sums of up to 128 terms
// a block has kWideCols.
constexpr int kDeepCols = kThree ? 64 : 128, kDeepest = kHalf ? 512 : 256;

template <int kCols, int kSlots>
struct rows_smem {
    float s[kCopies][kSlots][kCols * kWords];
    float r[2][kRowStages][64 * kPiece];
    uint64_t full[2][kRowStages], empty[2][kRowStages];
};

extern __shared__ __align__(1024) char wgmma_bytes[];

// Fills the pieces of the matrices, from column n0 on. fetch(v, n, k, term) gives v[i][j], the element of
// column n + i for step k + j of the term's sum, or 0 outside the matrix.
template <int kCols, int kSlots, class Fetch>
__device__ __forceinline__ void fill_matrix(rows_smem<kCols, kSlots> &smem, int pieces, int pieces_of_term, int n0,
                                            const Fetch &fetch)
{
    // A lane for each part writes a row's 128 bytes, or 64.
    constexpr int kAtOnce = Fetch::kColumns, kTurns = kCols / kAtOnce, kParts = kWords / 4;
    for (int v = threadIdx.x - 128; v < pieces * kTurns * kParts; v += kConsumers) {
        int p = v % kParts, n = v / kParts % kTurns * kAtOnce, piece = v / kParts / kTurns;
        int term = piece >= pieces_of_term, k = (piece - term * pieces_of_term) * kPiece + kPiece / kParts * p;
        float square[kAtOnce][4];
        fetch(square, n0 + n, k, term);
        if constexpr (kHalf) {
            float second[kAtOnce][4];
            fetch(second, n0 + n, k + 4, term);
#pragma unroll
            for (int i = 0; i < kAtOnce; i++)
                put_halves(smem.s[0][piece], n + i, p, square[i], second[i]);
        } else {
#pragma unroll
            for (int i = 0; i < kAtOnce; i++)
                put_split(smem.s[0][piece], smem.s[kCopies - 1][piece], n + i, p, square[i]);
        }
    }
    cutlass::arch::fence_view_async_shared(); // WGMMA sees what was written
    cutlass::arch::NamedBarrier::sync(kConsumers, 1);
}

// The product of `rows` rows of `depth` columns with a matrix of `columns` columns, or the sum of two of them.
// The rows of the second are those of map2. finish(sum, m, n) gets the sums of a warp's 16 rows at (m, n). kHalf: the
// rows are multiplied by `scale` before they are rounded, and the sums are `scale` times too large.
template <int kCols, int kSlots, class Fetch, class Finish>
__device__ __forceinline__ void rows_product(const TmaDescriptor &map, const TmaDescriptor &map2, int terms, int rows,
                                             int columns, int depth, const Fetch &fetch, const Finish &finish,
                                             float scale = 1.f)
{
    auto &smem = *reinterpret_cast<rows_smem<kCols, kSlots> *>(wgmma_bytes);
    int across = (columns + kCols - 1) / kCols, down = (rows + 63) / 64;
    int pieces_of_term = (depth + kPiece - 1) / kPiece, pieces = terms * pieces_of_term;
    // Blocks that run at the same time take the same rows, which then come from the L2.
    int lanes = gridDim.x / across, lane = blockIdx.x / across, n0 = blockIdx.x % across * kCols;
    if (lane >= lanes)
        return;
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2 * kRowStages; s++) {
            ClusterBarrier::init(&smem.full[0][0] + s, 1);
            ClusterBarrier::init(&smem.empty[0][0] + s, 4);
        }
        cutlass::arch::fence_barrier_init();
    }
    __syncthreads();

    ring<kRowStages> at;
    if (threadIdx.x < 128) {
        cutlass::arch::warpgroup_reg_dealloc<kRegsFirst>();
        int group = threadIdx.x / 32;
        if (threadIdx.x % 32 != 0 || group >= 2)
            return;
        for (int tile = lane + lanes * group; tile < down; tile += 2 * lanes)
            for (int i = 0; i < pieces; i++, at.next()) {
                uint64_t *full = &smem.full[group][at.stage];
                ClusterBarrier::wait(&smem.empty[group][at.stage], at.phase ^ 1);
                ClusterTransactionBarrier::arrive_and_expect_tx(full, sizeof smem.r[0][0]);
                if (i < pieces_of_term)
                    ask(map, full, smem.r[group][at.stage], i * kPiece, tile * 64);
                else
                    ask(map2, full, smem.r[group][at.stage], (i - pieces_of_term) * kPiece, tile * 64);
            }
    } else {
        cutlass::arch::warpgroup_reg_alloc<kRegsConsumer>();
        fill_matrix(smem, pieces, pieces_of_term, n0, fetch);
        int group = threadIdx.x / 128 - 1, warp = threadIdx.x % 128 / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
        constexpr int kSets = kThree && kCols <= 64 ? 2 : 1; // as many as the registers hold
        multiplier<kCols, kSlots, kSets> m;
        for (int tile = lane + lanes * group; tile < down; tile += 2 * lanes) {
            float sum[kCols / 8][4] = {};
            auto step = [&](auto set, int i) {
                constexpr int kSet = decltype(set)::value;
                float v[kPiece / 2];
                const float *r = smem.r[group][at.stage];
                ClusterBarrier::wait(&smem.full[group][at.stage], at.phase);
#pragma unroll
                for (int e = 0; e < kPiece / 2; e++) // column e / 2 * 4 + t
                    v[e] = r[32 * (warp * 16 + e % 2 * 8 + g) + 4 * (e / 2 ^ g) + t];
                __syncwarp();
                if (threadIdx.x % 32 == 0)
                    ClusterBarrier::arrive(&smem.empty[group][at.stage]);
                at.next();
                if (kSets == 2)
                    m.template set<kSet>(v, scale);
                if (i > 0) { // the last product ran until here
                    m.template wait<0>();
                    if (kThree)
                        m.add_to(sum);
                }
                if (kSets == 1)
                    m.template set<kSet>(v, scale);
                m.template start<kSet>(smem.s[0][0], smem.s[kCopies - 1][0], i, kThree || i == 0);
            };
            if constexpr (kSets == 1) {
                for (int i = 0; i < pieces; i++)
                    step(cute::Int<0>{}, i);
            } else {
                for (int i = 0; i + 1 < pieces; i += 2) {
                    step(cute::Int<0>{}, i);
                    step(cute::Int<1>{}, i + 1);
                }
                if (pieces % 2)
                    step(cute::Int<0>{}, pieces - 1);
            }
            m.template wait<0>();
            m.add_to(sum);
            finish(sum, (long long)tile * 64 + warp * 16, n0);
        }
    }
}

// Whether a warp's 16 x kCols elements at (m0, n0) all lie in a matrix of rows x columns and their sums are finite.
// Then a kernel needs no test for each element.
template <int kFragments>
__device__ __forceinline__ bool plain_tile(const float (&sum)[kFragments][4], long long m0, int n0, int rows,
                                           int columns)
{
    float probe[4] = {}; // 0, or NaN after a sum that is not finite
#pragma unroll
    for (int j = 0; j < kFragments; j++)
#pragma unroll
        for (int c = 0; c < 4; c++)
            probe[c] = fmaf(sum[j][c], 0.f, probe[c]);
    bool inside = m0 + 16 <= rows && n0 + 8 * kFragments <= columns;
    return __all_sync(~0u, inside && probe[0] + probe[1] + probe[2] + probe[3] == 0.f);
}

// Adds a warp's 16 x kCols elements of `out` at (m0, n0), a matrix of rows x columns, to its sums.
template <int kFragments>
__device__ __forceinline__ void add_old(float (&sum)[kFragments][4], const float *out, long long m0, int n0, int rows,
                                        int columns)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int j = 0; j < kFragments; j++) {
            long long m = m0 + g + 8 * h;
            int n = n0 + 8 * j + 2 * t;
            if (m >= rows || n >= columns)
                continue;
            float2 old = *reinterpret_cast<const float2 *>(out + m * columns + n);
            sum[j][2 * h] += old.x;
            sum[j][2 * h + 1] += old.y;
        }
}
