/*
 * zip.h - finds the members of a zip file, such as NumPy's .npz. Members may be stored or deflated,
 * and the file may use zip64.
 *
 *     struct zip_member m;
 *     if (zip_find(&b, "node_feat.npy", &m, err) < 0) ...
 *     stream_open(&s, &b, m.kind, m.at, m.size, err);
 */
#ifndef GNN_READ_ZIP_H
#define GNN_READ_ZIP_H

#include <stdint.h>

#include "gnn/read/stream.h"

struct zip_member {
    enum stream_kind kind;
    int64_t at, size; /* where the member's bytes begin in the file, and how many */
};

int zip_find(const struct bytes *b, const char *name, struct zip_member *out, struct err *err);

#endif
