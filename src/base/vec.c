/*
 * vec.c - makes room for the next element of a vec.
 */
#include "base/vec.h"

#include <string.h>

#include "base/util.h"

void *vec_grow(void *items, size_t n, size_t *cap, size_t size)
{
    if (n == *cap) {
        *cap = *cap ? *cap * 2 : 8;
        items = xrealloc(items, *cap * size);
    }
    memset((char *)items + n * size, 0, size);
    return items;
}
