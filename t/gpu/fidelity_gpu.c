/*
 * fidelity_gpu.c - runs cases on the GPU. It calls the driver itself, not through src/cuda/.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "fidelity.h"

struct cuda {
    void *module;
    int (*init)(unsigned);
    int (*get)(int *, int);
    int (*retain)(void **, int);
    int (*set)(void *);
    int (*load)(void **, const void *, unsigned, int *, void **);
    int (*func)(void **, void *, const char *);
    int (*alloc)(uint64_t *, size_t);
    int (*free)(uint64_t);
    int (*h2d)(uint64_t, const void *, size_t);
    int (*d2h)(void *, uint64_t, size_t);
    int (*attr)(void *, int, int);
    int (*launch)(const void *, void *, void **, void **);
    int (*sync)(void);
    int (*encode)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                  const uint32_t *, const uint32_t *, int, int, int, int);
    int (*im2col)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const int *,
                  const int *, uint32_t, uint32_t, const uint32_t *, int, int, int, int);
};

/* Layouts of cuda.h, as the driver documents them. */
struct launch_attr {
    int id;
    char pad[4];
    union {
        char bytes[64];
        struct {
            unsigned x, y, z;
        } dim;
    } value;
};
struct launch_config {
    unsigned grid[3], block[3], smem;
    void *stream;
    struct launch_attr *attrs;
    unsigned nattrs;
};

struct cuda *gpu_open(void)
{
    static struct cuda cuda;
    struct cuda *c = &cuda;
    int dev;
    void *ctx, *h = dlopen("libcuda.so.1", RTLD_NOW);
    if (!h)
        return NULL;
    const struct {
        const char *name;
        void *slot;
    } want[] = {{"cuInit", &c->init},
                {"cuDeviceGet", &c->get},
                {"cuDevicePrimaryCtxRetain", &c->retain},
                {"cuCtxSetCurrent", &c->set},
                {"cuModuleLoadDataEx", &c->load},
                {"cuModuleGetFunction", &c->func},
                {"cuMemAlloc_v2", &c->alloc},
                {"cuMemFree_v2", &c->free},
                {"cuMemcpyHtoD_v2", &c->h2d},
                {"cuMemcpyDtoH_v2", &c->d2h},
                {"cuFuncSetAttribute", &c->attr},
                {"cuLaunchKernelEx", &c->launch},
                {"cuCtxSynchronize", &c->sync},
                {"cuTensorMapEncodeTiled", &c->encode},
                {"cuTensorMapEncodeIm2col", &c->im2col}};
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        void *p = dlsym(h, want[i].name);
        if (!p)
            return NULL;
        memcpy(want[i].slot, &p, sizeof p);
    }
    bool up = !c->init(0) && !c->get(&dev, 0) && !c->retain(&ctx, dev) && !c->set(ctx);
    return up ? c : NULL;
}

int gpu_load(struct cuda *c, const char *ptx)
{
    return c->load(&c->module, ptx, 0, NULL, NULL);
}

static int gpu_type(enum dtype t)
{
    switch (t) { /* CUtensorMapDataType */
    case DT_U16:
    case DT_I16:
        return 1;
    case DT_U32:
        return 2;
    case DT_I32:
        return 3;
    case DT_U64:
        return 4;
    case DT_I64:
        return 5;
    case DT_F16:
        return 6;
    case DT_F32:
        return 7;
    case DT_F64:
        return 8;
    case DT_BF16:
        return 9;
    default:
        return 0;
    }
}

int gpu_run(struct cuda *c, struct test *t)
{
    void *fn, *ptr[MAX_ARGS];
    uint64_t addr[MAX_BUFFERS] = {0};
    _Alignas(64) uint8_t maps[MAX_MAPS][128];
    int32_t ints[MAX_ARGS];
    int rc = c->func(&fn, c->module, t->kernel);
    for (int i = 0; i < t->nb && !rc; i++) {
        struct buffer *b = &t->b[i];
        size_t n = b->elems * dtype_bytes(b->t);
        b->gpu = xcalloc(1, n);
        rc = c->alloc(&addr[i], n);
        if (!rc)
            rc = c->h2d(addr[i], b->output ? b->gpu : b->data, n);
    }
    for (int i = 0; i < t->nm && !rc; i++) {
        const struct job_tensormap *m = &t->m[i].t;
        const struct map *im = &t->m[i];
        rc = im->im2col ? c->im2col(maps[i], gpu_type(m->dtype), m->rank, (void *)addr[im->buffer],
                                    m->dims, m->strides + 1, im->lower, im->upper, im->channels,
                                    im->pixels, m->elem_strides, 0, m->swizzle, 0, m->fill_nan)
                        : c->encode(maps[i], gpu_type(m->dtype), m->rank,
                                    (void *)addr[t->m[i].buffer], m->dims, m->strides + 1, m->box,
                                    m->elem_strides, 0, m->swizzle, 0, m->fill_nan);
    }
    for (int i = 0; i < t->nargs; i++) {
        int k = find_buffer(t, t->args[i]);
        ints[i] = (int32_t)strtol(t->args[i] + 1, NULL, 0);
        ptr[i] = k >= 0 ? (void *)&addr[k] : (void *)&ints[i];
        for (int m = 0; m < t->nm; m++)
            if (str_eq(t->m[m].name, t->args[i]))
                ptr[i] = maps[m];
    }
    struct launch_attr at = {.id = 4, .value.dim = {t->cluster, 1, 1}}; /* cluster dimension */
    struct launch_config cfg = {.grid = {t->grid, 1, 1},
                                .block = {t->block, 1, 1},
                                .smem = t->smem,
                                .attrs = &at,
                                .nattrs = t->cluster > 1};
    if (!rc && t->smem > 48 * 1024)
        rc = c->attr(fn, 8, (int)t->smem); /* max dynamic shared memory */
    if (!rc)
        rc = c->launch(&cfg, fn, ptr, NULL);
    if (!rc)
        rc = c->sync();
    for (int i = 0; i < t->nb; i++) {
        if (!rc)
            rc = c->d2h(t->b[i].gpu, addr[i], t->b[i].elems * dtype_bytes(t->b[i].t));
        if (addr[i])
            c->free(addr[i]);
    }
    return rc;
}
