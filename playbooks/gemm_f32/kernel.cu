/* hone-plan
{ "launches": [
    { "kernel": "gemm_vec",
      "when": "@{K} % @{vec} == 0 && @{N} % @{vec} == 0 && min(alignof(@{A}), alignof(@{B}), alignof(@{C})) >= 4*@{vec}",
      "grid": ["cdiv(@{M}, @{bm})*cdiv(@{N}, @{bn})", "@{Z}"], "block": ["@{bm}*@{bn}/64"],
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] },
    { "kernel": "gemm_one",
      "when": "@{K} % @{vec} != 0 || @{N} % @{vec} != 0 || min(alignof(@{A}), alignof(@{B}), alignof(@{C})) < 4*@{vec}",
      "grid": ["cdiv(@{M}, @{bm})*cdiv(@{N}, @{bn})", "@{Z}"], "block": ["@{bm}*@{bn}/64"],
      "args": ["@{A}", "@{B}", "@{C}", @{extra}"@{M}", "@{N}", "@{K}"] } ] }
*/
// C = epilogue(A * B) or epilogue(A * B^T), for each matrix of a batch, all row-major, in fp32.
//
// A block makes a tile of C, a thread 8x8 of it: four quarters of 4x4, so that a warp reads adjacent
// elements of a row in shared memory. A tile of A is transposed on its way in, since the products need
// a column of it at a time; so is a tile of a B that has N rows. Rows in shared memory are padded, so
// that the transposed stores spread over the banks. While the products of one tile run, the next is
// loaded into registers. Outside the matrices there are zeros.
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
constexpr bool kTurned = @{turned}; // B has N rows, not K
constexpr int kRowB = kBN + (kTurned ? 4 : 0);

using Vec4 = Copy_Atom<UniversalCopy<uint128_t>, float>;
using SmemA = Layout<Shape<Int<kBK>, Int<kBM>, Int<kBuffers>>,
                     Stride<Int<kBM + 4>, _1, Int<kBK *(kBM + 4)>>>;
using SmemB =
    Layout<Shape<Int<kBK>, Int<kBN>, Int<kBuffers>>, Stride<Int<kRowB>, _1, Int<kBK * kRowB>>>;

@{part:epilogue}

// This block's tile (m, n): walks down kGroup tiles before the next column.
__device__ int2 tile_of_block(int M, int N)
{
    int down = (M + kBM - 1) / kBM, across = (N + kBN - 1) / kBN;
    int group = blockIdx.x / (kGroup * across), in_group = blockIdx.x % (kGroup * across);
    int first = group * kGroup, height = min(kGroup, down - first);
    return {first + in_group % height, in_group / height};
}

template <int kWidth>
__device__ void gemm(const float *A, const float *B, float *C, const Extra &extra, int M, int N,
                     int K)
{
    using V = uint_bit_t<32 * kWidth>;
    using Atom = Copy_Atom<UniversalCopy<V>, float>;
    constexpr int kLoadsA = kBM * kBK / kWidth / kThreads, kLoadsB = kBN * kBK / kWidth / kThreads;
    __shared__ alignas(16) float smem_a[cosize_v<SmemA>], smem_b[cosize_v<SmemB>];
    Tensor sA = make_tensor(make_smem_ptr(smem_a), SmemA{}); // (k, m, buffer)
    Tensor sB = make_tensor(make_smem_ptr(smem_b), SmemB{}); // (k, n, buffer)
    int2 tile = tile_of_block(M, N);
    int64_t z = blockIdx.y, first = z * M * N;
    int rowsB = kTurned ? N : K, colsB = kTurned ? K : N;
    Tensor mA = make_tensor(make_gmem_ptr(A + z * M * K), make_shape(M, K),
                            make_stride(int64_t(K), _1{}));
    Tensor mB = make_tensor(make_gmem_ptr(B + z * N * K), make_shape(rowsB, colsB),
                            make_stride(int64_t(colsB), _1{}));
    Tensor mC = make_tensor(make_gmem_ptr(C + first), make_shape(M, N),
                            make_stride(int64_t(N), _1{}));
    // In vectors along the rows: (1, kWidth, rows, vectors).
    Tensor vA = local_tile(mA, Shape<_1, Int<kWidth>>{}, make_coord(_, _));
    Tensor vB = local_tile(mB, Shape<_1, Int<kWidth>>{}, make_coord(_, _));
    Tensor rA = make_tensor<float>(Shape<Int<kWidth>, Int<kLoadsA>>{});
    Tensor rB = make_tensor<float>(Shape<Int<kWidth>, Int<kLoadsB>>{});
    int thread = threadIdx.x;

    // Place of this thread's load i in a tile, as (row, first column).
    auto place = [&](int i, auto width) {
        int v = thread + i * kThreads, across = width / kWidth;
        return make_coord(v / across, v % across * kWidth);
    };
    auto fetch = [&](int k0) {
        CUTE_UNROLL
        for (int i = 0; i < kLoadsA; i++) {
            auto [m, k] = place(i, kBK);
            int row = tile.x * kBM + m, col = k0 + k;
            if (row < M && col < K)
                copy(Atom{}, vA(0, _, row, col / kWidth), rA(_, i));
            else
                clear(rA(_, i));
        }
        CUTE_UNROLL
        for (int i = 0; i < kLoadsB; i++) {
            auto [r, c] = place(i, kTurned ? kBK : kBN);
            int row = kTurned ? tile.y * kBN + r : k0 + r, col = kTurned ? k0 + c : tile.y * kBN + c;
            if (row < rowsB && col < colsB)
                copy(Atom{}, vB(0, _, row, col / kWidth), rB(_, i));
            else
                clear(rB(_, i));
        }
    };
    auto put = [&](int buffer) {
        CUTE_UNROLL
        for (int i = 0; i < kLoadsA; i++) {
            auto [m, k] = place(i, kBK);
            CUTE_UNROLL
            for (int j = 0; j < kWidth; j++)
                sA(k + j, m, buffer) = rA(j, i);
        }
        CUTE_UNROLL
        for (int i = 0; i < kLoadsB; i++) {
            auto [r, c] = place(i, kTurned ? kBK : kBN);
            if constexpr (kTurned)
                CUTE_UNROLL
                for (int j = 0; j < kWidth; j++)
                    sB(c + j, r, buffer) = rB(j, i);
            else
                copy(Atom{}, rB(_, i), make_tensor(&sB(r, c, buffer), Layout<Int<kWidth>>{}));
        }
    };

    // A warp makes a piece 4 threads high and 8 wide.
    int warp = thread / 32, lane = thread % 32, wide = kBN / 64;
    int ty = warp / wide * 4 + lane / 8, tx = warp % wide * 8 + lane % 8;
    Tensor acc = make_tensor<float>(Shape<_8, _8>{});
    Tensor a = make_tensor<float>(Shape<_4, _2>{});
    Tensor b = make_tensor<float>(Shape<_4, _2>{});
    auto row_at = [&](int i) { return i / 4 * (kBM / 2) + ty * 4 + i % 4; };
    auto col_at = [&](int j) { return j / 4 * (kBN / 2) + tx * 4 + j % 4; };
    auto multiply = [&](int buffer) {
        CUTE_UNROLL
        for (int k = 0; k < kBK; k++) {
            CUTE_UNROLL
            for (int h = 0; h < 2; h++) {
                copy(Vec4{}, make_tensor(make_smem_ptr(&sA(k, row_at(4 * h), buffer)), Layout<_4>{}),
                     a(_, h));
                copy(Vec4{}, make_tensor(make_smem_ptr(&sB(k, col_at(4 * h), buffer)), Layout<_4>{}),
                     b(_, h));
            }
            CUTE_UNROLL
            for (int i = 0; i < 8; i++)
                CUTE_UNROLL
                for (int j = 0; j < 8; j++)
                    acc(i, j) += a(i) * b(j);
        }
    };

    clear(acc);
    fetch(0);
    put(0);
    __syncthreads();
    int buffer = 0;
    for (int k0 = kBK; k0 < K; k0 += kBK) {
        fetch(k0);
        multiply(buffer);
        if constexpr (kBuffers == 1)
            __syncthreads(); // all are done with the only buffer
        else
            buffer ^= 1;
        put(buffer);
        __syncthreads();
    }
    multiply(buffer);

    CUTE_UNROLL
    for (int i = 0; i < 8; i++) {
        int row = tile.x * kBM + row_at(i);
        CUTE_UNROLL
        for (int j = 0; j < 8; j += kWidth) {
            int col = tile.y * kBN + col_at(j);
            Tensor out = make_tensor<float>(Shape<Int<kWidth>>{});
            CUTE_UNROLL
            for (int v = 0; v < kWidth; v++)
                out(v) = finish(acc(i, j + v), extra, first, row, col + v, M, N);
            if (row < M && col < N)
                copy(Atom{}, out, make_tensor(make_gmem_ptr(&mC(row, col)), Layout<Int<kWidth>>{}));
        }
    }
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
