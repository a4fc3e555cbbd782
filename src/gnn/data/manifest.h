/*
 * manifest.h - reads and writes manifest.json, which says what a dataset's directory holds.
 *
 *     {"format": "hone-gnn", "version": 1, "name": "debian", "made_by": "hone-gnn make debian",
 *      "nodes": 62662, "edges": 579298, "symmetric": true, "classes": 58,
 *      "features": {"dim": 256, "type": "float16"},
 *      "files": {"offsets": {"bytes": 501304, "xxh64": "..."}, "neighbours": {...}, ...}}
 *
 * The other files are arrays of little-endian numbers. The array `offsets` is in the file
 * offsets.bin, and so on (gnn/graph.h says what offsets and neighbours are):
 *
 *     offsets      int64[nodes + 1]
 *     neighbours   int32[edges]
 *     features     float16 or float32 [nodes][dim]         optional
 *     labels       int32[nodes], -1 = unlabelled           optional
 *     train, valid, test
 *                  int32 ids; no node is in two splits     optional
 *
 * The size of a file must be what nodes, edges and dim say. Only a split may have any number of
 * ids, up to the number of nodes.
 */
#ifndef GNN_DATA_MANIFEST_H
#define GNN_DATA_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "gnn/batch.h"

enum { MANIFEST_VERSION = 1, MANIFEST_MAX_BYTES = 1 << 20, GNN_MAX_DIM = 65536 };

enum data_file {
    DATA_OFFSETS,
    DATA_NEIGHBOURS,
    DATA_FEATURES,
    DATA_LABELS,
    DATA_TRAIN,
    DATA_VALID,
    DATA_TEST,
    DATA_FILES /* how many kinds there are */
};

struct manifest {
    char name[128], made_by[512];
    int64_t nodes, edges, classes;
    bool symmetric;
    int64_t feature_dim; /* 0 = no features */
    enum gnn_type feature_type;
    struct {
        bool present;
        int64_t bytes;
        uint64_t sum; /* its XXH64 (checksum.h) */
    } file[DATA_FILES];
};

/* Returns the name of the file without ".bin": "offsets" and so on. */
const char *data_file_name(enum data_file f);
const char *gnn_type_name(enum gnn_type t);
int gnn_type_parse(const char *s, enum gnn_type *out, struct err *err);

/* Every error begins with `where`. */
int manifest_parse(struct manifest *m, const char *text, size_t len, const char *where,
                   struct err *err);
void manifest_write(const struct manifest *m, struct strbuf *out);

#endif
