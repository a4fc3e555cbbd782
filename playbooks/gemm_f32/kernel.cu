/* hone-plan
{ "launches": [
    { "kernel": "gemm_vec",
      "when": "@{whole} && min(alignof(@{A}), alignof(@{B}), alignof(@{C})) >= 4*@{vec}",
      "grid": ["cdiv(@{M}, @{bm})*cdiv(@{N}, @{bn})", "@{Z}"], "block": ["@{bm}*@{bn}/64"],
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_one",
      "when": "!(@{whole} && min(alignof(@{A}), alignof(@{B}), alignof(@{C})) >= 4*@{vec})",
      "grid": ["cdiv(@{M}, @{bm})*cdiv(@{N}, @{bn})", "@{Z}"], "block": ["@{bm}*@{bn}/64"],
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] } ] }
*/
// C = epilogue(A * B) for each matrix of a batch, in fp32. Either operand may be stored transposed.
//
// A block makes a tile of C, a thread 8x8 of it: four quarters of 4x4, so that a warp reads adjacent
// elements of a row in shared memory. The products need a column of A and a row of B at a time, so a
// tile of an A that has M rows, or of a B that has N rows, is transposed on its way in. Rows in shared
// memory are padded, so that the transposed stores spread over the banks. While the products of one
// tile run, the next is loaded into registers. Outside the matrices there are zeros.
//
// A long chain of additions loses digits: the rounding error of each step grows with the sum so far.
// So after every kChain terms a thread adds its sums to C in global memory and starts new ones. The
// new sums start from the rounding error of that addition, so the additions to C lose nothing.
#include <cute/tensor.hpp>

using namespace cute;

constexpr int kBM = @{bm};
constexpr int kBN = @{bn};
constexpr int kBK = @{bk};
constexpr int kVec = @{vec};
constexpr int kBuffers = @{buffers};
constexpr int kBlocks = @{blocks};
constexpr int kGroup = @{group};
constexpr int kThreads = kBM * kBN / 64;
constexpr int kChain = @{chain};
constexpr bool kTurnedA = @{turned_a}; // A has K rows, not M
constexpr bool kTurnedB = @{turned_b}; // B has N rows, not K
constexpr int kRowA = kBM + (kTurnedA ? 0 : 4);
constexpr int kRowB = kBN + (kTurnedB ? 4 : 0);

@{part:epilogue}

@{part:masked}

// This block's tile (m, n): walks down kGroup tiles before the next column.
__device__ int2 tile_of_block(int M, int N)
{
    int down = (M + kBM - 1) / kBM, across = (N + kBN - 1) / kBN;
    int group = blockIdx.x / (kGroup * across), in_group = blockIdx.x % (kGroup * across);
    int first = group * kGroup, height = min(kGroup, down - first);
    return {first + in_group % height, in_group / height};
}

// Copies kWidth neighbours.
template <int kWidth>
__device__ void copy_vector(float *to, const float *from)
{
    if constexpr (kWidth == 4)
        *reinterpret_cast<float4 *>(to) = *reinterpret_cast<const float4 *>(from);
    else
        *to = *from;
}

// A tile of an operand: kSize rows or columns of C, and kBK terms. kByK: the matrix has a row for each
// term. In shared memory, a row of kPitch floats has one term.
template <int kWidth, int kSize, bool kByK, int kPitch>
struct Part {
    static constexpr int kLoads = kSize * kBK / kWidth / kThreads; // of a thread
    alignas(16) float r[kLoads][kWidth];

    // Place of this thread's load i in the tile as it lies in memory: row, first column.
    __device__ static int2 place(int i)
    {
        constexpr int kVectors = (kByK ? kSize : kBK) / kWidth; // in a row
        int v = threadIdx.x + i * kThreads;
        return {v / kVectors, v % kVectors * kWidth};
    }

    __device__ void fetch(const float *from, int first, int size, int k0, int K)
    {
        CUTE_UNROLL
        for (int i = 0; i < kLoads; i++) {
            int2 at = place(i);
            int row = at.x + (kByK ? k0 : first), col = at.y + (kByK ? first : k0);
            CUTE_UNROLL
            for (int j = 0; j < kWidth; j++)
                r[i][j] = 0;
            if (row < (kByK ? K : size) && col < (kByK ? size : K))
                copy_vector<kWidth>(r[i], from + int64_t(row) * (kByK ? size : K) + col);
        }
    }

    __device__ void put(float *tile) const
    {
        CUTE_UNROLL
        for (int i = 0; i < kLoads; i++) {
            int2 at = place(i);
            if constexpr (kByK) {
                copy_vector<kWidth>(tile + at.x * kPitch + at.y, r[i]);
            } else {
                CUTE_UNROLL
                for (int j = 0; j < kWidth; j++)
                    tile[(at.y + j) * kPitch + at.x] = r[i][j];
            }
        }
    }
};

template <int kWidth>
__device__ void gemm(const float *__restrict__ A, const float *__restrict__ B, float *C, const Extra &extra,
                     int M, int N, int K)
{
    __shared__ alignas(16) float smem_a[kBuffers * kBK * kRowA], smem_b[kBuffers * kBK * kRowB];
    int2 tile = tile_of_block(M, N);
    int64_t z = blockIdx.y, first = z * M * N;
    int thread = threadIdx.x, m0 = tile.x * kBM, n0 = tile.y * kBN;
    A += z * M * K;
    B += z * N * K;
    C += first;
    Part<kWidth, kBM, kTurnedA, kRowA> part_a;
    Part<kWidth, kBN, !kTurnedB, kRowB> part_b;
    auto fetch = [&](int k0) {
        part_a.fetch(A, m0, M, k0, K);
        part_b.fetch(B, n0, N, k0, K);
    };
    auto put = [&](int buffer) {
        part_a.put(smem_a + buffer * (kBK * kRowA));
        part_b.put(smem_b + buffer * (kBK * kRowB));
    };

    // A warp makes a piece 4 threads high and 8 wide.
    int warp = thread / 32, lane = thread % 32, wide = kBN / 64;
    int ty = warp / wide * 4 + lane / 8, tx = warp % wide * 8 + lane % 8;
    float acc[8][8] = {};
    auto row_at = [&](int i) { return i / 4 * (kBM / 2) + ty * 4 + i % 4; };
    auto col_at = [&](int j) { return j / 4 * (kBN / 2) + tx * 4 + j % 4; };
    auto multiply = [&](int buffer) {
        const float *from_a = smem_a + buffer * (kBK * kRowA), *from_b = smem_b + buffer * (kBK * kRowB);
        CUTE_UNROLL
        for (int k = 0; k < kBK; k++) {
            alignas(16) float a[8], b[8];
            CUTE_UNROLL
            for (int h = 0; h < 8; h += 4) {
                copy_vector<4>(a + h, from_a + k * kRowA + row_at(h));
                copy_vector<4>(b + h, from_b + k * kRowB + col_at(h));
            }
            CUTE_UNROLL
            for (int i = 0; i < 8; i++)
                CUTE_UNROLL
                for (int j = 0; j < 8; j++)
                    acc[i][j] += a[i] * b[j];
        }
    };

    // This thread's sums and the elements of C to which they belong, a vector at a time.
    auto each_vector = [&](auto &&act) {
        CUTE_UNROLL
        for (int i = 0; i < 8; i++)
            CUTE_UNROLL
            for (int j = 0; j < 8; j += kWidth) {
                int row = m0 + row_at(i), col = n0 + col_at(j);
                if (row < M && col < N)
                    act(acc[i] + j, row, col, C + int64_t(row) * N + col);
            }
    };
    auto end_chain = [&](bool first_chain) {
        each_vector([&](float *part, int, int, float *c) {
            alignas(16) float sum[kWidth] = {};
            if (!first_chain)
                copy_vector<kWidth>(sum, c);
            CUTE_UNROLL
            for (int v = 0; v < kWidth; v++) {
                float before = sum[v];
                sum[v] += part[v];
                float lost = part[v] - (sum[v] - before);
                part[v] = isfinite(lost) ? lost : 0.f;
            }
            copy_vector<kWidth>(c, sum);
        });
    };

    // The epilogue ignores the sums of a masked tile.
    int terms = is_masked(m0, kBM, n0, kBN) ? kBK : K;
    fetch(0);
    put(0);
    __syncthreads();
    int buffer = 0;
    for (int k0 = kBK; k0 < terms; k0 += kBK) {
        fetch(k0);
        multiply(buffer);
        if (k0 % kChain == 0)
            end_chain(k0 == kChain);
        if constexpr (kBuffers == 1)
            __syncthreads(); // all are done with the only buffer
        else
            buffer ^= 1;
        put(buffer);
        __syncthreads();
    }
    multiply(buffer);

    each_vector([&](const float *part, int row, int col, float *c) {
        alignas(16) float out[kWidth] = {};
        if (terms > kChain)
            copy_vector<kWidth>(out, c);
        CUTE_UNROLL
        for (int v = 0; v < kWidth; v++)
            out[v] = finish(out[v] + part[v], extra, first, row, col + v, M, N);
        copy_vector<kWidth>(c, out);
    });
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    gemm_vec(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C,
             @{params}int M, int N, int K)
{
    gemm<kVec>(A, B, C, Extra{@{data}}, M, N, K);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm_one(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C,
             @{params}int M, int N, int K)
{
    gemm<1>(A, B, C, Extra{@{data}}, M, N, K);
}
