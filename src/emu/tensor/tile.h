/*
 * tile.h - the inner loops of matrix instructions: dense products, sparse products, a transpose.
 *
 * Tiles are row-major, with leading dimensions (ldc, lda, ...) in elements. The products compute
 * c[m][n] += a[m][k] * b[k][n] in wrapping int32 or in float. n must be a multiple of 8; m and k
 * can be any numbers. In float, a multiply-add rounds once (twice if the code has no FMA: tile.c).
 */
#ifndef EMU_TENSOR_TILE_H
#define EMU_TENSOR_TILE_H

#include <stddef.h>
#include <stdint.h>

void tile_f32(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb,
              size_t m, size_t n, size_t k);
void tile_i32(int32_t *c, size_t ldc, const int32_t *a, size_t lda, const int32_t *b, size_t ldb,
              size_t m, size_t n, size_t k);

/* out[k][n] = in[n][k], with leading dimensions ldo and ldi. n and k are multiples of 4. */
void tile_transpose(const uint32_t *in, size_t ldi, size_t n, size_t k, uint32_t *out, size_t ldo);

/* These multiply a sparse matrix by b: c[i][j] += a[i][p] * b[idx[i * k + p]][j] for all i < m, j <
 * n and p < k. a[m][k] holds the k stored elements of each row, without gaps between rows. */
void tile_f32_sparse(float *c, size_t ldc, const float *a, const uint16_t *idx, const float *b,
                     size_t ldb, size_t m, size_t n, size_t k);
void tile_i32_sparse(int32_t *c, size_t ldc, const int32_t *a, const uint16_t *idx,
                     const int32_t *b, size_t ldb, size_t m, size_t n, size_t k);

#endif
