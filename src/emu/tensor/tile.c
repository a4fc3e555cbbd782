/* tile.c - the inner loops of matrix instructions (tile.h). */
#include "emu/tensor/tile.h"

#include <string.h>

/*
 * On x86-64 the compiler makes two clones of these loops, and the program chooses one when it
 * starts: for processors with AVX2 and FMA (x86-64-v3), or for all others. On aarch64 the
 * compiler's baseline (NEON with FMA) is good enough. Builds with ASan or TSan have no clones,
 * because the code that chooses would run before their runtime has started. Builds with clang or a
 * GCC before 12 have none either. Without clones there is no FMA on x86-64.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 12
#define CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

#define W 8 /* columns per block: two NEON or SSE registers, one AVX */

#define BLOCK(T, R)                                                         \
    do {                                                                    \
        T acc[R][W];                                                        \
        for (int r = 0; r < (R); r++)                                       \
            for (int x = 0; x < W; x++)                                     \
                acc[r][x] = ci[(size_t)r * ldc + x];                        \
        for (size_t p = 0; p < k; p++)                                      \
            for (int r = 0; r < (R); r++)                                   \
                for (int x = 0; x < W; x++)                                 \
                    acc[r][x] += ai[(size_t)r * lda + p] * bj[p * ldb + x]; \
        for (int r = 0; r < (R); r++)                                       \
            for (int x = 0; x < W; x++)                                     \
                ci[(size_t)r * ldc + x] = acc[r][x];                        \
    } while (0)

CLONES void tile_f32(float *restrict c, size_t ldc, const float *restrict a, size_t lda,
                     const float *restrict b, size_t ldb, size_t m, size_t n, size_t k)
{
    for (size_t j = 0; j < n; j += W) {
        const float *bj = b + j;
        size_t i = 0;
        for (; i + 4 <= m; i += 4) {
            float *ci = c + i * ldc + j;
            const float *ai = a + i * lda;
            BLOCK(float, 4);
        }
        for (; i < m; i++) {
            float *ci = c + i * ldc + j;
            const float *ai = a + i * lda;
            BLOCK(float, 1);
        }
    }
}

/* Unsigned, so that accumulators wrap as on the hardware. */
CLONES static void tile_u32(uint32_t *restrict c, size_t ldc, const uint32_t *restrict a,
                            size_t lda, const uint32_t *restrict b, size_t ldb, size_t m, size_t n,
                            size_t k)
{
    for (size_t j = 0; j < n; j += W) {
        const uint32_t *bj = b + j;
        size_t i = 0;
        for (; i + 4 <= m; i += 4) {
            uint32_t *ci = c + i * ldc + j;
            const uint32_t *ai = a + i * lda;
            BLOCK(uint32_t, 4);
        }
        for (; i < m; i++) {
            uint32_t *ci = c + i * ldc + j;
            const uint32_t *ai = a + i * lda;
            BLOCK(uint32_t, 1);
        }
    }
}

void tile_i32(int32_t *c, size_t ldc, const int32_t *a, size_t lda, const int32_t *b, size_t ldb,
              size_t m, size_t n, size_t k)
{
    tile_u32((uint32_t *)c, ldc, (const uint32_t *)a, lda, (const uint32_t *)b, ldb, m, n, k);
}

#define SPARSE(T)                                                                           \
    for (size_t i = 0; i < m; i++)                                                          \
        for (size_t j = 0; j < n; j += W) {                                                 \
            T acc[W], *ci = (T *)c + i * ldc + j;                                           \
            for (int x = 0; x < W; x++)                                                     \
                acc[x] = ci[x];                                                             \
            for (size_t p = 0; p < k; p++)                                                  \
                for (int x = 0; x < W; x++)                                                 \
                    acc[x] += ((const T *)a)[i * k + p] *                                   \
                              ((const T *)b)[(size_t)idx[i * k + p] * ldb + j + (size_t)x]; \
            for (int x = 0; x < W; x++)                                                     \
                ci[x] = acc[x];                                                             \
        }

CLONES void tile_f32_sparse(float *restrict c, size_t ldc, const float *restrict a,
                            const uint16_t *restrict idx, const float *restrict b, size_t ldb,
                            size_t m, size_t n, size_t k){SPARSE(float)}

CLONES void tile_i32_sparse(int32_t *restrict c, size_t ldc, const int32_t *restrict a,
                            const uint16_t *restrict idx, const int32_t *restrict b, size_t ldb,
                            size_t m, size_t n, size_t k)
{
    SPARSE(uint32_t)
}

typedef uint32_t v4 __attribute__((vector_size(16)));

void tile_transpose(const uint32_t *in, size_t ldi, size_t n, size_t k, uint32_t *out, size_t ldo)
{
    for (size_t i = 0; i < n; i += 4)
        for (size_t j = 0; j < k; j += 4) {
            v4 a, b, c, d;
            const uint32_t *s = in + i * ldi + j;
            uint32_t *o = out + j * ldo + i;
            memcpy(&a, s, 16);
            memcpy(&b, s + ldi, 16);
            memcpy(&c, s + 2 * ldi, 16);
            memcpy(&d, s + 3 * ldi, 16);
            v4 ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5);
            v4 ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
            v4 cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5);
            v4 cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            a = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
            b = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
            c = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
            d = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
            memcpy(o, &a, 16);
            memcpy(o + ldo, &b, 16);
            memcpy(o + 2 * ldo, &c, 16);
            memcpy(o + 3 * ldo, &d, 16);
        }
}
