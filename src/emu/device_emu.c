/*
 * device_emu.c - implements the device vtable with the emulator.
 *
 * launch() runs a launch to its end, so sync() only looks for unwritten outputs.
 */
#include "emu/device_emu.h"

#include <unistd.h>

#include "base/util.h"
#include "emu/block_sample.h"
#include "emu/core/mem.h"
#include "job/gen.h"
#include "job/poison.h"

struct device_module {
    struct code *code;
};

static struct emu *emu_of(struct device *d)
{
    return (struct emu *)d;
}

/* ---- memory --------------------------------------------------------------------------------- */

static struct alloc *buffer_at(struct emu *e, uint64_t addr, uint64_t n, struct err *err)
{
    struct alloc *a = mem_find(&e->mem, addr);
    if (!a || addr < a->addr || n > a->end - addr || addr > a->end) {
        err_set(err, ERR_INTERNAL, "no buffer at 0x%llx", (unsigned long long)addr);
        return NULL;
    }
    return a;
}

/* Returns the host's address of [addr, addr + n). In a sampled call (block_sample.h), first fills
 * these bytes with the buffer's data, if they are not yet filled. */
static uint8_t *bytes_at(struct emu *e, uint64_t addr, uint64_t n, struct err *err)
{
    struct alloc *a = buffer_at(e, addr, n, err);
    if (a && a->lazy && n)
        lazy_need(a->lazy, addr - a->addr, n);
    return a ? mem_host(&e->mem, addr) : NULL;
}

static int op_alloc(struct device *d, const struct device_alloc *spec, uint64_t *addr,
                    struct err *err)
{
    struct emu *e = emu_of(d);
    /* A call that is not sampled has a small shape, so no kernel needs more workspace than this. */
    const uint64_t enough = UINT64_C(2) << 30;
    if (spec->role == JOB_WORKSPACE && spec->bytes > enough && !e->sampling)
        return err_set(err, ERR_LIMIT,
                       "workspace '%s' needs %llu bytes; the emulator has %llu at this shape",
                       spec->name, (unsigned long long)spec->bytes, (unsigned long long)enough);
    struct alloc *a = mem_alloc(&e->mem, spec, err);
    if (!a)
        return -1;
    *addr = a->addr;
    return 0;
}

static int op_free(struct device *d, uint64_t addr, struct err *err)
{
    struct emu *e = emu_of(d);
    struct alloc *a = mem_find(&e->mem, addr);
    if (!a || a->addr != addr)
        return err_set(err, ERR_INTERNAL, "no buffer at 0x%llx", (unsigned long long)addr);
    mem_free(&e->mem, a);
    return 0;
}

static int op_write(struct device *d, uint64_t addr, const void *src, uint64_t n, struct err *err)
{
    struct emu *e = emu_of(d);
    uint8_t *p = bytes_at(e, addr, n, err);
    if (!p)
        return -1;
    memcpy(p, src, n);
    mem_mark_init(&e->mem, addr, n, true);
    return 0;
}

static int op_read(struct device *d, void *dst, uint64_t addr, uint64_t n, struct err *err)
{
    const uint8_t *p = bytes_at(emu_of(d), addr, n, err);
    if (!p)
        return -1;
    memcpy(dst, p, n);
    return 0;
}

/* The elements that one host thread fills. */
struct part {
    const struct job_buffer *b;
    uint8_t *dst;
    uint64_t seed, first, count;
    bool poison;
    pthread_t thread;
    bool started;
};

static void *part_main(void *arg)
{
    struct part *p = arg;
    uint64_t size = MAX(dtype_bytes(p->b->dtype), (size_t)1);
    if (!p->poison) {
        gen_fill(&p->b->gen, p->b->dtype, p->seed, p->b->stream, p->first, p->count,
                 p->dst + p->first * size);
        return NULL;
    }
    if (p->b->dtype == DT_NONE)
        size = 4;
    if (!p->first) {
        poison_fill(p->b->dtype, p->seed, MIN(p->count * size, p->b->bytes), p->dst);
        return NULL;
    }
    for (uint64_t i = p->first; i < p->first + p->count; i++) {
        uint64_t v = poison_bits((uint8_t)p->b->dtype, p->seed, i);
        memcpy(p->dst + i * size, &v, MIN(size, p->b->bytes - i * size));
    }
    return NULL;
}

static void run_parts(struct emu *e, const struct job_buffer *b, uint8_t *dst, uint64_t seed,
                      uint64_t elems, bool poison)
{
    struct part parts[64] = {0};
    uint32_t n = elems < 1u << 18 ? 1 : MIN(e->nthreads, 64u);
    uint64_t each = (elems / n + 63) & ~63ull;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t first = MIN(each * i, elems),
                 last = i + 1 == n ? elems : MIN(each * (i + 1), elems);
        parts[i] = (struct part){b, dst, seed, first, last - first, poison, 0, false};
        if (i + 1 < n)
            parts[i].started = pthread_create(&parts[i].thread, NULL, part_main, &parts[i]) == 0;
        if (!parts[i].started)
            part_main(&parts[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        if (parts[i].started)
            pthread_join(parts[i].thread, NULL);
}

static int op_fill_gen(struct device *d, uint64_t addr, const struct job_buffer *b, uint64_t seed,
                       struct err *err)
{
    struct emu *e = emu_of(d);
    struct alloc *a = buffer_at(e, addr, b->bytes, err);
    if (!a)
        return -1;
    if (e->sampling) {
        mem_make_lazy(&e->mem, a, b, LAZY_DATA, seed);
        return 0;
    }
    run_parts(e, b, mem_host(&e->mem, addr), seed, b->elems, false);
    mem_mark_init(&e->mem, addr, b->bytes, true);
    a->shadowed = false;
    return 0;
}

/* In a sampled call, some blocks do not run, so a launch may read parts of a workspace that no
 * block wrote. These parts hold zeros and not poison: poison in a workspace is NaN, and a kernel
 * may take a slow path for NaN. */
static int op_poison(struct device *d, uint64_t addr, const struct job_buffer *b, uint64_t pattern,
                     struct err *err)
{
    struct emu *e = emu_of(d);
    struct alloc *a = buffer_at(e, addr, b->bytes, err);
    if (!a)
        return -1;
    if (e->sampling) {
        mem_make_lazy(&e->mem, a, b, b->role == JOB_WORKSPACE ? LAZY_ZERO : LAZY_POISON, pattern);
        return 0;
    }
    uint64_t elems = b->dtype == DT_NONE ? (b->bytes + 3) / 4 : b->elems;
    run_parts(e, b, mem_host(&e->mem, addr), pattern, elems, true);
    mem_mark_init(&e->mem, addr, b->bytes, false);
    a->shadowed = true;
    return 0;
}

static int op_zero(struct device *d, uint64_t addr, uint64_t n, struct err *err)
{
    struct emu *e = emu_of(d);
    uint8_t *p = bytes_at(e, addr, n, err);
    if (!p)
        return -1;
    memset(p, 0, n);
    mem_mark_init(&e->mem, addr, n, true);
    if (e->timing)
        count_transfer(e, "memset", 0, n);
    return 0;
}

static int op_hash(struct device *d, uint64_t addr, uint64_t n, uint64_t *out, struct err *err)
{
    const uint8_t *p = bytes_at(emu_of(d), addr, n, err);
    if (!p)
        return -1;
    *out = gen_hash(p, n, 0);
    return 0;
}

static int op_guards_ok(struct device *d, uint64_t addr, bool *ok, uint64_t *first_bad,
                        struct err *err)
{
    struct emu *e = emu_of(d);
    struct alloc *a = buffer_at(e, addr, 0, err);
    if (!a)
        return -1;
    *ok = true;
    for (int side = 0; side < 2; side++) {
        uint64_t lo = side ? a->end : a->lo, hi = side ? a->hi : a->addr;
        const uint8_t *p = mem_host(&e->mem, lo);
        /* If a range equals itself shifted by one byte, all its bytes are equal. */
        if (hi > lo && p[0] == GUARD_PATTERN && memcmp(p, p + 1, hi - lo - 1) == 0)
            continue;
        for (uint64_t i = 0; i < hi - lo; i++)
            if (p[i] != GUARD_PATTERN) {
                *ok = false;
                *first_bad = lo + i;
                return 0;
            }
    }
    return 0;
}

static int op_flush(struct device *d, struct err *err)
{
    (void)d;
    (void)err;
    return 0;
}

/* ---- code ----------------------------------------------------------------------------------- */

enum result_status emu_load_text(struct device *d, const char *ptx, size_t len,
                                 struct device_module **out, struct err *err)
{
    struct code *code;
    enum result_status st = code_load(&code, emu_of(d), ptx, len, err);
    if (st == RESULT_OK) {
        *out = xcalloc(1, sizeof **out);
        (*out)->code = code;
    }
    return st;
}

int emu_kernel_params(struct device_module *m, const char *kernel, uint32_t *bytes, int max)
{
    const struct code_func *f = code_find(m->code, kernel);
    if (!f || !f->src->is_entry || !f->src->defined)
        return -1;
    for (int i = 0; i < (int)f->src->nparam && i < max; i++)
        bytes[i] = (uint32_t)f->src->param[i]->bytes;
    return (int)f->src->nparam;
}

static enum result_status op_load(struct device *d, const struct job_module *m,
                                  const char *bundle_dir, struct device_module **out,
                                  struct err *err)
{
    char *path = xasprintf("%s/%s", bundle_dir, m->ptx), *text = NULL;
    enum result_status st = RESULT_MACHINE;
    FILE *f = fopen(path, "rb");
    if (!m->ptx[0]) {
        st = RESULT_LOAD_FAILED;
        err_set(err, ERR_INPUT, "module '%s' has no PTX for the emulator", m->name);
        goto out;
    }
    if (!f) {
        err_errno(err, "cannot open %s", path);
        goto out;
    }
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    if (n < 0 || (unsigned long)n > PTX_MAX_TEXT) {
        st = RESULT_LOAD_FAILED;
        err_set(err, ERR_LIMIT, "%s is too big", m->ptx);
        goto out;
    }
    text = xmalloc((size_t)n + 1);
    if (fread(text, 1, (size_t)n, f) != (size_t)n) {
        err_errno(err, "cannot read %s", path);
        goto out;
    }
    st = emu_load_text(d, text, (size_t)n, out, err);
out:
    if (f)
        fclose(f);
    free(text);
    free(path);
    return st;
}

static void op_unload(struct device *d, struct device_module *m)
{
    (void)d;
    if (!m)
        return;
    code_free(m->code);
    free(m);
}

static int op_globals_intact(struct device *d, struct device_module *m, bool *ok,
                             const char **which, struct err *err)
{
    const struct emu *e = emu_of(d);
    /* Blocks may count with atomics, and one block resets the counter. If that block did not run,
     * the changed counter is no mistake. */
    *ok = true;
    if (e->sampling && e->ran_in_part && m->code->globals && m->code->globals->atomics)
        return 0;
    return code_globals_intact(m->code, ok, which, err);
}

static enum result_status op_tensormap(struct device *d, const struct job_tensormap *t,
                                       uint64_t addr, uint8_t out[128], struct err *err)
{
    (void)d;
    return emu_tensormap(t, addr, out, err);
}

/* ---- launches ------------------------------------------------------------------------------- */

static enum result_status refuse(struct err *err, const struct job_launch *l, const char *what)
{
    err_set(err, ERR_INPUT, "launch of '%s' refused: %s", l->kernel, what);
    return RESULT_PLAN;
}

static enum result_status check_room(const struct job_launch *l, const struct launch *run,
                                     struct err *err)
{
    const struct job_gpu *g = &run->emu->job->gpu;
    uint32_t file = g->regs_per_sm ? g->regs_per_sm : 65536, sms = g->sms ? g->sms : 132;
    uint32_t regs = (l->regs + 7) / 8 * 8;
    struct occupancy o;
    char msg[192];
    if (regs * run->nwarps * WARP > file) {
        snprintf(msg, sizeof msg,
                 "%u registers for each of %u threads; a block has %u in all: "
                 "__launch_bounds__(%u) makes the compiler use fewer",
                 l->regs, run->nthreads, file, run->nthreads);
        return refuse(err, l, msg);
    }
    model_occupancy(run, &o);
    if (l->cooperative && run->nblocks > o.blocks * sms) {
        snprintf(msg, sizeof msg, "a cooperative grid of %u blocks; only %u fit on the GPU at once",
                 run->nblocks, o.blocks * sms);
        return refuse(err, l, msg);
    }
    return RESULT_OK;
}

static enum result_status check_shape(const struct emu *e, const struct job_launch *l,
                                      const struct code_func *f, struct launch *out,
                                      struct err *err)
{
    const struct job_gpu *g = &e->job->gpu;
    const struct ptx_func *pf = f->src;
    uint64_t nblocks = 1, nthreads = 1, csize = 1;
    bool own = l->cluster[0] > 1 || l->cluster[1] > 1 || l->cluster[2] > 1;
    for (int k = 0; k < 3; k++) {
        out->grid[k] = l->grid[k];
        out->block[k] = l->block[k];
        out->cluster[k] = own ? l->cluster[k] : pf->cluster[0] ? pf->cluster[k] : 1;
        if (!l->grid[k] || !l->block[k])
            return refuse(err, l, "every dimension of grid and block must be at least 1");
        nblocks *= l->grid[k];
        nthreads *= l->block[k];
        csize *= out->cluster[k];
        if (l->grid[k] > (k ? 65535u : 0x7fffffffu) || nblocks > UINT32_MAX)
            return refuse(err, l,
                          "the grid must be at most 2^31-1 x 65535 x 65535, and have fewer "
                          "than 2^32 blocks");
        if (nthreads > MAX_THREADS_PER_BLOCK)
            return refuse(err, l, "a block must have at most 1024 threads");
        if (csize > 16 || out->cluster[k] == 0)
            return refuse(err, l, "a cluster must have 1 to 16 blocks");
        if (l->grid[k] % out->cluster[k])
            return refuse(err, l, "the grid must be a multiple of the cluster");
    }
    if (l->block[2] > 64)
        return refuse(err, l, "the block's z dimension must be at most 64");
    uint64_t max = 1;
    for (int k = 0; k < 3; k++) {
        if (pf->reqntid[0] && pf->reqntid[k] != l->block[k])
            return refuse(err, l, "the block must have the size that the kernel requires");
        max *= pf->maxntid[0] ? pf->maxntid[k] : 1;
    }
    if (pf->maxntid[0] && nthreads > max)
        return refuse(err, l, "the block must not be larger than the kernel's launch bounds");
    uint64_t smem = l->smem_bytes + f->smem_static - SMEM_BASE;
    if (smem > (g->smem_per_block ? g->smem_per_block : 232448u)) {
        char msg[128];
        snprintf(msg, sizeof msg,
                 "the launch asks for %llu bytes of shared memory; a block has at most %u",
                 (unsigned long long)smem, g->smem_per_block ? g->smem_per_block : 232448u);
        return refuse(err, l, msg);
    }
    out->nblocks = (uint32_t)nblocks;
    out->nthreads = (uint32_t)nthreads;
    out->nwarps = (out->nthreads + WARP - 1) / WARP;
    out->cluster_size = (uint32_t)csize;
    out->nclusters = out->nblocks / out->cluster_size;
    out->smem_static = f->smem_static;
    out->smem_bytes = f->smem_static + (uint32_t)l->smem_bytes;
    return check_room(l, out, err);
}

static enum result_status fill_params(struct launch *out, const struct job_launch *l,
                                      void *const *args, struct err *err)
{
    const struct ptx_func *f = out->entry->src;
    char msg[160];
    if (l->nargs != f->nparam) {
        snprintf(msg, sizeof msg, "it takes %u parameters, but the launch gives %u", f->nparam,
                 l->nargs);
        return refuse(err, l, msg);
    }
    for (uint32_t i = 0; i < f->nparam; i++) {
        if (f->param[i]->bytes != l->args[i].size) {
            snprintf(msg, sizeof msg, "parameter %u has %llu bytes, but the launch gives %u", i,
                     (unsigned long long)f->param[i]->bytes, l->args[i].size);
            return refuse(err, l, msg);
        }
        memcpy(out->params + f->param[i]->addr, args[i], l->args[i].size);
    }
    return RESULT_OK;
}

/* A sanitizer cell (sanitizer/state.h) is as wide as the narrowest access, at most 4 bytes. */
static void access_sizes(const struct code *c, struct launch *run)
{
    uint32_t smem = 4, gmem = 4;
    for (uint32_t i = 0; i < c->nfuncs; i++) {
        if (!c->funcs[i].decoded)
            continue;
        smem = MIN(smem, c->funcs[i].smem_bytes_min);
        gmem = MIN(gmem, c->funcs[i].gmem_bytes_min);
    }
    run->smem_shift = smem == 1 ? 0 : smem == 2 ? 1 : 2;
    run->gmem_shift = gmem == 1 ? 0 : gmem == 2 ? 1 : 2;
}

static enum result_status op_launch(struct device *d, struct device_module *m,
                                    const struct job_launch *l, void *const *args, struct err *err)
{
    struct emu *e = emu_of(d);
    struct code_func *f = code_find(m->code, l->kernel);
    if (!f || !f->src->is_entry || !f->src->defined) {
        err_set(err, ERR_INPUT, "no kernel '%s' in the module", l->kernel);
        return RESULT_LOAD_FAILED;
    }
    if (!f->decoded)
        code_place_dynamic(m->code, f);
    enum result_status st = code_prepare(m->code, f, err);
    if (st != RESULT_OK)
        return st;
    struct launch run = {
        .emu = e, .code = m->code, .entry = f, .regs = l->regs, .spills = l->spill_bytes};
    if ((st = check_shape(e, l, f, &run, err)) != RESULT_OK)
        return st;
    run.pool_regs = register_pool_at_start(&run);
    if (f->src->param_bytes > 32768)
        return refuse(err, l, "more than 32 KB of parameters");
    run.param_bytes = f->src->param_bytes;
    run.params = xcalloc(1, run.param_bytes + 16u);
    run.cooperative = l->cooperative;
    run.sanitize = e->sanitize && !e->sampling;
    run.sms = e->job->gpu.sms ? e->job->gpu.sms : 132;
    run.local_bytes = f->local_bytes + (f->has_calls ? LOCAL_STACK_BYTES : 0);
    run.local_bytes = (run.local_bytes + 63) & ~63u;
    run.seed = e->job->seed;
    run.max_steps = e->job->limits.emu_steps;
    run.cpu_limit_ns = e->job->limits.call_ns;
    run.most_held = run.sms * 4;
    run.count = e->counting;
    run.turned = e->turned && !block_sample_polls(m->code);
    run.blank = e->turned ? 0x7f : 0xff;
    e->launches++;
    e->launches_of_call++;
    snprintf(e->last_kernel, sizeof e->last_kernel, "%s", l->kernel);
    access_sizes(m->code, &run);
    if (l->cooperative && !m->code->grid_ws) {
        struct device_alloc ws = {
            .name = "grid workspace", .bytes = 256, .align = 256, .role = JOB_WORKSPACE};
        m->code->grid_ws = mem_alloc(&e->mem, &ws, err);
        if (!m->code->grid_ws) {
            free(run.params);
            return RESULT_OOM;
        }
        m->code->grid_ws->is_global_var = true;
    }
    if (l->cooperative)
        run.grid_ws = m->code->grid_ws->addr;
    if (e->sampling) {
        block_sample_choose(m->code, &run);
        run.trace = xcalloc((run.nsample ? run.nsample : run.nclusters) + 1u, sizeof *run.trace);
    }
    st = fill_params(&run, l, args, err);
    if (st == RESULT_OK)
        st = launch_settle(&run, e->nthreads, err);
    if (st == RESULT_OK && e->sampling && e->verifying)
        st = block_sample_run_more(&run, err);
    if (e->sampling)
        block_sample_note(&run);
    e->steps_last = run.steps;
    e->clock += run.steps + 1000;
    free(run.params);
    free(run.order);
    free(run.trace);
    return st;
}

/* ---- memset and copy ------------------------------------------------------------------------ */

/* If an earlier launch ran only some blocks, a copy or memset may overwrite elements that the
 * launch wrote. So stored_after is set, and the worker does not verify the outputs of the call. */
static void note_transfer(struct emu *e, const char *name, uint64_t read, uint64_t written)
{
    e->stored_after |= e->sampling && e->ran_in_part;
    e->clock += 1000;
    count_transfer(e, name, read, written);
}

static int op_set_memory(struct device *d, uint64_t addr, uint64_t n, uint32_t value,
                         uint32_t width, struct err *err)
{
    struct emu *e = emu_of(d);
    struct alloc *a = buffer_at(e, addr, n, err);
    if (!a)
        return -1;
    if (a->lazy)
        lazy_set(a->lazy, addr - a->addr, n, value, width);
    else
        lazy_pattern(mem_host(&e->mem, addr), n, value, width, 0);
    mem_mark_init(&e->mem, addr, n, true);
    note_transfer(e, "memset", 0, n);
    return 0;
}

static int op_copy_memory(struct device *d, uint64_t to, uint64_t from, uint64_t n, struct err *err)
{
    struct emu *e = emu_of(d);
    struct alloc *target = buffer_at(e, to, n, err), *source = buffer_at(e, from, n, err);
    if (!target || !source)
        return -1;
    if (target->lazy && source->lazy && source->role == JOB_INPUT) {
        lazy_copy(target->lazy, to - target->addr, n, source->lazy, from - source->addr);
    } else {
        uint8_t *dst = bytes_at(e, to, n, err), *src = bytes_at(e, from, n, err);
        memcpy(dst, src, n);
        target->copied = true;
    }
    mem_copy_init(&e->mem, to, from, n);
    note_transfer(e, "copy", n, n);
    return 0;
}

static enum result_status op_sync(struct device *d, uint64_t timeout_ns, struct err *err)
{
    (void)timeout_ns;
    (void)err;
    if (emu_of(d)->sanitize && !emu_of(d)->sampling)
        san_unwritten(emu_of(d));
    return RESULT_OK;
}

static int op_time_begin(struct device *d, struct err *err)
{
    (void)err;
    emu_of(d)->model_ns = emu_of(d)->model_lo_ns = emu_of(d)->model_hi_ns = 0;
    emu_of(d)->timing = true;
    return 0;
}

static int op_time_end(struct device *d, struct launch_stat *out, struct err *err)
{
    (void)err;
    out->time_ns = emu_of(d)->model_ns > 0 ? emu_of(d)->model_ns : -1;
    out->lo_ns = emu_of(d)->model_lo_ns;
    out->hi_ns = emu_of(d)->model_hi_ns;
    out->is_model = true;
    emu_of(d)->timing = false;
    return 0;
}

static void op_begin_call(struct device *d, const struct job_call *call)
{
    struct emu *e = emu_of(d);
    e->counting = (call->flags & (JOB_CALL_COUNT | JOB_CALL_TIMED | JOB_CALL_BLOCK_SAMPLE)) != 0;
    e->sampling = (call->flags & JOB_CALL_BLOCK_SAMPLE) != 0;
    e->turned = (call->flags & JOB_CALL_REPEAT) != 0;
    e->verifying = e->sampling && (call->flags & JOB_CALL_VERIFY);
    e->verify_left = VERIFY_COST;
    e->launches_of_call = 0;
    e->ran_in_part = 0;
    e->stored_after = false;
    e->blocks = e->blocks_ran = 0;
    e->traces.n = 0;
    for (size_t i = 0; i < e->mem.n; i++) {
        struct alloc *a = e->mem.allocs[i];
        a->atomics = a->loaded = a->stored = a->copied = false;
    }
}

/* ---- what a sample of blocks wrote ---------------------------------------------------------- */

static void op_blocks(struct device *d, uint64_t *all, uint64_t *ran)
{
    *all = emu_of(d)->blocks;
    *ran = emu_of(d)->blocks_ran;
}

static int op_written(struct device *d, uint64_t addr, uint64_t seed, uint32_t max,
                      struct device_written *out, struct err *err)
{
    struct alloc *a = buffer_at(emu_of(d), addr, 0, err);
    if (!a)
        return -1;
    block_sample_written(emu_of(d), a, seed, max, out);
    return 0;
}

/* ---- reports -------------------------------------------------------------------------------- */

/* Returns whether this line read unwritten memory at a place where there was no race. */
static bool stands_alone(const struct emu *e, uint32_t line)
{
    for (size_t i = 0; line && i < ARRAY_LEN(e->unwritten_lines); i++)
        if (e->unwritten_lines[i] == line)
            return true;
    return false;
}

/* Returns whether a race explains this finding, a read of unwritten memory. If so, we report only
 * the race, which says more. */
static bool reported_as_race(const struct emu *e, const struct result_finding *u)
{
    char line[32];
    snprintf(line, sizeof line, "line %u,", u->line);
    for (size_t i = 0; u->kind == FIND_UNINIT && i < e->findings.n; i++) {
        const struct result_finding *f = &e->findings.items[i];
        if (f->kind == FIND_RACE && str_eq(f->object, u->object) && str_eq(f->kernel, u->kernel) &&
            (f->line == u->line || strstr(f->other, line) || !str_eq(f->object, "shared")) &&
            !stands_alone(e, u->line))
            return true;
    }
    return false;
}

static void op_findings(struct device *d, struct finding_vec *out)
{
    struct emu *e = emu_of(d);
    for (size_t i = 0; i < e->findings.n; i++)
        if (!reported_as_race(e, &e->findings.items[i]))
            *vec_push(out) = e->findings.items[i];
    e->findings.n = 0;
    memset(e->unwritten_lines, 0, sizeof e->unwritten_lines);
}

static void op_counters(struct device *d, struct counter_vec *out)
{
    struct emu *e = emu_of(d);
    for (size_t i = 0; i < e->counters.n; i++)
        *vec_push(out) = e->counters.items[i];
    e->counters.n = 0;
}

static const char *op_printf_text(struct device *d)
{
    return emu_of(d)->printf_text.buf;
}

static int op_info(struct device *d, struct device_info *out, struct err *err)
{
    const struct job_gpu *g = &emu_of(d)->job->gpu;
    (void)err;
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "emulator (%s model)",
             g->name && g->name[0] ? g->name : "h200");
    out->sm = 90;
    out->sms = g->sms ? g->sms : 132;
    out->mem_bytes = emu_of(d)->mem.limit;
    out->l2_bytes = g->l2_bytes;
    out->smem_per_block_optin = g->smem_per_block ? g->smem_per_block : 232448u;
    return 0;
}

static void op_close(struct device *d)
{
    struct emu *e = emu_of(d);
    mem_release(&e->mem);
    arena_release(&e->strings);
    vec_release(&e->findings);
    vec_release(&e->counters);
    vec_release(&e->traces);
    strbuf_release(&e->printf_text);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

static const struct device_ops ops = {
    .name = "emu",
    .close = op_close,
    .info = op_info,
    .alloc = op_alloc,
    .free = op_free,
    .write = op_write,
    .read = op_read,
    .fill_gen = op_fill_gen,
    .poison = op_poison,
    .zero = op_zero,
    .hash = op_hash,
    .guards_ok = op_guards_ok,
    .flush_l2 = op_flush,
    .load = op_load,
    .unload = op_unload,
    .globals_intact = op_globals_intact,
    .tensormap = op_tensormap,
    .launch = op_launch,
    .set_memory = op_set_memory,
    .copy_memory = op_copy_memory,
    .sync = op_sync,
    .time_begin = op_time_begin,
    .time_end = op_time_end,
    .begin_call = op_begin_call,
    .written = op_written,
    .blocks = op_blocks,
    .findings = op_findings,
    .counters = op_counters,
    .printf_text = op_printf_text,
};

int emu_open(struct device **out, const struct job *job, struct err *err)
{
    struct emu *e = xcalloc(1, sizeof *e);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    e->dev.ops = &ops;
    e->job = job;
    e->sanitize = job->sanitize;
    e->nthreads = job->nthreads ? job->nthreads : (uint32_t)(cpus > 0 ? cpus : 1);
    e->nthreads = MIN(e->nthreads, 256u);
    strbuf_init(&e->printf_text, job->limits.printf_bytes ? job->limits.printf_bytes : 1u << 20);
    if (mem_init(&e->mem, job->limits.device_bytes, e->sanitize, err) < 0) {
        strbuf_release(&e->printf_text);
        free(e);
        return -1;
    }
    pthread_mutex_init(&e->lock, NULL);
    *out = &e->dev;
    return 0;
}
