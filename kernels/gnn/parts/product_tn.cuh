// dw = x^T dy, and if PAIR = 1, u^T dy below it. blockIdx.y counts the tiles of the first product, then those of
// the second.
//
// The result is small and the sum over M is long, so up to 128 blocks share the rows of each tile.
// add_parts adds their sums in order: the same call gives the same bits. product_vec makes tiles of
// 128 x 64 elements on the tensor cores; cp.async brings pieces of x and dy into a ring of stages. Other
// addresses and sizes, and short sums, take product_any, with plain arithmetic and tiles of 64 x 64.
//
// product_sum uses WGMMA, with tiles of 128 x 128 elements. A thread asks TMA for 32 rows of x and dy at a
// time, into a ring of stages. Three warps transpose and split dy for the tensor cores. Two warpgroups, the
// consumers, multiply. Three mbarriers per stage join them: `full` completes when the bytes have arrived,
// `ready` when dy is split, `empty` when both consumers are done with the stage. The kernel that includes this says
// how many stages the ring has (kSumStages), and how many pieces the tensor cores add up before registers take
// their sum (kTogether): three TF32 products need 1, because tensor cores cut off the low bits of their sums.
constexpr bool kTurnedA = true, kTurnedB = false;
#include "tf32_tile.cuh"
#include "wgmma.cuh"

// dy is multiplied by 2^shift before it is rounded to half precision (kHalf), and the sums are divided by it. Other
// precisions need no shift: it is 0.

// Element i of dw by plain arithmetic.
__device__ __noinline__ float plain_product(const float *x, const float *u, const float *dy, long long i, int M, int N,
                                            int K)
{
    long long k = i / N % K, n = i % N;
    const float *from = i / N < K ? x : u;
    float sum = 0;
    for (long long m = 0; m < M; m++)
        sum += from[m * K + k] * dy[m * N + n];
    return sum;
}

// Which part of dw a block computes: the term, and its first row there.
struct part_of_dw {
    int term, k0;
    __device__ part_of_dw(int K, int tile)
    {
        int tiles = (K + tile - 1) / tile;
        term = blockIdx.y / tiles;
        k0 = blockIdx.y % tiles * tile;
    }
    // Where this block's sums go.
    __device__ float *sums(float *partial, int pair, int N, int K) const
    {
        return partial + ((long long)blockIdx.z * (1 + pair) + term) * K * N;
    }
};

extern "C" __global__ void __launch_bounds__(128, 3)
    product_vec(const float *x, const float *u, const float *dy, float *partial, int M, int N, int K, int pair,
                int shift)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
    part_of_dw part(K, kHigh);
    int n0 = blockIdx.x * kWide, k0 = part.k0;
    long long share = ((M + gridDim.z - 1) / gridDim.z + kStep - 1) / kStep * kStep;
    long long first = blockIdx.z * share, end = min((long long)M, first + share);
    sums sum = {};
    tile_product(sum, part.term ? u : x, dy, k0, n0, K, N, first, end, M, {1.f, power_of_two(shift)});
    partial = part.sums(partial, pair, N, K);
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int c = 0; c < 4; c++) {
                int k = k0 + warp / 2 * 64 + 16 * i + g + c / 2 * 8;
                int n = n0 + warp % 2 * 32 + 8 * j + 2 * t + c % 2;
                if (k < K && n < N)
                    partial[(long long)k * N + n] = sum[i][j][c];
            }
}

constexpr int kSumTile = 128, kBoxes = kSumTile / 32, kBox = 32 * kPiece;
constexpr int kSplitters = 96;

struct sum_smem {
    float x[kSumStages][kBoxes][kBox], dy[kSumStages][kBoxes][kBox]; // as TMA brings them
    float s[kCopies][kSumStages][kSumTile * kWords];                 // dy, transposed and split
    uint64_t full[kSumStages], ready[kSumStages], empty[kSumStages];
};

extern __shared__ __align__(1024) char wgmma_bytes[];

// Transposes and splits a piece of dy, in squares of 4 x 4. The lanes of a warp take the squares in an order in
// which neither their reads nor their writes of 16 bytes meet in a bank.
__device__ __forceinline__ void turn_piece(sum_smem &smem, int stage)
{
    for (int v = threadIdx.x - 32; v < kSumTile * kPiece / 16; v += kSplitters) {
        int p = v & 1, q = v >> 1 & 1, r = v >> 2 & 1, u = v >> 3 & 1;
        int b = p + 2 * q + 4 * (v >> 4 & 1), kb = r + 2 * (q ^ u) + 4 * (v >> 5 & 1), box = v >> 6;
        float square[4][4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int m = 4 * kb + j;
            float4 row = *reinterpret_cast<const float4 *>(smem.dy[stage][box] + 32 * m + 4 * (b ^ m % 8));
            square[0][j] = row.x, square[1][j] = row.y, square[2][j] = row.z, square[3][j] = row.w;
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            put_split(smem.s[0][stage], smem.s[kCopies - 1][stage], 32 * box + 4 * b + i, kb, square[i]);
    }
}

// The same in half precision, in rectangles of 8 x 4. It rounds as it reads, because these warps have few registers.
// Rows j and j + 4 of a rectangle lie side by side, as put_halves() writes them.
__device__ __forceinline__ void turn_piece_halves(sum_smem &smem, int stage, float scale)
{
    for (int v = threadIdx.x - 32; v < kSumTile * kPiece / 32; v += kSplitters) {
        int b = v % 8, p = v / 8 % 4, box = v / 32;
        auto row = [&](int j) {
            return *reinterpret_cast<const float4 *>(smem.dy[stage][box] + 32 * (8 * p + j) + 4 * (b ^ j));
        };
        unsigned h[4][4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float4 first = row(j), second = row(j + 4);
            h[0][j] = to_halves(scale * first.x, scale * second.x);
            h[1][j] = to_halves(scale * first.y, scale * second.y);
            h[2][j] = to_halves(scale * first.z, scale * second.z);
            h[3][j] = to_halves(scale * first.w, scale * second.w);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int n = 32 * box + 4 * b + i;
            *reinterpret_cast<uint4 *>(smem.s[0][stage] + kWords * n + 4 * (p ^ n / 2 % 4)) = {h[i][0], h[i][1], h[i][2],
                                                                                              h[i][3]};
        }
    }
}

// The row of a warpgroup's 64 that this thread has as its first or second. They are dealt out such that the
// lanes of a warp, which read x by columns, meet no bank conflict.
__device__ __forceinline__ int row_of_sum(int second)
{
    int warp = threadIdx.x % 128 / 32, g = threadIdx.x % 32 / 4;
    return warp / 2 * 32 + g / 4 * 16 + warp % 2 * 8 + second * 4 + g % 4;
}

extern "C" __global__ void __launch_bounds__(kBlock, 1)
    product_sum(const __grid_constant__ TmaDescriptor map_x, const __grid_constant__ TmaDescriptor map_u,
                const __grid_constant__ TmaDescriptor map_dy, float *partial, int M, int N, int K, int pair, int shift)
{
    auto &smem = *reinterpret_cast<sum_smem *>(wgmma_bytes);
    part_of_dw place(K, kSumTile);
    int n0 = blockIdx.x * kSumTile, k0 = place.k0;
    int all = (M + kPiece - 1) / kPiece, share = (all + gridDim.z - 1) / gridDim.z;
    int first = min((int)blockIdx.z * share, all), pieces = min(share, all - first);
    if (threadIdx.x == 0) {
        for (int s = 0; s < kSumStages; s++) {
            ClusterBarrier::init(&smem.full[s], 1);
            ClusterBarrier::init(&smem.ready[s], kSplitters / 32);
            ClusterBarrier::init(&smem.empty[s], kConsumers / 32);
        }
        cutlass::arch::fence_barrier_init();
    }
    __syncthreads();

    ring<kSumStages> at;
    if (threadIdx.x < 128) {
        cutlass::arch::warpgroup_reg_dealloc<kRegsFirst>();
        if (threadIdx.x == 0)
            for (int i = 0; i < pieces; i++, at.next()) {
                uint64_t *full = &smem.full[at.stage];
                ClusterBarrier::wait(&smem.empty[at.stage], at.phase ^ 1);
                ClusterTransactionBarrier::arrive_and_expect_tx(full, 2 * sizeof smem.x[0]);
                for (int b = 0; b < kBoxes; b++) {
                    ask(place.term ? map_u : map_x, full, smem.x[at.stage][b], k0 + 32 * b, (first + i) * kPiece);
                    ask(map_dy, full, smem.dy[at.stage][b], n0 + 32 * b, (first + i) * kPiece);
                }
            }
        if (threadIdx.x >= 32)
            for (int i = 0; i < pieces; i++, at.next()) {
                ClusterBarrier::wait(&smem.full[at.stage], at.phase);
                if constexpr (kHalf)
                    turn_piece_halves(smem, at.stage, power_of_two(shift));
                else
                    turn_piece(smem, at.stage);
                cutlass::arch::fence_view_async_shared(); // WGMMA sees what was written
                __syncwarp();
                if (threadIdx.x % 32 == 0)
                    ClusterBarrier::arrive(&smem.ready[at.stage]);
            }
        return;
    }
    cutlass::arch::warpgroup_reg_alloc<kRegsConsumer>();
    int group = threadIdx.x / 128 - 1, t = threadIdx.x % 4, last = 0;
    multiplier<kSumTile, kSumStages, 2> m;
    float sum[kSumTile / 8][4] = {};
    auto release_last = [&] { // the product of the last piece is done
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            ClusterBarrier::arrive(&smem.empty[last]);
    };
    auto step = [&](auto set, int i) {
        constexpr int kSet = decltype(set)::value;
        float v[kPiece / 2];
        ClusterBarrier::wait(&smem.full[at.stage], at.phase);
#pragma unroll
        for (int e = 0; e < kPiece / 2; e++) {
            int row = row_of_sum(e % 2), k = e / 2 * 4 + t;
            v[e] = smem.x[at.stage][2 * group + row / 32][32 * k + 4 * (row / 4 % 8 ^ k % 8) + row % 4];
        }
        m.template set<kSet>(v);
        bool fresh = i % kTogether == 0;
        if (i > 0 && fresh) { // the last product ran until here
            m.template wait<0>();
            release_last();
            m.add_to(sum);
        }
        ClusterBarrier::wait(&smem.ready[at.stage], at.phase);
        m.template start<kSet>(smem.s[0][0], smem.s[kCopies - 1][0], at.stage, fresh);
        if (!fresh) {
            m.template wait<1>();
            release_last();
        }
        last = at.stage;
        at.next();
    };
    for (int i = 0; i + 1 < pieces; i += 2) {
        step(cute::Int<0>{}, i);
        step(cute::Int<1>{}, i + 1);
    }
    if (pieces % 2)
        step(cute::Int<0>{}, pieces - 1);
    if (pieces > 0) {
        m.template wait<0>();
        m.add_to(sum);
    }
    partial = place.sums(partial, pair, N, K);
#pragma unroll
    for (int j = 0; j < kSumTile / 8; j++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int k = k0 + 64 * group + row_of_sum(h), n = n0 + 8 * j + 2 * t;
            if (k < K && n < N)
                *reinterpret_cast<float2 *>(partial + (long long)k * N + n) = make_float2(sum[j][2 * h], sum[j][2 * h + 1]);
        }
}

extern "C" __global__ void __launch_bounds__(256)
    product_any(const float *x, const float *u, const float *dy, float *partial, int M, int N, int K, int pair,
                int shift)
{
    float up = power_of_two(shift);
    constexpr int kFew = 64;
    __shared__ float a[kStep][kFew], b[kStep][kFew];
    int t = threadIdx.x, row = t / 16 * 4, column = t % 16 * 4;
    part_of_dw part(K, kFew);
    const float *left = part.term ? u : x;
    int n0 = blockIdx.x * kFew, k0 = part.k0;
    int share = ((M + gridDim.z - 1) / gridDim.z + kStep - 1) / kStep * kStep;
    long long first = (long long)blockIdx.z * share, end = min((long long)M, first + share);
    float sum[4][4] = {};
    for (long long m0 = first; m0 < end; m0 += kStep) {
        for (int i = t; i < kFew * kStep; i += 256) {
            int m = i / kFew, c = i % kFew;
            bool inside = m0 + m < end;
            a[m][c] = inside && k0 + c < K ? plain_operand(left[(m0 + m) * K + k0 + c]) : 0.f;
            b[m][c] = inside && n0 + c < N ? plain_operand(dy[(m0 + m) * N + n0 + c], up) : 0.f;
        }
        __syncthreads();
#pragma unroll
        for (int m = 0; m < kStep; m++) {
            float4 f = *reinterpret_cast<const float4 *>(&a[m][row]);
            float4 h = *reinterpret_cast<const float4 *>(&b[m][column]);
            float p[4] = {f.x, f.y, f.z, f.w}, q[4] = {h.x, h.y, h.z, h.w};
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] = fmaf(p[i], q[j], sum[i][j]);
        }
        __syncthreads();
    }
    partial = part.sums(partial, pair, N, K);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (k0 + row + i < K && n0 + column + j < N)
                partial[(long long)(k0 + row + i) * N + n0 + column + j] = sum[i][j];
}

extern "C" __global__ void add_parts(const float *x, const float *u, const float *dy, const float *partial, float *dw,
                                     int M, int N, int K, int pair, int parts, int shift)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, size = (long long)(1 + pair) * K * N;
    if (i >= size)
        return;
    float sum = 0;
#pragma unroll 8
    for (int p = 0; p < parts; p++)
        sum += partial[p * size + i];
    dw[i] = !is_finite(sum) ? plain_product(x, u, dy, i, M, N, K) : kHalf ? sum * power_of_two(-shift) : sum;
}
