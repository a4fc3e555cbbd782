// C = epilogue(A * B) by mma.sync, for any shape and address.
//
// cp.async brings tiles of A and B into a ring of stages in shared memory, as they lie. A row of a tile
// is padded such that the lanes of a warp, which read 8 rows or columns of 4 elements of K, meet no bank
// conflict. Each warp splits its operands in registers. Outside the matrices cp.async fills with zeros.
template <int BlockM, int BlockN, int WarpsM, int WarpsN, int Stages, int Promote>
struct MmaTile {
    static constexpr int kBM = BlockM, kBN = BlockN, kBK = 16, kStages = Stages, kPromote = Promote;
    static constexpr int kWarpsM = WarpsM, kWarpsN = WarpsN, kThreads = 32 * WarpsM * WarpsN;
    static constexpr int kFragsM = BlockM / WarpsM / 16, kFragsN = BlockN / WarpsN / 8;
    // The distance between rows: a row is 16 elements of K, or the tile's width.
    static constexpr int kRowA = kTurnedA ? BlockM + 8 : kBK + 4;
    static constexpr int kRowB = kTurnedB ? kBK + 4 : BlockN + 8;
    static constexpr int kSizeA = (kTurnedA ? kBK : BlockM) * kRowA;
    static constexpr int kSizeB = (kTurnedB ? BlockN : kBK) * kRowB;
    static constexpr int kFloats = Stages * (kSizeA + kSizeB);
};

template <int kWidth>
__device__ void copy_async(float *to, const float *from, bool inside)
{
    uint32_t at = cast_smem_ptr_to_uint(to);
    int bytes = inside ? 4 * kWidth : 0;
    if constexpr (kWidth == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(bytes));
}

// Brings a tile of `high` rows and `wide` columns of a matrix, from (row0, col0) on.
template <int kWidth, int kThreads>
__device__ void load_tile(float *to, const float *matrix, int high, int wide, int pitch, int row0,
                          int col0, int rows, int cols)
{
    CUTE_UNROLL
    for (int i = 0; i < (high * wide / kWidth + kThreads - 1) / kThreads; i++) {
        int v = threadIdx.x + i * kThreads, r = v / (wide / kWidth), c = v % (wide / kWidth) * kWidth;
        bool inside = row0 + r < rows && col0 + c < cols;
        if (high * wide / kWidth % kThreads == 0 || r < high)
            copy_async<kWidth>(to + r * pitch + c,
                               inside ? matrix + int64_t(row0 + r) * cols + col0 + c : matrix, inside);
    }
}

__device__ void multiply_add(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <class S>
struct MmaFragments {
    uint32_t a[2][S::kFragsM][4], b[2][S::kFragsN][2]; // hi and lo

    __device__ void load(const float *tile_a, const float *tile_b, int m0, int n0, int k0)
    {
        int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
        CUTE_UNROLL
        for (int i = 0; i < S::kFragsM; i++)
            CUTE_UNROLL
            for (int j = 0; j < 4; j++) {
                int m = m0 + 16 * i + g + j % 2 * 8, k = k0 + t + j / 2 * 4;
                split(tile_a[kTurnedA ? k * S::kRowA + m : m * S::kRowA + k], a[0][i][j], a[1][i][j]);
            }
        CUTE_UNROLL
        for (int i = 0; i < S::kFragsN; i++)
            CUTE_UNROLL
            for (int j = 0; j < 2; j++) {
                int n = n0 + 8 * i + g, k = k0 + t + j * 4;
                split(tile_b[kTurnedB ? n * S::kRowB + k : k * S::kRowB + n], b[0][i][j], b[1][i][j]);
            }
    }

    // Adds the products. The three products of 8 elements of K have a sum of their own, the small ones
    // first: a tensor core loses less of a small sum than of the long one.
    __device__ void multiply(float (&part)[S::kFragsM][S::kFragsN][4])
    {
        CUTE_UNROLL
        for (int i = 0; i < S::kFragsM; i++)
            CUTE_UNROLL
            for (int j = 0; j < S::kFragsN; j++) {
                if constexpr (kProducts == 3) {
                    float three[4] = {};
                    multiply_add(three, a[1][i], b[0][j]);
                    multiply_add(three, a[0][i], b[1][j]);
                    multiply_add(three, a[0][i], b[0][j]);
                    CUTE_UNROLL
                    for (int c = 0; c < 4; c++)
                        part[i][j][c] += three[c];
                } else {
                    multiply_add(part[i][j], a[0][i], b[0][j]);
                }
            }
    }
};

template <class S, int kWidth, bool kWhole>
__device__ void mma_gemm(float *smem, const float *A, const float *B, float *out, const Extra &extra,
                         int2 tile, int M, int N, int K)
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int m0 = warp / S::kWarpsN * (S::kBM / S::kWarpsM), n0 = warp % S::kWarpsN * (S::kBN / S::kWarpsN);
    int2 share = share_of_k(K);
    if (is_masked(tile.x * S::kBM, S::kBM, tile.y * S::kBN, S::kBN))
        share.y = share.x;
    A = matrix_of_a(A, blockIdx.y, M, K);
    B = matrix_of_b(B, blockIdx.y, N, K);
    float *smem_b = smem + S::kStages * S::kSizeA;
    auto load = [&](int i) {
        int k0 = share.x + i * S::kBK, stage = i % S::kStages;
        float *a = smem + stage * S::kSizeA, *b = smem_b + stage * S::kSizeB;
        if (k0 < share.y && kTurnedA)
            load_tile<kWidth, S::kThreads>(a, A, S::kBK, S::kBM, S::kRowA, k0, tile.x * S::kBM, K, M);
        else if (k0 < share.y)
            load_tile<kWidth, S::kThreads>(a, A, S::kBM, S::kBK, S::kRowA, tile.x * S::kBM, k0, M, K);
        if (k0 < share.y && kTurnedB)
            load_tile<kWidth, S::kThreads>(b, B, S::kBN, S::kBK, S::kRowB, tile.y * S::kBN, k0, N, K);
        else if (k0 < share.y)
            load_tile<kWidth, S::kThreads>(b, B, S::kBK, S::kBN, S::kRowB, k0, tile.y * S::kBN, K, N);
        cp_async_fence(); // also if there is nothing left: the waits count groups
    };

    float sum[S::kFragsM][S::kFragsN][4] = {}, part[S::kFragsM][S::kFragsN][4] = {};
    auto each = [&](auto &&act) {
        CUTE_UNROLL
        for (int i = 0; i < S::kFragsM; i++)
            CUTE_UNROLL
            for (int j = 0; j < S::kFragsN; j++)
                CUTE_UNROLL
                for (int c = 0; c < 4; c++)
                    act(i, j, c);
    };
    CUTE_UNROLL
    for (int i = 0; i < S::kStages - 1; i++)
        load(i);
    int steps = (share.y - share.x) / S::kBK;
    for (int i = 0; i < steps; i++) {
        cp_async_wait<S::kStages - 2>(); // tile i has landed, for this thread
        __syncthreads();                 // for all; and all are done with the stage loaded next
        load(i + S::kStages - 1);
        const float *a = smem + i % S::kStages * S::kSizeA, *b = smem_b + i % S::kStages * S::kSizeB;
        CUTE_UNROLL
        for (int k = 0; k < S::kBK; k += 8) {
            MmaFragments<S> f;
            f.load(a, b, m0, n0, k);
            f.multiply(part);
        }
        if ((i + 1) % (S::kPromote / S::kBK) == 0)
            each([&](int x, int y, int c) { fold(sum[x][y][c], part[x][y][c]); });
    }
    cp_async_wait<0>();

    int64_t first = first_of_block(M, N);
    SumSet<S::kFragsM * S::kFragsN * 4> bad;
    auto put = [&](int x, int y, int c, auto &&value) {
        int m = tile.x * S::kBM + m0 + 16 * x + g + c / 2 * 8;
        int n = tile.y * S::kBN + n0 + 8 * y + 2 * t + c % 2;
        if (m < M && n < N) {
            float v = value(m, n);
            out[first + int64_t(m) * N + n] = kWhole ? finish(v, extra, first, m, n, M, N) : v;
        }
    };
    each([&](int x, int y, int c) {
        float v = sum[x][y][c] + part[x][y][c];
        bad.add((x * S::kFragsN + y) * 4 + c, kWhole && !is_finite(v));
        put(x, y, c, [&](int, int) { return v; });
    });
    bad.each([&](int i) {
        put(i / 4 / S::kFragsN, i / 4 % S::kFragsN, i % 4,
            [&](int m, int n) { return plain_product(A, B, m, n, M, N, K); });
    });
}

// One element per thread, through 16x16 tiles in shared memory. For sums of a few terms, where the
// error of three products shows and where memory bounds the time.
__device__ void few_terms(const float *A, const float *B, float *C, const Extra &extra, int M, int N,
                          int K)
{
    __shared__ float a[16][17], b[16][17];
    int tx = threadIdx.x, ty = threadIdx.y, m = blockIdx.y * 16 + ty, n = blockIdx.x * 16 + tx;
    int ma = blockIdx.y * 16 + tx, nb = blockIdx.x * 16 + ty;
    float sum = 0;
    A = matrix_of_a(A, blockIdx.z, M, K);
    B = matrix_of_b(B, blockIdx.z, N, K);
    for (int k0 = 0; k0 < K; k0 += 16) {
        int kx = k0 + tx, ky = k0 + ty;
        if (kTurnedA)
            a[tx][ty] = ma < M && ky < K ? A[int64_t(ky) * M + ma] : 0.f;
        else
            a[ty][tx] = m < M && kx < K ? A[int64_t(m) * K + kx] : 0.f;
        if (kTurnedB)
            b[ty][tx] = nb < N && kx < K ? B[int64_t(nb) * K + kx] : 0.f;
        else
            b[tx][ty] = n < N && ky < K ? B[int64_t(ky) * N + n] : 0.f;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += a[ty][i] * b[tx][i];
        __syncthreads();
    }
    int64_t first = int64_t(blockIdx.z) * M * N;
    if (m < M && n < N)
        C[first + int64_t(m) * N + n] = finish(sum, extra, first, m, n, M, N);
}
