/*
 * gpu_made.c - makes data on a device and copies it to host memory. See gpu_made.h.
 *
 * Several threads copy, each through its own pinned memory. Page faults of the destination take
 * longer than the copies, and the threads handle them at the same time.
 */
#include "gnn/gpu/gpu_made.h"

#include <pthread.h>
#include <string.h>

#include "base/util.h"
#include "cuda/context.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "gnn/data/papers.h"
#include "gnn/gpu/devices.h"
#include "gnn/gpu/gpu_device.h"
#include "gnn/gpu/gpu_store.h"

enum { PIECE = 32 << 20, MAX_THREADS = 16 }; /* PIECE: bytes that a thread copies at a time */

struct part {
    const struct gpu_device *d;
    cu_ptr from;
    char *to;
    size_t bytes;
    struct err err;
    int rc;
};

static int copy_pieces(struct part *p, void *pinned, cu_stream s)
{
    const struct cu_driver *cu = p->d->cu;
    for (size_t at = 0; at < p->bytes; at += PIECE) {
        size_t n = MIN(p->bytes - at, (size_t)PIECE);
        if (cu_copy_to_host(cu, pinned, p->from + at, n, s, &p->err) < 0 ||
            cu_stream_sync(cu, s, &p->err) < 0)
            return -1;
        memcpy(p->to + at, pinned, n);
    }
    return 0;
}

static void *copy_part(void *ctx)
{
    struct part *p = ctx;
    const struct cu_driver *cu = p->d->cu;
    void *pinned = NULL;
    cu_stream s = NULL;
    p->rc = -1;
    if (cu_context_use(cu, p->d->context, &p->err) == 0 &&
        cu_pinned_alloc(cu, PIECE, &pinned, &p->err) == 0 && cu_stream_create(cu, &s, &p->err) == 0)
        p->rc = copy_pieces(p, pinned, s);
    if (s)
        cu_stream_destroy(cu, s);
    if (pinned)
        cu_pinned_free(cu, pinned);
    return NULL;
}

/* Copies `bytes` bytes of device memory to host memory. Uses several threads on a GPU, but one on
 * the emulator, because only one thread may use the emulator's driver. */
static int copy_array(const struct gpu_device *d, const void *from, void *to, size_t bytes,
                      struct err *err)
{
    struct part part[MAX_THREADS];
    pthread_t thread[MAX_THREADS];
    int n = d->is_emulator || bytes < PIECE ? 1 : MAX_THREADS, started = 0, rc = 0;
    for (int i = 0; i < n; i++) {
        size_t first = bytes / (size_t)n * (size_t)i;
        size_t end = i + 1 == n ? bytes : bytes / (size_t)n * (size_t)(i + 1);
        part[i] = (struct part){.d = d,
                                .from = address_of(from) + first,
                                .to = (char *)to + first,
                                .bytes = end - first,
                                .err = ERR_INIT};
    }
    while (started < n - 1 &&
           pthread_create(&thread[started], NULL, copy_part, &part[started]) == 0)
        started++;
    for (int i = started; i < n; i++) /* the parts that no other thread copies */
        copy_part(&part[i]);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < n && rc == 0; i++)
        if (part[i].rc < 0) {
            *err = part[i].err;
            rc = -1;
        }
    return rc;
}

static int copy_made(struct dataset *d, const struct gpu_device *g, const struct gpu_store *s,
                     struct err *err)
{
    const struct manifest *m = &d->manifest;
    struct gpu_store_arrays a = gpu_store_arrays(s);
    struct papers_room to;
    size_t features = (size_t)(m->nodes * m->feature_dim) * sizeof *to.feature;
    if (papers_host_room(d, &to, err) < 0 ||
        copy_array(g, a.offset, to.offset, (size_t)(m->nodes + 1) * sizeof *to.offset, err) < 0 ||
        copy_array(g, a.neighbour, to.neighbour, (size_t)m->edges * sizeof *to.neighbour, err) <
            0 ||
        copy_array(g, a.feature, to.feature, features, err) < 0)
        return -1;
    papers_host_made(d, &to);
    return 0;
}

int gpu_make_on_host(struct dataset *d, const char *device, struct err *err)
{
    const struct sample_options any = {.hops = 1, .fanout = {1}};
    struct gnn_device *g;
    struct gpu_store *s = NULL;
    if (gnn_device_open(&g, device, 1, err) < 0)
        return -1;
    int rc = gpu_store_place(&s, &(struct gpu_placement){.place = GPU_PLACE_GPU}, g, d, &any, err);
    if (rc == 0)
        rc = copy_made(d, gpu_of(g), s, err);
    gpu_store_close(s);
    g->ops->close(g);
    return rc;
}
