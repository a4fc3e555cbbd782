/*
 * cuda_run.c - loads modules, launches kernels and times them.
 *
 * A gate kernel holds back a timed call until the host has queued all of it, and cuda_time_end()
 * opens the gate. So the time between the two events contains no time of the host:
 *
 *     flush | gate (waits for the host) | event | launches... | event
 *
 * The gate stays closed for at least REST_NS, so that the device rests before each timed call, as
 * it does before each timed call of PyTorch (torch_sidecar.py). After GATE_NS the gate opens by
 * itself, and cuda_time_end() reports no time.
 */
#include <elf.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/stats.h"
#include "base/util.h"
#include "device/cuda.h"

enum { CUBIN_MAX = 256 << 20, MAX_FUNCTIONS = 64, MAX_RANGES = 64 };
static const uint64_t GATE_NS = 100 * 1000 * 1000, REST_NS = 500 * 1000;

struct module_range { /* a section of writable variables */
    cu_ptr ptr;
    uint64_t bytes, hash; /* hash: of the contents right after loading */
    char *name;           /* the name of one variable in the section */
};

struct device_module {
    enum job_module_kind kind;
    cu_module mod;
    char *spec;
    struct {
        char *name;
        cu_function f;
        /* threads per block, bytes per block, registers per thread */
        int max_threads, static_smem, regs;
        uint64_t smem_set; /* dynamic shared memory that opt_in() has allowed */
        bool wide_cluster; /* opt_in() has allowed clusters of more than 8 blocks */
    } fn[MAX_FUNCTIONS];
    unsigned nfn;
    struct module_range range[MAX_RANGES];
    unsigned nranges;
    bool sealed; /* `range` covers all memory that could keep data for the next call */
};

/* ---- __device__ variables -------------------------------------------------------------------- */

static int add_range(struct cuda *d, struct device_module *m, cu_ptr ptr, uint64_t bytes,
                     const char *name, struct err *err)
{
    if (m->nranges == MAX_RANGES || !bytes)
        return 0;
    struct module_range *r = &m->range[m->nranges++];
    *r = (struct module_range){.ptr = ptr, .bytes = bytes, .name = xstrdup(name)};
    return cuda_hash(&d->dev, ptr, bytes, &r->hash, err);
}

struct elf {
    const char *data;
    size_t len;
    const Elf64_Shdr *sh;
    unsigned nsh;
};

static const void *elf_at(const struct elf *e, uint64_t off, uint64_t n)
{
    return off <= e->len && n <= e->len - off ? e->data + off : NULL;
}

static bool elf_open(struct elf *e, const char *data, size_t len)
{
    *e = (struct elf){.data = data, .len = len};
    const Elf64_Ehdr *h = elf_at(e, 0, sizeof *h);
    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_shentsize != sizeof(Elf64_Shdr) ||
        h->e_shoff % 8)
        return false;
    e->nsh = h->e_shnum;
    e->sh = elf_at(e, h->e_shoff, (uint64_t)e->nsh * sizeof(Elf64_Shdr));
    return e->sh != NULL;
}

static const char *elf_string(const struct elf *e, unsigned strtab, uint64_t off)
{
    if (strtab >= e->nsh || off >= e->sh[strtab].sh_size)
        return "";
    const char *s = elf_at(e, e->sh[strtab].sh_offset, e->sh[strtab].sh_size);
    return s && memchr(s + off, 0, e->sh[strtab].sh_size - off) ? s + off : "";
}

static bool holds_variables(const struct elf *e, unsigned shstr, unsigned index)
{
    if (index == 0 || index >= e->nsh)
        return false;
    return str_starts(elf_string(e, shstr, e->sh[index].sh_name), ".nv.global");
}

/*
 * Symbols that tell where the writable variables of a cubin lie. A section has the same layout in
 * memory as in the file. So one symbol that the driver knows is enough for a section, even for its
 * static variables. We keep these symbols for the next load: headers like CuTe's define thousands
 * of variables, and the driver takes microseconds to look up each.
 */
struct cuda_symbols {
    struct cuda_symbols *next;
    char *file;
    unsigned nsections, n; /* n: length of `at` */
    struct {
        char *name;
        uint64_t offset, bytes; /* offset: of the symbol in its section; bytes: of the section */
    } at[MAX_RANGES];
};

void cuda_symbols_free(struct cuda *d)
{
    for (struct cuda_symbols *s = d->symbols, *next; s; s = next) {
        next = s->next;
        for (unsigned i = 0; i < s->n; i++)
            free(s->at[i].name);
        free(s->file);
        free(s);
    }
    d->symbols = NULL;
}

static void look_for_symbols(struct cuda *d, struct cuda_symbols *out, cu_module mod,
                             const char *data, size_t len)
{
    struct elf e;
    bool found[256] = {false};
    if (!elf_open(&e, data, len)) {
        /* PTX does not say where its variables will lie. We count one section without a symbol, so
         * that the module is not sealed. */
        out->nsections = 1;
        return;
    }
    unsigned shstr = ((const Elf64_Ehdr *)data)->e_shstrndx;
    for (unsigned s = 0; s < e.nsh; s++)
        out->nsections += holds_variables(&e, shstr, s) && e.sh[s].sh_size;
    for (unsigned s = 0; s < e.nsh && out->n < out->nsections; s++) {
        if (e.sh[s].sh_type != SHT_SYMTAB || e.sh[s].sh_entsize != sizeof(Elf64_Sym) ||
            e.sh[s].sh_offset % 8)
            continue;
        const Elf64_Sym *sym = elf_at(&e, e.sh[s].sh_offset, e.sh[s].sh_size);
        for (uint64_t i = 0; sym && i < e.sh[s].sh_size / sizeof *sym; i++) {
            unsigned at = sym[i].st_shndx;
            cu_ptr ptr = 0;
            size_t bytes = 0;
            if (ELF64_ST_TYPE(sym[i].st_info) != STT_OBJECT || !holds_variables(&e, shstr, at) ||
                at >= ARRAY_LEN(found) || found[at] || out->n == MAX_RANGES)
                continue;
            const char *name = elf_string(&e, e.sh[s].sh_link, sym[i].st_name);
            uint64_t off = sym[i].st_value, size = e.sh[at].sh_size;
            if (!*name || cu_module_global(d->cu, mod, name, &ptr, &bytes, NULL) < 0 ||
                bytes != sym[i].st_size || off > size || bytes > size - off)
                continue;
            found[at] = true;
            out->at[out->n].name = xstrdup(name);
            out->at[out->n].offset = off;
            out->at[out->n++].bytes = size;
        }
    }
}

static int find_variables(struct cuda *d, struct device_module *m, const char *file,
                          const char *data, size_t len, struct err *err)
{
    struct cuda_symbols *s = d->symbols;
    while (s && !str_eq(s->file, file))
        s = s->next;
    if (!s) {
        s = xcalloc(1, sizeof *s);
        s->file = xstrdup(file);
        s->next = d->symbols;
        d->symbols = s;
        uint64_t t = now_ns();
        look_for_symbols(d, s, m->mod, data, len);
        log_info("cuda", "%s: %u of %u sections of variables found in %.1f ms", file, s->n,
                 s->nsections, (double)(now_ns() - t) / 1e6);
    }
    m->sealed = s->n == s->nsections;
    for (unsigned i = 0; i < s->n; i++) {
        cu_ptr ptr = 0;
        size_t bytes = 0;
        CUDA_TRY(d, cu_module_global(d->cu, m->mod, s->at[i].name, &ptr, &bytes, NULL), err,
                 "finding the module's variables");
        if (add_range(d, m, ptr - s->at[i].offset, s->at[i].bytes, s->at[i].name, err) < 0)
            return -1;
    }
    return 0;
}

bool cuda_sealed(struct device *dev, struct device_module *m)
{
    return m->kind != JOB_MODULE_KERNEL || m->sealed;
}

int cuda_globals_intact(struct device *dev, struct device_module *m, bool *ok, const char **which,
                        struct err *err)
{
    *ok = true;
    for (unsigned i = 0; i < m->nranges && *ok; i++) {
        uint64_t h;
        if (cuda_hash(dev, m->range[i].ptr, m->range[i].bytes, &h, err) < 0)
            return -1;
        *ok = h == m->range[i].hash;
        *which = m->range[i].name;
    }
    return 0;
}

/* ---- modules --------------------------------------------------------------------------------- */

enum result_status cuda_load(struct device *dev, const struct job_module *jm, const char *dir,
                             struct device_module **out, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    char *data = NULL;
    size_t len = 0;
    struct device_module *m = xcalloc(1, sizeof *m);
    enum result_status st = RESULT_OK;
    m->kind = jm->kind;
    if (d->lost != RESULT_OK) {
        err_set(err, ERR_ENV, "the GPU cannot be used any more after this error: %s", d->lost_why);
        st = RESULT_MACHINE;
    } else if (jm->kind == JOB_MODULE_LIBRARY) {
        m->spec = xstrdup(jm->spec);
        st = cuda_lib_load(d, jm->spec, err);
    } else if (cuda_read_file(dir, *jm->cubin ? jm->cubin : jm->ptx, CUBIN_MAX, &data, &len, err) <
               0) {
        st = RESULT_MACHINE;
    } else {
        int rc = cu_module_load(d->cu, data, &m->mod, NULL);
        if (rc < 0)
            st = cuda_blame(d, rc, err, "loading the module");
        else if (find_variables(d, m, *jm->cubin ? jm->cubin : jm->ptx, data, len, err) < 0)
            st = RESULT_MACHINE;
    }
    free(data);
    if (st != RESULT_OK)
        cuda_unload(dev, m);
    else
        *out = m;
    return st;
}

void cuda_unload(struct device *dev, struct device_module *m)
{
    struct cuda *d = cuda_of(dev);
    if (m->mod && d->lost == RESULT_OK)
        cu_module_unload(d->cu, m->mod);
    for (unsigned i = 0; i < m->nfn; i++)
        free(m->fn[i].name);
    for (unsigned i = 0; i < m->nranges; i++)
        free(m->range[i].name);
    free(m->spec);
    free(m);
}

/* Returns an index in m->fn, or -1 with *st set. */
static int find_function(struct cuda *d, struct device_module *m, const char *name,
                         enum result_status *st, struct err *err)
{
    for (unsigned i = 0; i < m->nfn; i++)
        if (str_eq(m->fn[i].name, name))
            return (int)i;
    if (m->nfn == MAX_FUNCTIONS) {
        err_set(err, ERR_LIMIT, "more than %d kernels", MAX_FUNCTIONS);
        *st = RESULT_PLAN;
        return -1;
    }
    unsigned i = m->nfn;
    cu_function f;
    int rc = cu_module_function(d->cu, m->mod, name, &f, NULL);
    bool missing = rc == -CU_NOT_FOUND;
    if (rc == 0)
        rc = cu_function_get(d->cu, f, CU_FUNC_MAX_THREADS, &m->fn[i].max_threads, NULL);
    if (rc == 0)
        rc = cu_function_get(d->cu, f, CU_FUNC_STATIC_SMEM, &m->fn[i].static_smem, NULL);
    if (rc == 0)
        rc = cu_function_get(d->cu, f, CU_FUNC_NUM_REGS, &m->fn[i].regs, NULL);
    if (rc < 0) {
        *st = cuda_blame(d, rc, err,
                         missing ? "the module has no such kernel" : "looking up the kernel");
        return -1;
    }
    m->fn[i].name = xstrdup(name);
    m->fn[i].f = f;
    m->nfn++;
    return (int)i;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Says what is wrong with a launch's shape. The driver would only say "invalid value". */
static enum result_status check_shape(struct cuda *d, const struct device_module *m, int fn,
                                      const struct job_launch *l, struct err *err)
{
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    uint64_t smem = l->smem_bytes + (uint64_t)m->fn[fn].static_smem;
    if (threads > 1024 || l->block[2] > 64)
        err_set(err, ERR_INPUT,
                "a block of %ux%ux%u threads: at most 1024 are allowed, and at most 64 in z",
                l->block[0], l->block[1], l->block[2]);
    else if (threads > (uint64_t)m->fn[fn].max_threads)
        err_set(
            err, ERR_INPUT,
            "a block of %llu threads, but this kernel allows at most %d (it needs %d registers per "
            "thread, or its launch bounds are smaller)",
            (unsigned long long)threads, m->fn[fn].max_threads, m->fn[fn].regs);
    else if (smem > d->info.smem_per_block_optin)
        err_set(err, ERR_INPUT,
                "a block needs %llu bytes of shared memory (%d of them static), but at most %u fit",
                (unsigned long long)smem, m->fn[fn].static_smem, d->info.smem_per_block_optin);
    else if (l->grid[1] > 65535 || l->grid[2] > 65535 || l->grid[0] > 2147483647u)
        err_set(err, ERR_INPUT,
                "a grid of %ux%ux%u: y and z may be at most 65535, x at most 2147483647",
                l->grid[0], l->grid[1], l->grid[2]);
    else if (l->grid[0] % l->cluster[0] || l->grid[1] % l->cluster[1] || l->grid[2] % l->cluster[2])
        err_set(err, ERR_INPUT, "a grid of %ux%ux%u is not a multiple of its cluster %ux%ux%u",
                l->grid[0], l->grid[1], l->grid[2], l->cluster[0], l->cluster[1], l->cluster[2]);
    else
        return RESULT_OK;
    return RESULT_PLAN;
}

/* If the launch needs more than 48 KB of shared memory, or clusters of more than 8 blocks, asks the
 * driver to allow them for the kernel. */
static int opt_in(struct cuda *d, struct device_module *m, int fn, const struct job_launch *l)
{
    uint64_t smem = l->smem_bytes + (uint64_t)m->fn[fn].static_smem;
    int rc = 0;
    if (smem > 48 * 1024 && l->smem_bytes > m->fn[fn].smem_set) {
        rc =
            cu_function_set(d->cu, m->fn[fn].f, CU_FUNC_MAX_DYNAMIC_SMEM, (int)l->smem_bytes, NULL);
        m->fn[fn].smem_set = l->smem_bytes;
    }
    if (rc == 0 && l->cluster[0] * l->cluster[1] * l->cluster[2] > 8 && !m->fn[fn].wide_cluster) {
        rc = cu_function_set(d->cu, m->fn[fn].f, CU_FUNC_NON_PORTABLE_CLUSTER, 1, NULL);
        m->fn[fn].wide_cluster = true;
    }
    return rc;
}

enum result_status cuda_launch(struct device *dev, struct device_module *m,
                               const struct job_launch *l, void *const *args, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    enum result_status st = RESULT_OK;
    if (m->kind == JOB_MODULE_LIBRARY)
        return cuda_lib_launch(d, m->spec, l, args, err);
    int fn = find_function(d, m, l->kernel, &st, err);
    if (fn < 0)
        return st;
    if ((st = check_shape(d, m, fn, l, err)) != RESULT_OK)
        return st;
    int rc = opt_in(d, m, fn, l);
    struct cu_launch launch = {.grid = {l->grid[0], l->grid[1], l->grid[2]},
                               .block = {l->block[0], l->block[1], l->block[2]},
                               .cluster = {l->cluster[0], l->cluster[1], l->cluster[2]},
                               .smem_bytes = (unsigned)l->smem_bytes,
                               .cooperative = l->cooperative,
                               .pdl = l->pdl,
                               .stream = d->stream};
    if (rc == 0)
        rc = cu_launch(d->cu, m->fn[fn].f, &launch, args, NULL);
    return rc == 0 ? RESULT_OK : cuda_blame(d, rc, err, "");
}

/* ---- tensor maps ----------------------------------------------------------------------------- */

enum result_status cuda_tensormap(struct device *dev, const struct job_tensormap *t, uint64_t addr,
                                  uint8_t out[128], struct err *err)
{
    struct cuda *d = cuda_of(dev);
    struct cu_tensormap map;
    struct cu_tensormap_spec spec = {.dtype = t->dtype,
                                     .rank = t->rank,
                                     .addr = addr,
                                     .interleave = t->interleave,
                                     .swizzle = t->swizzle,
                                     .l2promo = t->l2promo,
                                     .fill_nan = t->fill_nan};
    memcpy(spec.dims, t->dims, sizeof spec.dims);
    memcpy(spec.strides, t->strides, sizeof spec.strides);
    memcpy(spec.box, t->box, sizeof spec.box);
    memcpy(spec.elem_strides, t->elem_strides, sizeof spec.elem_strides);
    if (cu_tensormap_encode(d->cu, &spec, &map, err) < 0)
        return RESULT_PLAN;
    memcpy(out, map.opaque, 128);
    return RESULT_OK;
}

/* ---- waiting and clocks ---------------------------------------------------------------------- */

static enum result_status report_hang(struct cuda *d, uint64_t timeout_ns, struct err *err)
{
    d->lost = RESULT_HANG;
    snprintf(d->lost_why, sizeof d->lost_why, "the kernels were still running after %.1f s",
             (double)timeout_ns / 1e9);
    err_set(err, ERR_INPUT, "%s", d->lost_why);
    return RESULT_HANG;
}

enum result_status cuda_sync(struct device *dev, uint64_t timeout_ns, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    if (d->lost != RESULT_OK) { /* noticed by an earlier operation, such as time_end() */
        err_set(err, ERR_INPUT, "%s", d->lost_why);
        return d->lost;
    }
    int rc = cuda_wait(d, timeout_ns);
    if (rc == -CU_NOT_READY)
        return report_hang(d, timeout_ns, err);
    return rc == 0 ? RESULT_OK : cuda_blame(d, rc, err, "");
}

int cuda_time_begin(struct device *dev, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    uint64_t epoch = ++d->epoch, rest = REST_NS, limit = GATE_NS, gave_up = d->flags_dev + 8;
    void *args[] = {&d->flags_dev, &epoch, &rest, &limit, &gave_up};
    CUDA_TRY(d, cu_launch_1d(d->cu, d->svc.gate, 1, 1, 0, d->stream, args, NULL), err,
             "launching the gate");
    CUDA_TRY(d, cu_event_record(d->cu, d->begin, d->stream, NULL), err, "recording an event");
    d->timing = true;
    return 0;
}

int cuda_time_end(struct device *dev, struct launch_stat *out, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    *out = (struct launch_stat){.time_ns = -1};
    int rc = cu_event_record(d->cu, d->end, d->stream, NULL);
    __atomic_store_n(&d->flags[0], d->epoch, __ATOMIC_SEQ_CST);
    d->timing = false;
    if (rc == 0)
        rc = cuda_wait(d, d->job->limits.call_ns);
    if (rc == -CU_NOT_READY) {
        report_hang(d, d->job->limits.call_ns, NULL);
        return 0;
    }
    if (rc < 0) {
        struct err why = ERR_INIT;
        enum result_status st = cuda_blame(d, rc, &why, "");
        if (d->lost == RESULT_OK) {
            d->lost = st;
            snprintf(d->lost_why, sizeof d->lost_why, "%s", why.msg);
        }
        return 0;
    }
    float ms = 0;
    CUDA_TRY(d, cu_event_elapsed_ms(d->cu, d->begin, d->end, &ms, NULL), err, "reading the clocks");
    if (d->flags[1] != d->epoch)
        out->time_ns = (double)ms * 1e6;
    return 0;
}

/* Returns the time of one empty kernel in nanoseconds, or < 0 on failure. */
static double empty_sample(struct cuda *d, struct err *err)
{
    struct launch_stat stat;
    if (cuda_time_begin(&d->dev, err) < 0 ||
        cu_launch_1d(d->cu, d->svc.empty, 1, 32, 0, d->stream, NULL, NULL) < 0 ||
        cuda_time_end(&d->dev, &stat, err) < 0)
        return -1;
    return stat.time_ns;
}

int cuda_prepare_timing(struct device *dev, double *empty_launch_ns, struct err *err)
{
    enum { SAMPLES = 25, WARM_NS = 80 * 1000 * 1000 };
    struct cuda *d = cuda_of(dev);
    double v[SAMPLES];
    size_t n = 0;
    uint32_t iters = 20000;
    float a = 0.5f, b = 1.0f;
    void *args[] = {&d->slot, &iters, &a, &b};
    for (uint64_t start = now_ns(); now_ns() - start < WARM_NS;) {
        if (cuda_service_launch(d, d->svc.fma32, (uint64_t)d->info.sms * 8 * 256, args, err) < 0)
            return -1;
        int rc = cuda_wait(d, 0);
        CUDA_TRY(d, rc, err, "warming up");
    }
    for (int i = 0; i < SAMPLES; i++) {
        double t = empty_sample(d, err);
        if (t > 0)
            v[n++] = t;
    }
    *empty_launch_ns = stats_median(v, n);
    return 0;
}
