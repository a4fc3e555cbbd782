/*
 * asset.h - data files embedded at build time: tasks, prompts, playbooks, schema, gpus, kernels,
 * web.
 *
 *     const struct asset *a = asset_find("tasks/softmax/task.json");
 *     if (a) use(a->data, a->len);
 *
 * Paths are those of the source tree. data[len] is NUL. tools/embed writes the table. It is sorted
 * by path and ends with an entry whose path is NULL.
 */
#ifndef SYS_ASSET_H
#define SYS_ASSET_H

#include <stddef.h>

struct asset {
    const char *path;
    const char *data;
    size_t len;
};

extern const struct asset assets[];
extern const size_t nassets;

const struct asset *asset_find(const char *path);
/* Returns the first asset whose path begins with `prefix`. The others with this prefix follow it in
 * the table. */
const struct asset *asset_first(const char *prefix);

#endif
