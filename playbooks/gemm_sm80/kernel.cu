/* hone-plan
{ "launches": [
    { "kernel": "gemm", "when": "@{ready}",
      "grid": ["@{Z}*cdiv(@{M}, @{bm})*cdiv(@{N}, @{bn})"], "block": ["32*@{warps}"],
      "smem": "max(@{stages}*(@{bm} + @{bn})*64, @{bm}*(@{bn} + 8))*2",
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_any", "when": "!(@{ready})",
      "grid": ["@{Z}*cdiv(@{M}, 16)*cdiv(@{N}, 16)"], "block": [16, 16],
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] } ] }
*/
// C = epilogue(A * B) in half precision, for each matrix of a batch, for Ampere and later: cp.async,
// ldmatrix, mma.sync. Either operand may be stored transposed.
//
// A block makes a tile of C with warps in two rows. Shared memory holds a ring of stages, each a
// tile of A and one of B, as they lie in memory; while one stage is multiplied, the others are on
// their way by cp.async. Outside the matrices cp.async fills with zeros (also past the end of a row, in
// units of 8 elements, which its length must be a multiple of). If neighbours along K do not lie side by
// side, ldmatrix turns the operand. The result goes through shared memory once more, to leave in rows
// of 16-byte stores. Shapes or addresses that cp.async cannot take go to a simple kernel at the end.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{A:type};
constexpr bool kAcrossA = @{across_a}; // A is stored in rows of M: neighbours along M lie side by side
constexpr bool kAcrossB = @{across_b}; // B is stored in rows of N
constexpr int kBM = @{bm};
constexpr int kBN = @{bn};
constexpr int kStages = @{stages};
constexpr int kWarps = @{warps};
constexpr int kGroup = @{group};
constexpr int kThreads = 32 * kWarps;
constexpr int kStageBytes = (kBM + kBN) * 128;
// A warp makes kHigh times 16 rows and kWide times 16 columns of the tile.
constexpr int kHigh = kBM / 32;
constexpr int kWide = kBN / (kWarps / 2) / 16;

@{part:epilogue}

@{part:half_mma}

// A tile of an operand in shared memory: kSize rows or columns of C, and 64 terms.
template <int kSize, bool kAcross>
struct Operand {
    static constexpr int kRows = kAcross ? 64 : kSize; // as it is stored
    static constexpr int kUnits = kAcross && kSize < 64 ? kSize / 8 : 8;

    __device__ static void load(char *to, const T *from, int first, int size, int k, int K)
    {
        if constexpr (kAcross)
            load_tile<64, kSize, kThreads, true>(to, from, k, K, first, size);
        else
            load_tile<kSize, 64, kThreads, true>(to, from, first, size, k, K);
    }

    // Where this lane's row for ldmatrix begins. The four 8x8 matrices of a fragment are a half of the
    // rows (columns) from `first` on and a half of 16 terms each. In A, the next matrix has the other
    // rows; in B, it has the other terms.
    __device__ static int lane_at(int first, bool is_a)
    {
        int lane = threadIdx.x % 32, next = lane / 8 % 2, last = lane / 16;
        int half = is_a ? next : last, terms = is_a ? last : next;
        return kAcross ? place<kRows, kUnits>(8 * terms + lane % 8, first / 8 + half)
                       : place<kRows, kUnits>(first + 8 * half + lane % 8, terms);
    }

    // Fragment i along M or N of step k; `at` is the lane's address of fragment 0 of step 0.
    __device__ static void fragment(uint32_t (&r)[4], uint32_t at, int i, int k)
    {
        constexpr int kPairs = kUnits / 2; // pieces of 16 elements in a row
        if constexpr (kAcross)
            load_turned(r, (at ^ i % kPairs * 32) + i / kPairs * (64 * 128) + k * (16 * 16 * kUnits));
        else
            load_matrices(r, (at ^ k * 32) + i * (16 * 128));
    }
};
using TileA = Operand<kBM, kAcrossA>;
using TileB = Operand<kBN, kAcrossB>;

struct Place {
    int m, n; // in tiles
    int64_t z;
};

// This block's tile: walks down kGroup tiles before the next column.
__device__ Place place_of_block(int M, int N)
{
    int down = ceil_div(M, kBM), across = ceil_div(N, kBN), z = blockIdx.x / (down * across);
    int at = blockIdx.x - z * down * across;
    int group = at / (kGroup * across), in_group = at % (kGroup * across);
    int first = group * kGroup, height = min(kGroup, down - first);
    return {first + in_group % height, in_group / height, z};
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm(const T *A, const T *B, T *C, @{params}int M, int N, int K)
{
    extern __shared__ __align__(1024) char smem[];
    Place tile = place_of_block(M, N);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, m0 = tile.m * kBM, n0 = tile.n * kBN;
    int row = warp % 2 * (16 * kHigh), col = warp / 2 * (16 * kWide); // of this warp, in the tile
    int64_t first = tile.z * M * N;
    A += tile.z * M * K;
    B += tile.z * N * K;
    C += first;

    int tiles = ceil_div(K, 64), slot = 0, free = kStages - 1;
    auto load = [&](int k, int to) {
        char *stage = smem + to * kStageBytes;
        if (k < tiles) {
            TileA::load(stage, A, m0, M, k * 64, K);
            TileB::load(stage + kBM * 128, B, n0, N, k * 64, K);
        }
        cp_async_fence(); // also when nothing is left, because the waits count groups
    };
    CUTE_UNROLL
    for (int k = 0; k < kStages - 1; k++)
        load(k, k);

    uint32_t a_at = shared_address(smem) + TileA::lane_at(row, true);
    uint32_t b_at = shared_address(smem) + kBM * 128 + TileB::lane_at(col, false);
    uint32_t a[2][kHigh][4], b[2][kWide][4];
    auto fetch = [&](int stage, int k) {
        CUTE_UNROLL
        for (int i = 0; i < kHigh; i++)
            TileA::fragment(a[k % 2][i], a_at + stage * kStageBytes, i, k);
        CUTE_UNROLL
        for (int j = 0; j < kWide; j++)
            TileB::fragment(b[k % 2][j], b_at + stage * kStageBytes, j, k);
    };
    float sum[kHigh][2 * kWide][4] = {};
    for (int t = 0; t < tiles; t++) {
        cp_async_wait<kStages - 2>(); // tile t has landed, for this thread
        __syncthreads();              // for all; and all are done with the stage that is loaded next
        load(t + kStages - 1, free);
        fetch(slot, 0);
        CUTE_UNROLL
        for (int k = 0; k < 4; k++) { // steps of 16 terms
            if (k < 3)
                fetch(slot, k + 1);
            CUTE_UNROLL
            for (int i = 0; i < kHigh; i++)
                CUTE_UNROLL
                for (int j = 0; j < kWide; j++) {
                    multiply(sum[i][2 * j], a[k % 2][i], b[k % 2][j][0], b[k % 2][j][1]);
                    multiply(sum[i][2 * j + 1], a[k % 2][i], b[k % 2][j][2], b[k % 2][j][3]);
                }
        }
        free = slot;
        slot = slot + 1 == kStages ? 0 : slot + 1;
    }
    cp_async_wait<0>();
    __syncthreads(); // the stages are free

    // Registers to shared memory to global memory.
    Extra extra{@{data}};
    constexpr int kPitch = kBN + 8; // 8 rows of a column of fragments then start in different banks
    T *out = reinterpret_cast<T *>(smem);
    CUTE_UNROLL
    for (int i = 0; i < kHigh; i++)
        CUTE_UNROLL
        for (int j = 0; j < 2 * kWide; j++)
            CUTE_UNROLL
            for (int h = 0; h < 2; h++) {
                int r = row + 16 * i + 8 * h + lane / 4, c = col + 8 * j + 2 * (lane % 4);
                float x = finish(sum[i][j][2 * h], extra, first, m0 + r, n0 + c, M, N);
                float y = finish(sum[i][j][2 * h + 1], extra, first, m0 + r, n0 + c + 1, M, N);
                *reinterpret_cast<uint32_t *>(out + r * kPitch + c) = pack(x, y);
            }
    __syncthreads();

    if (N % 8 == 0 && reinterpret_cast<size_t>(C) % 16 == 0) {
        CUTE_UNROLL
        for (int i = 0; i < kBM * kBN / 8 / kThreads; i++) {
            int v = threadIdx.x + i * kThreads, r = v / (kBN / 8), c = v % (kBN / 8) * 8;
            if (m0 + r < M && n0 + c < N)
                *reinterpret_cast<uint4 *>(C + int64_t(m0 + r) * N + n0 + c) =
                    *reinterpret_cast<uint4 *>(out + r * kPitch + c);
        }
    } else {
        int rows = min(kBM, M - m0), cols = min(kBN, N - n0);
        for (int i = threadIdx.x; i < rows * cols; i += kThreads)
            C[int64_t(m0 + i / cols) * N + n0 + i % cols] = out[i / cols * kPitch + i % cols];
    }
}

// One element per thread, through 16x16 tiles in shared memory: any shape, any address.
extern "C" __global__ void gemm_any(const T *A, const T *B, T *C, @{params}int M, int N, int K)
{
    __shared__ float a[16][17], b[16][17];
    int tx = threadIdx.x, ty = threadIdx.y;
    int across = ceil_div(N, 16), at = blockIdx.x / across, down = ceil_div(M, 16);
    int m0 = at % down * 16, n0 = int(blockIdx.x) % across * 16, m = m0 + ty, n = n0 + tx;
    int64_t z = at / down, first = z * M * N;
    float sum = 0;
    A += z * M * K;
    B += z * N * K;
    for (int k0 = 0; k0 < K; k0 += 16) {
        int kx = k0 + tx, ky = k0 + ty;
        if (kAcrossA)
            a[tx][ty] = m0 + tx < M && ky < K ? float(A[int64_t(ky) * M + m0 + tx]) : 0.f;
        else
            a[ty][tx] = m < M && kx < K ? float(A[int64_t(m) * K + kx]) : 0.f;
        if (kAcrossB)
            b[tx][ty] = n < N && ky < K ? float(B[int64_t(ky) * N + n]) : 0.f;
        else
            b[ty][tx] = n0 + ty < N && kx < K ? float(B[int64_t(n0 + ty) * K + kx]) : 0.f;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += a[ty][i] * b[tx][i];
        __syncthreads();
    }
    Extra extra{@{data}};
    if (m < M && n < N)
        C[first + int64_t(m) * N + n] = T(finish(sum, extra, first, m, n, M, N));
}
