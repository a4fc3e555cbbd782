/* save_batch.c - writes the arrays of a batch in NumPy's format .npy, version 1.0. */
#include "gnn/load/save_batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "sys/file.h"

/* Writes n rows of `dim` elements; if dim is 0, a vector of n elements. `type` is NumPy's name of
 * the type, such as "<i4" or "<f2". */
static int save_array(const char *dir, const char *name, const char *type, int64_t n, int64_t dim,
                      size_t elem_bytes, const void *data, struct err *err)
{
    size_t bytes = (size_t)n * (size_t)MAX(dim, 1) * elem_bytes;
    struct strbuf sb = STRBUF_INIT(bytes + 256);
    char shape[48], header[160];
    snprintf(shape, sizeof shape, dim ? "(%" PRId64 ", %" PRId64 ")" : "(%" PRId64 ",)", n, dim);
    int len = snprintf(header, sizeof header,
                       "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    /* Magic, version and length take 10 bytes. Spaces and a newline fill the header up to a
     * multiple of 64 bytes. */
    size_t padded = ((size_t)len + 1 + 10 + 63) / 64 * 64 - 10;
    strbuf_add(&sb, "\x93NUMPY\1\0", 8);
    strbuf_addc(&sb, (char)(padded & 255));
    strbuf_addc(&sb, (char)(padded >> 8));
    strbuf_adds(&sb, header);
    for (size_t k = (size_t)len; k + 1 < padded; k++)
        strbuf_addc(&sb, ' ');
    strbuf_addc(&sb, '\n');
    strbuf_add(&sb, data, bytes);
    char *path = xasprintf("%s/%s.npy", dir, name);
    int rc = sb.truncated ? err_set(err, ERR_LIMIT, "%s: too many bytes", path)
                          : file_write(path, sb.buf, sb.len, err);
    free(path);
    strbuf_release(&sb);
    return rc;
}

int save_batch(const struct gnn_batch *b, const char *dir, struct err *err)
{
    char *sub = xasprintf("%s/%" PRId64, dir, b->index), name[16];
    int64_t inputs = b->n_nodes[b->hops];
    int rc = dir_make(sub, err);
    rc = rc < 0 ? rc : save_array(sub, "node", "<i4", inputs, 0, 4, b->node, err);
    for (int h = 0; h < b->hops && rc == 0; h++) {
        snprintf(name, sizeof name, "row%d", h);
        rc = save_array(sub, name, "<i4", b->n_nodes[h] + 1, 0, 4, b->row[h], err);
        snprintf(name, sizeof name, "col%d", h);
        rc = rc < 0 ? rc : save_array(sub, name, "<i4", b->n_edges[h], 0, 4, b->col[h], err);
    }
    if (rc == 0 && b->feature)
        rc = save_array(sub, "feature", b->feature_type == GNN_F16 ? "<f2" : "<f4", inputs,
                        b->feature_dim, gnn_type_bytes(b->feature_type), b->feature, err);
    if (rc == 0 && b->label)
        rc = save_array(sub, "label", "<i4", b->n_nodes[0], 0, 4, b->label, err);
    free(sub);
    return rc;
}
