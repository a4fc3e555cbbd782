/* pack.c - puts the arrays of a batch one after the other. See pack.h. */
#include "gnn/load/pack.h"

#include <string.h>

static size_t padded(size_t bytes)
{
    return (bytes + PACK_ALIGN - 1) / PACK_ALIGN * PACK_ALIGN;
}

static size_t ids_bytes(int64_t n)
{
    return padded((size_t)n * sizeof(int32_t));
}

static size_t bytes_of(const struct gnn_batch *b, size_t row_bytes)
{
    int64_t inputs = b->n_nodes[b->hops];
    size_t all = padded((size_t)inputs * row_bytes) + ids_bytes(inputs) + ids_bytes(b->n_nodes[0]);
    if (b->degree)
        all += ids_bytes(b->n_nodes[b->hops - 1]);
    for (int h = 0; h < b->hops; h++)
        all += ids_bytes(b->n_nodes[h] + 1) + ids_bytes(b->n_edges[h]);
    return all;
}

/* Makes the memory of `to` at least `bytes` large. If it must grow, its old contents are lost, and
 * it becomes an eighth larger than `bytes`, so that a slightly larger batch fits later. */
static int reserve(struct packed *to, const struct batch_memory *m, size_t bytes, struct err *err)
{
    if (to->p && bytes <= to->bytes)
        return 0;
    packed_release(to, m);
    to->bytes = padded(bytes + bytes / 8);
    to->p = m->grab(m->ctx, to->bytes, err);
    return to->p ? 0 : -1;
}

void packed_release(struct packed *p, const struct batch_memory *m)
{
    if (p->p)
        m->drop(m->ctx, p->p);
    *p = (struct packed){0};
}

/* Copies n ids to *at, moves *at past them, and returns the copy. */
static const int32_t *put_ids(char **at, const int32_t *from, int64_t n)
{
    int32_t *to = (int32_t *)*at;
    memcpy(to, from, (size_t)n * sizeof *to);
    *at += ids_bytes(n);
    return to;
}

int pack_batch(struct packed *to, const struct batch_memory *m, struct gnn_batch *b,
               size_t row_bytes, bool labels, struct err *err)
{
    int64_t inputs = b->n_nodes[b->hops];
    size_t bytes = bytes_of(b, row_bytes);
    if (reserve(to, m, bytes, err) < 0)
        return -1;
    char *at = to->p;
    b->packed = to->p;
    b->packed_bytes = bytes;
    if (row_bytes > 0)
        b->feature = at;
    at += padded((size_t)inputs * row_bytes);
    if (labels)
        b->label = (int32_t *)at;
    at += ids_bytes(b->n_nodes[0]);
    b->node = put_ids(&at, b->node, inputs);
    if (b->degree)
        b->degree = put_ids(&at, b->degree, b->n_nodes[b->hops - 1]);
    for (int h = 0; h < b->hops; h++) {
        b->row[h] = put_ids(&at, b->row[h], b->n_nodes[h] + 1);
        b->col[h] = put_ids(&at, b->col[h], b->n_edges[h]);
    }
    return 0;
}
