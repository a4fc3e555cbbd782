/*
 * ceilings.h - what this machine's GPU can do at most, measured once and kept.
 *
 *     struct ceilings c;
 *     ceilings_get(&c, &(struct ceilings_query){...});     zeros where it cannot be known
 *
 * `hone-worker --ceilings` measures (copy and read bandwidth, multiply-add and tensor rates); the
 * answer is kept in the cache directory under ceilings/, one file per GPU and driver. Roofline
 * shares are shares of these; a time better than they allow is worth a second look.
 */
#ifndef EVAL_CEILINGS_H
#define EVAL_CEILINGS_H

#include "compile/compile.h"
#include "measure/timing.h"

struct ceilings_query {
    struct compiler *compiler;
    const char *arch;
    const char *cache_dir; /* NULL = the user's */
    const char *gpu, *driver;
    int ordinal;
};

void ceilings_get(struct ceilings *out, const struct ceilings_query *q);

/* Reads what the worker printed; -1 if it is not that, or not of this world. */
int ceilings_parse(struct ceilings *out, const char *json, size_t len, struct err *err);

#endif
