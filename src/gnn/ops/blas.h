/*
 * blas.h - matrix products from OpenBLAS, loaded at run time.
 *
 *     const struct blas *b = blas_find();
 *     if (b)
 *         b->sgemm(...);
 *
 * OpenBLAS runs on the calling thread; other BLAS libraries do not promise this. The caller cuts a
 * product into blocks of rows for its own threads, so that the result does not depend on their
 * number.
 */
#ifndef GNN_OPS_BLAS_H
#define GNN_OPS_BLAS_H

enum { BLAS_ROW_MAJOR = 101, BLAS_PLAIN = 111, BLAS_TRANSPOSED = 112 };

struct blas {
    const char *name; /* "OpenBLAS 0.3.21 ..." */
    void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                  const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
    void (*dgemm)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                  const double *a, int lda, const double *b, int ldb, double beta, double *c,
                  int ldc);
};

/* Returns NULL if OpenBLAS is not installed, or if HONE_GNN_BLAS=none. The library stays loaded. */
const struct blas *blas_find(void);

#endif
