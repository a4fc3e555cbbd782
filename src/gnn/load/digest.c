/* digest.c - the digest of a batch: a checksum over its arrays. See digest.h. */
#include "gnn/load/digest.h"

#include "gnn/data/checksum.h"

uint64_t batch_digest(const struct gnn_batch *b)
{
    struct checksum c;
    int64_t inputs = b->n_nodes[b->hops];
    checksum_init(&c);
    checksum_add(&c, &b->epoch, sizeof b->epoch);
    checksum_add(&c, &b->index, sizeof b->index);
    for (int h = 0; h < b->hops; h++) {
        checksum_add(&c, &b->n_nodes[h], sizeof b->n_nodes[h]);
        checksum_add(&c, b->row[h], (size_t)(b->n_nodes[h] + 1) * sizeof *b->row[h]);
        checksum_add(&c, b->col[h], (size_t)b->n_edges[h] * sizeof *b->col[h]);
    }
    checksum_add(&c, b->node, (size_t)inputs * sizeof *b->node);
    if (b->feature)
        checksum_add(&c, b->feature,
                     (size_t)(inputs * b->feature_dim) * gnn_type_bytes(b->feature_type));
    if (b->label)
        checksum_add(&c, b->label, (size_t)b->n_nodes[0] * sizeof *b->label);
    return checksum_value(&c);
}
