/* id_table.c - allocates the hash table that maps a node to its position. See id_table.h. */
#include "gnn/sample/id_table.h"

#include <string.h>

enum { FIRST_BITS = 12 };

static int set_size(struct id_table *t, int bits, struct err *err)
{
    pages_release(&t->memory);
    if (pages_reserve(&t->memory, sizeof(uint64_t) << bits, err) < 0) {
        t->entry = NULL;
        return -1;
    }
    t->bits = bits;
    t->entry = t->memory.base;
    id_table_clear(t);
    return 0;
}

int id_table_init(struct id_table *t, struct err *err)
{
    *t = (struct id_table){.bits = 0};
    return set_size(t, FIRST_BITS, err);
}

void id_table_release(struct id_table *t)
{
    pages_release(&t->memory);
    t->entry = NULL;
}

void id_table_clear(struct id_table *t)
{
    memset(t->entry, 0xff, sizeof(uint64_t) << t->bits);
}

int id_table_reserve(struct id_table *t, const int32_t *node, int64_t held, int64_t n,
                     struct err *err)
{
    int bits = t->bits;
    while ((INT64_C(1) << bits) < 2 * n)
        bits++;
    if (bits == t->bits)
        return 0;
    if (set_size(t, bits, err) < 0)
        return -1;
    for (int64_t i = 0; i < held; i++)
        id_find(t, node[i], (int32_t)i);
    return 0;
}
