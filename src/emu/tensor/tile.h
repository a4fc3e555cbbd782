/*
 * tile.h - the dense inner loops of every matrix instruction.
 *
 * Tiles are row-major, with leading dimensions in elements. n must be a multiple of 8; m is any
 * number. The loops compute c += a * b in wrapping int32, or in float with one rounding per step
 * (two without hardware FMA).
 */
#ifndef EMU_TENSOR_TILE_H
#define EMU_TENSOR_TILE_H

#include <stddef.h>
#include <stdint.h>

void tile_f32(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb,
              size_t m, size_t n, size_t k);
void tile_i32(int32_t *c, size_t ldc, const int32_t *a, size_t lda, const int32_t *b, size_t ldb,
              size_t m, size_t n, size_t k);

/* out[k][n] (leading dimension ldo) = in[n][k] (ldi), 32-bit cells; n and k are multiples of 4. */
void tile_transpose(const uint32_t *in, size_t ldi, size_t n, size_t k, uint32_t *out, size_t ldo);

/* a[m][k] holds the stored elements of a sparse matrix (leading dimension k):
 * c[i] += a[i][p] * b[idx[i * k + p]]. */
void tile_f32_sparse(float *c, size_t ldc, const float *a, const uint16_t *idx, const float *b,
                     size_t ldb, size_t m, size_t n, size_t k);
void tile_i32_sparse(int32_t *c, size_t ldc, const int32_t *a, const uint16_t *idx,
                     const int32_t *b, size_t ldb, size_t m, size_t n, size_t k);

#endif
