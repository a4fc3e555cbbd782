/*
 * asset.c - finds embedded files by binary search.
 */
#include "sys/asset.h"

#include <string.h>

#include "base/util.h"

/* Returns the first entry whose path is >= key. The table ends with a NULL path. */
static const struct asset *lower_bound(const char *key)
{
    size_t lo = 0, hi = nassets;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (strcmp(assets[mid].path, key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return &assets[lo];
}

const struct asset *asset_find(const char *path)
{
    const struct asset *a = lower_bound(path);
    return a->path && str_eq(a->path, path) ? a : NULL;
}

const struct asset *asset_first(const char *prefix)
{
    const struct asset *a = lower_bound(prefix);
    return a->path && str_starts(a->path, prefix) ? a : NULL;
}
