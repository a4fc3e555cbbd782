/*
 * npy.h - reads NumPy's array files: first the header, then the values in blocks.
 *
 *     struct npy n;
 *     if (npy_header(&n, stream, name, err) < 0) ...       shape and type
 *     double v[1024];
 *     npy_doubles(&n, stream, v, count, err);              the next `count` values
 *
 * Reads versions 1, 2 and 3 of the format, and these little-endian types: bool, integers of 1 to 8
 * bytes, floats of 2, 4 and 8 bytes. Arrays of Python objects (pickles) or structures are refused.
 */
#ifndef GNN_READ_NPY_H
#define GNN_READ_NPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "gnn/read/stream.h"

enum { NPY_MAX_DIMS = 8, NPY_MAX_HEADER = 1 << 16 };

struct npy {
    enum dtype type;
    bool fortran; /* the values are stored column by column */
    int dims;
    int64_t shape[NPY_MAX_DIMS];
    int64_t count; /* number of values */
};

/* Errors about the header begin with `name`. */
int npy_header(struct npy *n, struct stream *s, const char *name, struct err *err);
int npy_doubles(const struct npy *n, struct stream *s, double *to, int64_t count, struct err *err);
/* Refuses arrays of floats. */
int npy_ints(const struct npy *n, struct stream *s, int64_t *to, int64_t count, struct err *err);

#endif
