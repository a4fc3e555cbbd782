/* gpu_cache.c - rows of features in a GPU's memory and in pinned host memory. See gpu_cache.h. */
#include "gnn/gpu/gpu_cache.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cuda/memory.h"
#include "gnn/gpu/gpu_device.h"
#include "gnn/ops/parallel.h"
#include "sys/memory.h"

enum {
    BLOCK = 1024,     /* rows that a thread copies at a time */
    STAGE = 64 << 20, /* bytes that go to the GPU at a time */
    WORD = 2,         /* kernels/gnn/gather_split copies elements of this many bytes */
};

struct gpu_cache {
    struct gpu_device *d;
    /* Each node has a row of features. `rows` of them are in the cache. */
    int64_t nodes, rows;
    size_t row_bytes;
    /* An int32 for each node. r >= 0 means row r of `cached`; -1 - r means row r of `host`. */
    void *slot;
    void *cached;           /* the rows in the GPU's memory; NULL = there are none */
    void *host;             /* the other rows, in pinned memory; NULL = there are none */
    const void *mapped;     /* the GPU's address of `host` */
    struct gpu_mail missed; /* how many rows the latest gather read from `host` */
    size_t missed_bytes;
    int64_t uncounted; /* rows of the latest gather that gpu_cache_count() has not counted yet */
    struct gpu_cache_counts counts;
};

/* Row id[i] of `from` becomes row i of `to`. */
struct rows {
    const char *from;
    char *to;
    const int32_t *id;
    size_t row_bytes;
};

static void copy_rows(void *ctx, int64_t block, int64_t lo, int64_t hi)
{
    const struct rows *r = ctx;
    for (int64_t i = lo; i < hi; i++)
        memcpy(r->to + (size_t)i * r->row_bytes, r->from + (size_t)r->id[i] * r->row_bytes,
               r->row_bytes);
}

static void fill_cache(struct gpu_cache *c, struct rows r, struct parallel *pool)
{
    struct gpu_device *d = c->d;
    struct err err = ERR_INIT;
    int64_t piece = MIN(c->rows, MAX((int64_t)(STAGE / c->row_bytes), 1));
    void *stage = NULL;
    gpu_note(d, cu_pinned_alloc(d->cu, (size_t)piece * c->row_bytes, &stage, &err), &err);
    const int32_t *id = r.id;
    for (int64_t at = 0; at < c->rows && !d->failed; at += piece) {
        int64_t n = MIN(piece, c->rows - at);
        r.to = stage;
        r.id = id + at;
        parallel_rows(pool, n, BLOCK, copy_rows, &r);
        gpu_upload(&d->base, (char *)c->cached + (size_t)at * c->row_bytes, stage,
                   (size_t)n * c->row_bytes);
        (void)gpu_sync(&d->base, NULL); /* the next piece overwrites `stage` */
    }
    if (stage)
        cu_pinned_free(d->cu, stage);
}

/* Puts the rows that are not in the cache into pinned memory, and maps it for the GPU. */
static void fill_host(struct gpu_cache *c, struct rows r, struct parallel *pool)
{
    struct gpu_device *d = c->d;
    struct err err = ERR_INIT;
    int64_t n = c->nodes - c->rows;
    cu_ptr at = 0;
    if (d->failed)
        return;
    gpu_note(d, cu_pinned_alloc(d->cu, (size_t)n * c->row_bytes, &c->host, &err), &err);
    if (d->failed)
        return;
    r.to = c->host;
    r.id += c->rows;
    parallel_rows(pool, n, BLOCK, copy_rows, &r);
    gpu_note(d, cu_pinned_address(d->cu, c->host, &at, &err), &err);
    c->mapped = pointer_to(at);
}

static void send_slots(struct gpu_cache *c, const int32_t *order)
{
    size_t bytes = (size_t)c->nodes * sizeof(int32_t);
    int32_t *slot = xmalloc(bytes);
    for (int64_t i = 0; i < c->nodes; i++)
        slot[order[i]] = (int32_t)(i < c->rows ? i : c->rows - i - 1);
    c->slot = gpu_alloc(&c->d->base, bytes);
    gpu_upload(&c->d->base, c->slot, slot, bytes);
    /* After this sync the copy has read `slot`. If the copy failed, a later sync reports it. */
    (void)gpu_sync(&c->d->base, NULL);
    free(slot);
}

static int check_memory(const struct gpu_cache *c, struct err *err)
{
    uint64_t need = (uint64_t)(c->nodes - c->rows) * c->row_bytes, left = memory_available();
    if (left == 0 || need <= left)
        return 0;
    return err_set(err, ERR_ENV,
                   "the rows outside the cache take %" PRIu64 " MiB of host memory, %" PRIu64
                   " MiB are free; choose a larger --cache",
                   need >> 20, left >> 20);
}

int gpu_cache_open(struct gpu_cache **out, struct gnn_device *d, const struct dataset *data,
                   const int32_t *order, int64_t rows, int threads, struct err *err)
{
    const struct manifest *m = &data->manifest;
    struct gpu_cache *c = xcalloc(1, sizeof *c);
    c->d = gpu_of(d);
    c->nodes = data->graph.nodes;
    c->rows = rows;
    c->row_bytes = (size_t)m->feature_dim * gnn_type_bytes(m->feature_type);
    if (check_memory(c, err) < 0) {
        free(c);
        return -1;
    }
    struct parallel *pool = parallel_new(MAX(threads, 1));
    struct rows r = {.from = data->feature, .id = order, .row_bytes = c->row_bytes};
    send_slots(c, order);
    (void)gpu_mail_room(c->d, &c->missed, &c->missed_bytes, sizeof(int32_t));
    if (c->rows > 0) {
        c->cached = gpu_alloc(d, (size_t)c->rows * c->row_bytes);
        fill_cache(c, r, pool);
    }
    if (c->rows < c->nodes)
        fill_host(c, r, pool);
    parallel_free(pool);
    if (gpu_sync(d, err) < 0) {
        gpu_cache_close(c);
        return -1;
    }
    *out = c;
    return 0;
}

void gpu_cache_close(struct gpu_cache *c)
{
    if (!c)
        return;
    gpu_release(&c->d->base, c->slot);
    gpu_release(&c->d->base, c->cached);
    if (c->host)
        cu_pinned_free(c->d->cu, c->host);
    gpu_mail_close(c->d, &c->missed);
    free(c);
}

void gpu_cache_gather(struct gpu_cache *c, const int32_t *node, int64_t n, void *y)
{
    int64_t others = c->nodes - c->rows;
    /* For an array without rows, pass another valid address. The kernel does not read it. */
    gpu_run_gather_split(c->d,
                         (struct gnn_gather_split_args){.node = node,
                                                        .slot = c->slot,
                                                        .cache = c->cached ? c->cached : c->mapped,
                                                        .host = c->mapped ? c->mapped : c->cached,
                                                        .y = y,
                                                        .missed = pointer_to(c->missed.at),
                                                        .N = n,
                                                        .V = c->nodes,
                                                        .C = MAX(c->rows, 1),
                                                        .H = MAX(others, 1),
                                                        .D = (int64_t)(c->row_bytes / WORD)});
    gpu_fetch(c->d, &c->missed, sizeof(int32_t));
    c->uncounted = n;
}

void gpu_cache_count(struct gpu_cache *c)
{
    if (c->uncounted == 0 || c->d->failed)
        return;
    c->counts.rows += c->uncounted;
    c->counts.missed += *(const int32_t *)c->missed.host;
    c->uncounted = 0;
}

int64_t gpu_cache_rows(const struct gpu_cache *c)
{
    return c->rows;
}

struct gpu_cache_counts gpu_cache_counts(const struct gpu_cache *c)
{
    return c->counts;
}
