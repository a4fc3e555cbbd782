/*
 * id_table.h - a flat hash table from a node to its position in a batch's list of nodes.
 *
 * The table has one word for each entry, uses linear probing, and is at most half full. So a lookup
 * is nearly always one cache miss. The table never shrinks.
 */
#ifndef GNN_SAMPLE_ID_TABLE_H
#define GNN_SAMPLE_ID_TABLE_H

#include <stdint.h>

#include "base/err.h"
#include "gnn/pages.h"

struct id_table {
    uint64_t *entry; /* node << 32 | position, or ID_EMPTY */
    int bits;        /* 1 << bits entries */
    struct pages memory;
};

#define ID_EMPTY UINT64_MAX

int id_table_init(struct id_table *t, struct err *err);
void id_table_release(struct id_table *t);
void id_table_clear(struct id_table *t);
/* Makes room for n nodes. The table already holds node[0..held-1], which keep their positions. */
int id_table_reserve(struct id_table *t, const int32_t *node, int64_t held, int64_t n,
                     struct err *err);

static inline uint64_t id_slot(const struct id_table *t, int32_t node)
{
    return ((uint64_t)(uint32_t)node * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - t->bits);
}

/* Returns the position of a node. Adds a node that is new, with the position `next`. */
static inline int32_t id_find(struct id_table *t, int32_t node, int32_t next)
{
    uint64_t mask = (UINT64_C(1) << t->bits) - 1;
    for (uint64_t s = id_slot(t, node);; s = (s + 1) & mask) {
        uint64_t e = t->entry[s];
        if (e >> 32 == (uint32_t)node)
            return (int32_t)(uint32_t)e;
        if (e == ID_EMPTY) {
            t->entry[s] = (uint64_t)(uint32_t)node << 32 | (uint32_t)next;
            return next;
        }
    }
}

#endif
