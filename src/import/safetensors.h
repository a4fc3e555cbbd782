/*
 * safetensors.h - reads tensors from a .safetensors file, which may be hostile.
 *
 *     struct safetensors s;
 *     struct safetensor t;
 *     if (safetensors_open(&s, "blob/a.safetensors", err) < 0) ...
 *     if (safetensors_find(&s, "kv_indptr", &t, err) == 0)
 *         t.dtype, t.rank, t.dims, t.data, t.bytes
 *     safetensors_close(&s);
 *
 * The file begins with the length of its header: 8 bytes, little-endian. The header is JSON:
 *
 *     {"kv_indptr": {"dtype": "I32", "shape": [5], "data_offsets": [0, 20]}, "__metadata__": {...}}
 *
 * The bytes of all tensors follow; offsets count from the first of them. safetensors_find() checks
 * that a tensor's bytes lie within the file, and that their number fits its shape and dtype.
 */
#ifndef IMPORT_SAFETENSORS_H
#define IMPORT_SAFETENSORS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/err.h"

#define SAFETENSORS_MAX_RANK 8

struct safetensors {
    char *path; /* for messages */
    json_t *header;
    const unsigned char *data; /* the bytes of all tensors */
    size_t bytes;
    void *map; /* the mapped file; NULL after safetensors_parse() */
    size_t map_bytes;
};

struct safetensor {
    enum dtype dtype;
    uint32_t rank;
    int64_t dims[SAFETENSORS_MAX_RANK];
    uint64_t elems;
    const void *data; /* not aligned */
    size_t bytes;
};

int safetensors_open(struct safetensors *s, const char *path, struct err *err);
/* Reads a file of `len` bytes that is in memory. These bytes must outlive *s. `path` is for
 * messages. */
int safetensors_parse(struct safetensors *s, const void *file, size_t len, const char *path,
                      struct err *err);
int safetensors_find(const struct safetensors *s, const char *key, struct safetensor *out,
                     struct err *err);
void safetensors_close(struct safetensors *s);

#endif
