/*
 * fidelity.c - the same PTX on the emulator and on a GPU, outputs compared.
 *
 *     fidelity [--gpu] [--quiet] [--seed N] CASEFILE...
 *
 * A case file NAME.case stands beside NAME.ptx and lists cases:
 *
 *     kernel mma_m16n8k16_f32_f16_f16 grid 4 block 32 smem 0 cluster 2
 *       buffer a float16 512 uniform -1 1 special inf 67 nan 71
 *       buffer d float32 512 output
 *       tensormap t a float16 dims 64 32 strides 128 box 64 8 swizzle 3
 *       tensormap u a float16 dims 16 7 5 2 strides 32 224 1120 im2col 16 64 lower -1 -1 upper -1
 * -1 args a d t #7                 -- buffers, tensor maps, 32-bit integers compare d abs 1e-5 --
 * or: bits
 *
 * Without --gpu every case must run on the emulator with the sanitizer, find nothing and write all
 * of its outputs. With it the outputs are compared with the GPU's (libcuda is loaded at run time)
 * and a table is printed. Exit 0: all agree.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/util.h"
#include "device/device.h"
#include "emu/tensormap.h"

#define MAX_BUFFERS 12
#define MAX_ARGS 16

struct buffer {
    char name[32];
    enum dtype t;
    uint64_t elems;
    bool output;
    char init[128];
    uint8_t *data; /* inputs, then what the emulator wrote */
    uint8_t *gpu;
    uint64_t addr;
    char rule[16];
    double tol;
};

struct map {
    char name[32];
    int buffer;
    struct job_tensormap t;
    bool im2col;
    int lower[3], upper[3];
    uint32_t channels, pixels;
    _Alignas(8) uint8_t bytes[128];
};

struct test {
    char kernel[128], note[32];
    uint32_t grid, block, smem, cluster;
    struct buffer b[MAX_BUFFERS];
    int nb;
    struct map m[4];
    int nm;
    char args[MAX_ARGS][32];
    int nargs;
    int line;
};

static uint64_t rng;

static uint32_t rnd(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (uint32_t)(rng >> 24);
}

/* ---- reading cases --------------------------------------------------------------------------- */

static void bad(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    exit(2);
}

static int find_buffer(const struct test *t, const char *name)
{
    for (int i = 0; i < t->nb; i++)
        if (str_eq(t->b[i].name, name))
            return i;
    return -1;
}

/* "dims 64 32 strides 128 box 64 8 swizzle 3 nan 1 es 1 2": lists of numbers by name. */
static void parse_map(struct map *m, char **tok, int n)
{
    uint64_t *u64 = NULL;
    uint32_t *u32 = NULL;
    int *ints = NULL;
    for (int i = 0; i < 5; i++)
        m->t.elem_strides[i] = m->t.box[i] = 1;
    for (int i = 0, k = 0; i < n; i++) {
        const char *s = tok[i];
        if (s[0] == '-' || (s[0] >= '0' && s[0] <= '9')) {
            uint64_t v = strtoull(s, NULL, 0);
            if (k < 3 && ints)
                ints[k++] = atoi(s);
            if (k < 5 && u64)
                u64[k++] = v;
            else if (k < 5 && u32)
                u32[k++] = (uint32_t)v;
            continue;
        }
        u64 = NULL;
        u32 = NULL;
        ints = NULL;
        k = 0;
        if (str_eq(s, "dims"))
            u64 = m->t.dims;
        else if (str_eq(s, "strides"))
            u64 = m->t.strides + 1;
        else if (str_eq(s, "box"))
            u32 = m->t.box;
        else if (str_eq(s, "es"))
            u32 = m->t.elem_strides;
        else if (str_eq(s, "swizzle") && i + 1 < n)
            m->t.swizzle = (uint8_t)atoi(tok[i + 1]);
        else if (str_eq(s, "nan"))
            m->t.fill_nan = 1;
        else if (str_eq(s, "lower"))
            ints = m->lower;
        else if (str_eq(s, "upper"))
            ints = m->upper;
        else if (str_eq(s, "im2col") && i + 2 < n) {
            m->im2col = true;
            m->channels = (uint32_t)atoi(tok[i + 1]);
            m->pixels = (uint32_t)atoi(tok[i + 2]);
            m->t.box[0] = m->channels;
        }
    }
    while (m->t.rank < 5 && m->t.dims[m->t.rank])
        m->t.rank++;
}

static void parse_line(const char *file, int line, struct test *t, char **tok, int n, char *rest)
{
    if (str_eq(tok[0], "buffer") && n >= 5 && t->nb < MAX_BUFFERS) {
        struct buffer *b = &t->b[t->nb++];
        snprintf(b->name, sizeof b->name, "%s", tok[1]);
        b->t = dtype_from_name(tok[2]);
        b->elems = strtoull(tok[3], NULL, 0);
        b->output = str_eq(tok[4], "output");
        snprintf(b->init, sizeof b->init, "%s", rest);
        if (b->t == DT_NONE || !b->elems || b->elems > 1 << 26)
            bad(file, line, "bad type or size");
    } else if (str_eq(tok[0], "tensormap") && n >= 8 && t->nm < 4) {
        struct map *m = &t->m[t->nm++];
        snprintf(m->name, sizeof m->name, "%s", tok[1]);
        m->buffer = find_buffer(t, tok[2]);
        m->t.dtype = dtype_from_name(tok[3]);
        parse_map(m, tok + 4, n - 4);
        if (m->buffer < 0)
            bad(file, line, "no such buffer");
    } else if (str_eq(tok[0], "args") && n - 1 <= MAX_ARGS) {
        for (int i = 1; i < n; i++)
            snprintf(t->args[t->nargs++], 32, "%s", tok[i]);
    } else if (str_eq(tok[0], "compare") && n >= 3) {
        int i = find_buffer(t, tok[1]);
        if (i < 0)
            bad(file, line, "no such buffer");
        snprintf(t->b[i].rule, sizeof t->b[i].rule, "%s", tok[2]);
        t->b[i].tol = n > 3 ? strtod(tok[3], NULL) : 0;
    } else {
        bad(file, line, "not understood");
    }
}

static struct test *read_cases(const char *file, int *count)
{
    FILE *f = fopen(file, "r");
    if (!f)
        bad(file, 0, "cannot be read");
    struct test *all = NULL;
    char text[512];
    *count = 0;
    for (int line = 1; fgets(text, sizeof text, f); line++) {
        char copy[512], *tok[64], *save = NULL;
        char *hash = strstr(text, "  # ");
        if (hash)
            *hash = 0;
        text[strcspn(text, "\n")] = 0;
        snprintf(copy, sizeof copy, "%s", text);
        int n = 0;
        for (char *s = strtok_r(copy, " ", &save); s && n < 64; s = strtok_r(NULL, " ", &save))
            tok[n++] = s;
        if (!n || tok[0][0] == '#')
            continue;
        if (str_eq(tok[0], "kernel")) {
            all = xrealloc(all, (size_t)(*count + 1) * sizeof *all);
            struct test *t = &all[(*count)++];
            memset(t, 0, sizeof *t);
            t->line = line;
            t->cluster = t->grid = 1;
            snprintf(t->kernel, sizeof t->kernel, "%s", n > 1 ? tok[1] : "");
            snprintf(t->note, sizeof t->note, "%s", hash ? "edges" : "");
            for (int i = 2; i + 1 < n; i += 2) {
                uint32_t v = (uint32_t)strtoul(tok[i + 1], NULL, 0);
                *(str_eq(tok[i], "grid")    ? &t->grid
                  : str_eq(tok[i], "block") ? &t->block
                  : str_eq(tok[i], "smem")  ? &t->smem
                                            : &t->cluster) = v;
            }
            continue;
        }
        if (!*count)
            bad(file, line, "expected 'kernel'");
        const char *rest = n > 4 ? text + (tok[4] - copy) : "";
        parse_line(file, line, &all[*count - 1], tok, n, (char *)rest);
    }
    fclose(f);
    return all;
}

/* ---- data ------------------------------------------------------------------------------------ */

static double special(const char *s, enum dtype t)
{
    bool neg = rnd() & 1;
    double v = str_eq(s, "inf")   ? INFINITY
               : str_eq(s, "nan") ? NAN
               : str_eq(s, "max") ? (t == DT_F8E4M3 ? 448
                                     : t == DT_F16  ? 65504
                                                    : 3e38)
               : str_eq(s, "den") ? (t == DT_F16    ? 0x1p-24
                                     : t == DT_BF16 ? 0x1p-133
                                                    : 0x1p-149)
                                  : 0;
    return neg ? -v : v;
}

static void fill(struct buffer *b)
{
    static const uint32_t pairs[] = {0x4, 0x8, 0x9, 0xc, 0xd, 0xe}, halves[] = {0x4, 0xe};
    char kind[16] = "";
    double lo = 0, hi = 1;
    size_t size = dtype_bytes(b->t);
    sscanf(b->init, "%15s %lf %lf", kind, &lo, &hi);
    char names[2][16] = {"", ""};
    unsigned every[2] = {0, 0};
    const char *sp = strstr(b->init, "special");
    if (sp)
        sscanf(sp, "special %15s %u %15s %u", names[0], &every[0], names[1], &every[1]);
    for (uint64_t i = 0; i < b->elems; i++) {
        uint8_t *p = b->data + i * size;
        if (str_eq(kind, "bits")) {
            uint64_t v = rnd() | (uint64_t)rnd() << 32;
            memcpy(p, &v, size);
        } else if (str_eq(kind, "zero")) {
            memset(p, 0, size);
        } else if (str_eq(kind, "index")) {
            dtype_store(b->t, p, (double)i);
        } else if (str_eq(kind, "meta")) {
            bool tf32 = strstr(b->init, "tf32") != NULL;
            uint32_t v = 0;
            for (int k = 0; k < 8; k++)
                v |= (tf32 ? halves[rnd() % 2] : pairs[rnd() % 6]) << 4 * k;
            memcpy(p, &v, 4);
        } else if (str_eq(kind, "int")) {
            dtype_store(b->t, p, lo + (double)(rnd() % (uint64_t)(hi - lo + 1)));
        } else {
            double v = lo + (hi - lo) * (rnd() / 4294967296.0);
            for (int k = 0; k < 2; k++)
                if (every[k] && rnd() % every[k] == 0)
                    v = special(names[k], b->t);
            dtype_store(b->t, p, v);
        }
    }
}

/* ---- the emulator ---------------------------------------------------------------------------- */

/* The device has no operation for these: jobs know tiles only. */
static void to_im2col(struct map *m)
{
    struct tensormap t;
    memcpy(&t, m->bytes, sizeof t);
    t.mode = TMAP_IM2COL;
    t.channels = (uint16_t)m->channels;
    t.pixels = (uint16_t)m->pixels;
    for (int i = 0; i < 3; i++) {
        t.lower[i] = (int16_t)m->lower[i];
        t.upper[i] = (int16_t)m->upper[i];
    }
    memcpy(m->bytes, &t, sizeof t);
}

static int on_emulator(const char *ptx, struct test *t, struct err *err, char *why, size_t cap)
{
    struct job job = {.device = JOB_EMU, .sanitize = true, .nthreads = 1};
    job.limits.device_bytes = 1ull << 30;
    job.limits.call_ns = 60000000000ull;
    job.gpu.name = "h200";
    struct device *d = NULL;
    struct device_module *mod = NULL;
    if (emu_open(&d, &job, err) < 0)
        return -1;
    int rc = -1;
    struct job_module jm = {.name = "test", .ptx = ptx, .cubin = "", .spec = "", .source = ""};
    struct job_arg args[MAX_ARGS] = {0};
    void *ptr[MAX_ARGS];
    int32_t ints[MAX_ARGS];
    struct finding_vec found = VEC_INIT;
    if (d->ops->load(d, &jm, ".", &mod, err) != RESULT_OK)
        goto out;
    for (int i = 0; i < t->nb; i++) {
        struct buffer *b = &t->b[i];
        struct device_alloc a = {.name = b->name,
                                 .bytes = b->elems * dtype_bytes(b->t),
                                 .align = 1024,
                                 .elem_bytes = (uint32_t)dtype_bytes(b->t),
                                 .role = b->output ? JOB_OUTPUT : JOB_INOUT};
        if (d->ops->alloc(d, &a, &b->addr, err) < 0)
            goto out;
        if (!b->output && d->ops->write(d, b->addr, b->data, a.bytes, err) < 0)
            goto out;
    }
    for (int i = 0; i < t->nm; i++) {
        struct map *m = &t->m[i];
        if (d->ops->tensormap(d, &m->t, t->b[m->buffer].addr, m->bytes, err) != RESULT_OK)
            goto out;
        if (m->im2col)
            to_im2col(m);
    }
    for (int i = 0; i < t->nargs; i++) {
        int k = find_buffer(t, t->args[i]);
        args[i] = (struct job_arg){.kind = JOB_ARG_BYTES, .size = 4};
        ints[i] = (int32_t)strtol(t->args[i] + 1, NULL, 0);
        ptr[i] = &ints[i];
        if (k >= 0) {
            args[i] = (struct job_arg){.kind = JOB_ARG_BUFFER, .size = 8};
            ptr[i] = &t->b[k].addr;
        }
        for (int m = 0; m < t->nm; m++)
            if (str_eq(t->m[m].name, t->args[i])) {
                args[i] = (struct job_arg){.kind = JOB_ARG_TENSORMAP, .size = 128};
                ptr[i] = t->m[m].bytes;
            }
    }
    struct job_launch l = {.kernel = t->kernel,
                           .grid = {t->grid, 1, 1},
                           .block = {t->block, 1, 1},
                           .cluster = {t->cluster, 1, 1},
                           .smem_bytes = t->smem,
                           .nargs = (uint32_t)t->nargs,
                           .args = args};
    enum result_status st = d->ops->launch(d, mod, &l, ptr, err);
    if (st == RESULT_OK)
        st = d->ops->sync(d, 0, err);
    d->ops->findings(d, &found);
    if (found.n)
        snprintf(why, cap, "%s: %s", finding_kind_name(found.items[0].kind), found.items[0].text);
    if (st != RESULT_OK)
        goto out;
    for (int i = 0; i < t->nb; i++)
        if (d->ops->read(d, t->b[i].data, t->b[i].addr, t->b[i].elems * dtype_bytes(t->b[i].t),
                         err) < 0)
            goto out;
    rc = 0;
out:
    vec_release(&found);
    if (mod)
        d->ops->unload(d, mod);
    d->ops->close(d);
    return rc;
}

/* ---- the GPU: the driver's own entry points, so that nothing of Hone's is between ------------ */

struct cuda {
    int (*init)(unsigned);
    int (*get)(int *, int);
    int (*retain)(void **, int);
    int (*set)(void *);
    int (*reset)(int);
    int (*load)(void **, const void *, unsigned, int *, void **);
    int (*unload)(void *);
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

/* A context of device 0; a fault poisons the one before for good. */
static bool cuda_context(struct cuda *c)
{
    int dev;
    void *ctx;
    return !c->get(&dev, 0) && !c->reset(dev) && !c->retain(&ctx, dev) && !c->set(ctx);
}

static bool cuda_load(struct cuda *c)
{
    void *h = dlopen("libcuda.so.1", RTLD_NOW);
    if (!h)
        return false;
    const struct {
        const char *name;
        void *slot;
    } want[] = {{"cuInit", &c->init},
                {"cuDeviceGet", &c->get},
                {"cuDevicePrimaryCtxRetain", &c->retain},
                {"cuCtxSetCurrent", &c->set},
                {"cuDevicePrimaryCtxReset_v2", &c->reset},
                {"cuModuleLoadDataEx", &c->load},
                {"cuModuleUnload", &c->unload},
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
            return false;
        memcpy(want[i].slot, &p, sizeof p);
    }
    return !c->init(0) && cuda_context(c);
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

static int on_gpu(struct cuda *c, void *module, struct test *t)
{
    void *fn, *ptr[MAX_ARGS];
    uint64_t addr[MAX_BUFFERS] = {0};
    _Alignas(64) uint8_t maps[4][128];
    int32_t ints[MAX_ARGS];
    int rc = c->func(&fn, module, t->kernel);
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

/* ---- comparing ------------------------------------------------------------------------------- */

struct tally {
    uint64_t n, equal, bad;
    double worst;
};

static void compare(const struct buffer *b, struct tally *s)
{
    size_t size = dtype_bytes(b->t);
    for (uint64_t i = 0; i < b->elems; i++) {
        const uint8_t *x = b->data + i * size, *y = b->gpu + i * size;
        s->n++;
        if (!memcmp(x, y, size)) {
            s->equal++;
            continue;
        }
        double u = dtype_load(b->t, x), v = dtype_load(b->t, y), d = fabs(u - v);
        bool same = u == v || (isnan(u) && isnan(v));
        if (!same && isfinite(d))
            s->worst = MAX(s->worst, d);
        if (str_eq(b->rule, "bits") ? !(isnan(u) && isnan(v)) : !same && !(d <= b->tol)) {
            if (!s->bad++)
                fprintf(stderr, "    %s[%llu]: emulator %.9g, GPU %.9g\n", b->name,
                        (unsigned long long)i, u, v);
        }
    }
}

static char *slurp(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        bad(path, 0, "cannot be read");
    char *text = xcalloc(1, 16u << 20);
    if (!fread(text, 1, (16u << 20) - 1, f))
        bad(path, 0, "is empty");
    fclose(f);
    return text;
}

static bool run_case(const char *file, const char *ptx, struct test *t, struct cuda *gpu,
                     const char *text, bool quiet)
{
    void *module = NULL;
    struct err err = ERR_INIT;
    char why[512] = "";
    for (int i = 0; i < t->nb; i++) {
        t->b[i].data = xcalloc(t->b[i].elems, dtype_bytes(t->b[i].t));
        if (!t->b[i].output)
            fill(&t->b[i]);
    }
    int rc = gpu ? gpu->load(&module, text, 0, NULL, NULL) : 0;
    if (!rc && gpu)
        rc = on_gpu(gpu, module, t);
    if (rc) {
        snprintf(why, sizeof why, "CUDA error %d", rc);
        if (!cuda_context(gpu))
            bad(file, t->line, "the GPU did not come back");
    } else if (gpu) {
        gpu->unload(module);
    }
    if (!rc && on_emulator(ptx, t, &err, why, sizeof why) < 0 && !why[0])
        snprintf(why, sizeof why, "%s", err.msg);
    struct tally s = {0};
    for (int i = 0; i < t->nb && gpu && !why[0]; i++)
        if (t->b[i].rule[0])
            compare(&t->b[i], &s);
    bool ok = !why[0] && !s.bad;
    double tol = 0;
    for (int i = 0; i < t->nb; i++) {
        tol = MAX(tol, t->b[i].tol);
        free(t->b[i].data);
        free(t->b[i].gpu);
    }
    if (!quiet && gpu)
        printf("| %s%s%s | %llu | %.2f%% | %.3g | %.3g | %s |\n", t->kernel, t->note[0] ? " " : "",
               t->note, (unsigned long long)s.n, s.n ? 100.0 * (double)s.equal / (double)s.n : 0,
               s.worst, tol, ok ? "ok" : "FAIL");
    if (!ok)
        fprintf(stderr, "%s:%d: %s %s: %s\n", file, t->line, t->kernel, t->note,
                why[0] ? why : "outputs differ");
    return ok;
}

int main(int argc, char **argv)
{
    bool want_gpu = false, quiet = false;
    uint64_t seed = 1;
    struct cuda cuda = {0};
    int files = 0, total = 0, failed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        if (str_eq(argv[i], "--gpu")) {
            want_gpu = true;
            if (!cuda_load(&cuda)) {
                fprintf(stderr, "no GPU: libcuda.so.1 is missing or cannot start\n");
                return 77;
            }
            printf("| case | elements | identical | largest difference | bound | |\n"
                   "| --- | --- | --- | --- | --- | --- |\n");
        } else if (str_eq(argv[i], "--quiet")) {
            quiet = true;
        } else if (str_eq(argv[i], "--seed") && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 0);
        } else {
            int n;
            struct test *t = read_cases(argv[i], &n);
            size_t len = strlen(argv[i]);
            char *ptx = xasprintf("%.*s.ptx", (int)(len - strlen(".case")), argv[i]);
            char *text = want_gpu ? slurp(ptx) : NULL;
            for (int k = 0; k < n; k++) {
                rng = 88172645463325252u ^ (seed * 2654435761u + (uint64_t)total * 40503u);
                total++;
                failed += !run_case(argv[i], ptx, &t[k], want_gpu ? &cuda : NULL, text, quiet);
            }
            free(text);
            free(ptx);
            free(t);
            files++;
        }
    }
    printf("%s%d cases of %d files, %d failed\n", want_gpu ? "\n" : "", total, files, failed);
    return failed ? 1 : 0;
}
