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

using Vec4 = Copy_Atom<UniversalCopy<uint128_t>, float>;
using SmemA = Layout<Shape<Int<kBK>, Int<kBM>, Int<kBuffers>>,
                     Stride<Int<kRowA>, _1, Int<kBK * kRowA>>>;
using SmemB =
    Layout<Shape<Int<kBK>, Int<kBN>, Int<kBuffers>>, Stride<Int<kRowB>, _1, Int<kBK * kRowB>>>;

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
    int rowsA = kTurnedA ? K : M, colsA = kTurnedA ? M : K;
    int rowsB = kTurnedB ? N : K, colsB = kTurnedB ? K : N;
    Tensor mA = make_tensor(make_gmem_ptr(A + z * M * K), make_shape(rowsA, colsA),
                            make_stride(int64_t(colsA), _1{}));
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
    auto place = [&](int i, int across) {
        int v = thread + i * kThreads;
        return make_coord(v / (across / kWidth), v % (across / kWidth) * kWidth);
    };
    // Loads this thread's part of a tile of an operand. The tile's rows are elements of K if `by_k`.
    auto fetch_tile = [&](auto by_k, const auto &from, auto &to, int rows, int cols, int tile_at,
                          int width, int k0) {
        CUTE_UNROLL
        for (int i = 0; i < size<1>(to); i++) {
            auto [r, c] = place(i, by_k ? width : kBK);
            int row = by_k ? k0 + r : tile_at + r, col = by_k ? tile_at + c : k0 + c;
            if (row < rows && col < cols)
                copy(Atom{}, from(0, _, row, col / kWidth), to(_, i));
            else
                clear(to(_, i));
        }
    };
    auto put_tile = [&](auto by_k, const auto &from, auto &&to, int width) {
        CUTE_UNROLL
        for (int i = 0; i < size<1>(from); i++) {
            auto [r, c] = place(i, by_k ? width : kBK);
            if constexpr (by_k) {
                copy(Atom{}, from(_, i), make_tensor(&to(r, c), Layout<Int<kWidth>>{}));
            } else {
                CUTE_UNROLL
                for (int j = 0; j < kWidth; j++)
                    to(c + j, r) = from(j, i);
            }
        }
    };
    auto fetch = [&](int k0) {
        fetch_tile(bool_constant<kTurnedA>{}, vA, rA, rowsA, colsA, tile.x * kBM, kBM, k0);
        fetch_tile(bool_constant<!kTurnedB>{}, vB, rB, rowsB, colsB, tile.y * kBN, kBN, k0);
    };
    auto put = [&](int buffer) {
        put_tile(bool_constant<kTurnedA>{}, rA, sA(_, _, buffer), kBM);
        put_tile(bool_constant<!kTurnedB>{}, rB, sB(_, _, buffer), kBN);
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

    // This thread's sums and the elements of C to which they belong, a vector at a time.
    auto each_vector = [&](auto &&act) {
        CUTE_UNROLL
        for (int i = 0; i < 8; i++)
            CUTE_UNROLL
            for (int j = 0; j < 8; j += kWidth) {
                int row = tile.x * kBM + row_at(i), col = tile.y * kBN + col_at(j);
                if (row < M && col < N)
                    act(i, j, row, col, make_tensor(make_gmem_ptr(&mC(row, col)), Layout<Int<kWidth>>{}));
            }
    };
    auto end_chain = [&](bool first_chain) {
        each_vector([&](int i, int j, int, int, auto c) {
            Tensor sum = make_tensor<float>(Shape<Int<kWidth>>{});
            clear(sum);
            if (!first_chain)
                copy(Atom{}, c, sum);
            CUTE_UNROLL
            for (int v = 0; v < kWidth; v++) {
                float before = sum(v);
                sum(v) += acc(i, j + v);
                float lost = acc(i, j + v) - (sum(v) - before);
                acc(i, j + v) = isfinite(lost) ? lost : 0.f;
            }
            copy(Atom{}, sum, c);
        });
    };

    // The epilogue ignores the sums of a masked tile.
    int terms = is_masked(tile.x * kBM, kBM, tile.y * kBN, kBN) ? kBK : K;
    clear(acc);
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

    each_vector([&](int i, int j, int row, int col, auto c) {
        Tensor out = make_tensor<float>(Shape<Int<kWidth>>{});
        clear(out);
        if (terms > kChain)
            copy(Atom{}, c, out);
        CUTE_UNROLL
        for (int v = 0; v < kWidth; v++)
            out(v) = finish(out(v) + acc(i, j + v), extra, first, row, col + v, M, N);
        copy(Atom{}, out, c);
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
