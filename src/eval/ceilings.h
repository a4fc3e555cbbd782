/*
 * ceilings.h - measures the highest rates that this machine's GPU reaches, once, and keeps them.
 *
 *     struct ceilings c;
 *     ceilings_get(&c, &(struct ceilings_query){...});     zeros where a rate is unknown
 *
 * `hone-worker --ceilings` measures copy and read bandwidth, multiply-add and tensor rates, and the
 * time of an empty launch. The cache directory keeps the answer under ceilings/, one file for each
 * model of GPU, driver and architecture.
 */
#ifndef EVAL_CEILINGS_H
#define EVAL_CEILINGS_H

#include "compile/compile.h"
#include "measure/timing.h"

struct ceilings_query {
    struct compiler *compiler;
    const char *arch;
    const char *cache_dir; /* NULL = the user's cache directory */
    const char *gpu, *driver;
    int ordinal; /* number of the GPU */
};

void ceilings_get(struct ceilings *out, const struct ceilings_query *q);

/* Parses the worker's JSON. Returns -1 also if a rate is impossible. */
int ceilings_parse(struct ceilings *out, const char *json, size_t len, struct err *err);

#endif
