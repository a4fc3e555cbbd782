// C = epilogue(A * B) by float32 arithmetic, for a K so short that writing C bounds the time.
//
// A block brings all terms of a tile of 128x128 into shared memory, k by k. A thread makes 8x8 sums, in
// four quarters of 4x4, and stores 16 bytes at a time past the caches. The columns of row k are permuted
// in pieces of 16 bytes, so that the writes of a transposed operand spread over the banks.
constexpr int kThin = 128;

__device__ int thin_place(int k, int i)
{
    return k * kThin + (i ^ (k >> 2 & 7) << 2);
}

// Brings rows `first` to first + 127 of an operand with K terms. kByK: the operand has a row for each k.
template <bool kByK>
__device__ void load_thin(float *to, const float *from, int first, int rows, int K)
{
    int quads = kByK ? kThin / 4 : K / 4;
    for (int v = threadIdx.x; v < (kByK ? K : kThin) * quads; v += 256) {
        int line = v / quads, at = v % quads * 4; // a row of the operand, and the place in it
        float4 x = {0, 0, 0, 0};
        if (kByK && first + at < rows)
            x = *reinterpret_cast<const float4 *>(from + int64_t(line) * rows + first + at);
        if (!kByK && first + line < rows)
            x = *reinterpret_cast<const float4 *>(from + int64_t(first + line) * K + at);
        if constexpr (kByK) {
            *reinterpret_cast<float4 *>(to + thin_place(line, at)) = x;
        } else {
            to[thin_place(at, line)] = x.x;
            to[thin_place(at + 1, line)] = x.y;
            to[thin_place(at + 2, line)] = x.z;
            to[thin_place(at + 3, line)] = x.w;
        }
    }
}

__device__ void thin_product(float *smem, const float *A, const float *B, float *C, const Extra &extra,
                             int2 tile, int M, int N, int K)
{
    float *a = smem, *b = smem + K * kThin;
    int m0 = tile.x * kThin, n0 = tile.y * kThin, ty = threadIdx.x / 16 * 4, tx = threadIdx.x % 16 * 4;
    int terms = is_masked(m0, kThin, n0, kThin) ? 0 : K;
    load_thin<kTurnedA>(a, matrix_of_a(A, blockIdx.y, M, K), m0, M, K);
    load_thin<!kTurnedB>(b, matrix_of_b(B, blockIdx.y, N, K), n0, N, K);
    __syncthreads();
    float sum[8][8] = {};
#pragma unroll 4
    for (int k = 0; k < terms; k++) {
        float4 ra[2], rb[2];
        CUTE_UNROLL
        for (int h = 0; h < 2; h++) {
            ra[h] = *reinterpret_cast<const float4 *>(a + thin_place(k, 64 * h + ty));
            rb[h] = *reinterpret_cast<const float4 *>(b + thin_place(k, 64 * h + tx));
        }
        const float va[8] = {ra[0].x, ra[0].y, ra[0].z, ra[0].w, ra[1].x, ra[1].y, ra[1].z, ra[1].w};
        const float vb[8] = {rb[0].x, rb[0].y, rb[0].z, rb[0].w, rb[1].x, rb[1].y, rb[1].z, rb[1].w};
        CUTE_UNROLL
        for (int i = 0; i < 8; i++)
            CUTE_UNROLL
            for (int j = 0; j < 8; j++)
                sum[i][j] += va[i] * vb[j];
    }
    int64_t first = int64_t(blockIdx.y) * M * N;
    bool wide = N % 4 == 0 && reinterpret_cast<size_t>(C) % 16 == 0;
    CUTE_UNROLL
    for (int i = 0; i < 8; i++)
        CUTE_UNROLL
        for (int h = 0; h < 2; h++) {
            int m = m0 + ty + i / 4 * 64 + i % 4, n = n0 + tx + 64 * h;
            float *to = C + first + int64_t(m) * N + n, v[4];
            CUTE_UNROLL
            for (int j = 0; j < 4; j++)
                v[j] = finish(sum[i][4 * h + j], extra, first, m, n + j, M, N);
            if (wide && m < M && n < N)
                __stcs(reinterpret_cast<float4 *>(to), float4{v[0], v[1], v[2], v[3]});
            CUTE_UNROLL
            for (int j = 0; j < 4; j++)
                if (!wide && m < M && n + j < N)
                    to[j] = v[j];
        }
}
