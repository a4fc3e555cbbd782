/* cpu.c - opens the CPU as a device; its memory and its transpose. See cpu.h. */
#include "gnn/ops/cpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "gnn/ops/cpu_device.h"

struct gnn_device *gnn_cpu_open(int threads, enum gnn_real real)
{
    struct cpu_device *d = xcalloc(1, sizeof *d);
    d->base.ops = real == GNN_REAL_F64 ? &cpu_ops_f64 : &cpu_ops_f32;
    d->parallel = parallel_new(threads);
    d->blas = blas_find();
    return &d->base;
}

void gnn_cpu_half(struct gnn_device *d, bool half)
{
    cpu_of(d)->half = half;
}

const char *cpu_products(const struct gnn_device *d)
{
    const struct blas *b = ((const struct cpu_device *)d)->blas;
    return b ? b->name : "plain C";
}

void cpu_close(struct gnn_device *d)
{
    struct cpu_device *c = cpu_of(d);
    parallel_free(c->parallel);
    free(c->scratch);
    free(c->rounded);
    free(c);
}

void *cpu_alloc(struct gnn_device *d, size_t bytes)
{
    void *p;
    if (posix_memalign(&p, 64, MAX(bytes, 64)) != 0)
        BUG("out of memory: %zu bytes for a matrix", bytes);
    return p;
}

void cpu_release(struct gnn_device *d, void *p)
{
    free(p);
}

void cpu_zero(struct gnn_device *d, void *p, size_t bytes)
{
    if (bytes)
        memset(p, 0, bytes);
}

void cpu_copy(struct gnn_device *d, void *to, const void *from, size_t bytes)
{
    if (bytes)
        memcpy(to, from, bytes);
}

int cpu_sync(struct gnn_device *d, struct err *err)
{
    return 0;
}

const void *cpu_array(struct gnn_device *d, const void *host, size_t bytes)
{
    return host;
}

static void *grow(struct cpu_device *d, void **p, size_t *has, size_t bytes)
{
    if (bytes > *has) {
        free(*p);
        *p = cpu_alloc(&d->base, bytes);
        *has = bytes;
    }
    return *p;
}

void *cpu_scratch(struct cpu_device *d, size_t bytes)
{
    return grow(d, &d->scratch, &d->scratch_bytes, bytes);
}

void *cpu_rounded(struct cpu_device *d, size_t bytes)
{
    return grow(d, &d->rounded, &d->rounded_bytes, bytes);
}

/* Sorts the edges by source, with a counting sort. One thread is enough: products take much longer.
 * With one thread, the order of the edges is always the same. */
void cpu_transpose(struct gnn_device *d, const struct gnn_hop *h, int32_t *t_row, int32_t *t_edge,
                   int32_t *t_dst)
{
    memset(t_row, 0, (size_t)(h->n_src + 1) * sizeof *t_row);
    for (int64_t e = 0; e < h->n_edges; e++)
        t_row[h->col[e] + 1]++;
    for (int64_t j = 0; j < h->n_src; j++)
        t_row[j + 1] += t_row[j];
    int32_t *next = cpu_scratch(cpu_of(d), (size_t)h->n_src * sizeof *next);
    memcpy(next, t_row, (size_t)h->n_src * sizeof *next);
    for (int64_t i = 0; i < h->n_dst; i++)
        for (int32_t e = h->row[i]; e < h->row[i + 1]; e++) {
            int32_t at = next[h->col[e]]++;
            t_edge[at] = e;
            t_dst[at] = (int32_t)i;
        }
}
