/* slice.c - copies rows of features and labels, with prefetches. See slice.h. */
#include "gnn/load/slice.h"

#include <string.h>

#include "base/util.h"

enum { CACHE_LINE = 64, ROWS_AHEAD = 8, PREFETCH_BYTES = 1024 };

static void prefetch_row(const char *row, size_t bytes)
{
    for (size_t b = 0; b < bytes; b += CACHE_LINE)
        __builtin_prefetch(row + b);
}

void slice_rows(void *to, const void *from, size_t row_bytes, const int32_t *node, int64_t n)
{
    const char *src = from;
    char *dst = to;
    /* The hardware prefetches the rest of a long row. */
    size_t ahead_bytes = MIN(row_bytes, (size_t)PREFETCH_BYTES);
    for (int64_t i = 0; i < n; i++) {
        if (i + ROWS_AHEAD < n)
            prefetch_row(src + (size_t)node[i + ROWS_AHEAD] * row_bytes, ahead_bytes);
        memcpy(dst + (size_t)i * row_bytes, src + (size_t)node[i] * row_bytes, row_bytes);
    }
}
