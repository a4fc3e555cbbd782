/*
 * job.c - writes job.bin, and reads it as hostile input.
 *
 * Layout: magic, version, then the structs field by field in the order of job.h. Numbers are
 * little-endian. An array comes after its count, and a string after its length.
 */
#include "job/job.h"

#include <string.h>

#include "base/util.h"
#include "job/wire.h"

/* The least bytes that an element of each array takes in the file, for wire_get_array(). */
enum {
    MIN_MODULE = 5 * 4 + 1,
    MIN_CASE = 88,
    MIN_BUFFER = 116,
    MIN_PROGRAM = 12,
    MIN_LAUNCH = 1 + 4 + 9 * 4 + 8 + 4 + 4 + 1 + 1 + 4,
    MIN_ARG = 1 + 4 + 8 + 4,
    MIN_TENSORMAP = 100,
    MIN_CALL = 36,
    MIN_PHASE = 16
};

/* ---- writing ------------------------------------------------------------------------------- */

static void put_gen(struct strbuf *o, const struct gen_spec *g)
{
    wire_put_u8(o, g->dist);
    for (int i = 0; i < 2; i++) {
        wire_put_u8(o, g->special[i]);
        wire_put_u32(o, g->every[i]);
        wire_put_f64(o, g->number[i]);
    }
    wire_put_f64(o, g->a);
    wire_put_f64(o, g->b);
    wire_put_u64(o, g->n);
    for (int i = 0; i < GEN_THIN_RANGES; i++) {
        wire_put_u64(o, g->thin[i].places);
        wire_put_u64(o, g->thin[i].step);
    }
    wire_put_u8(o, g->mask);
    wire_put_u64(o, g->rows);
    wire_put_u64(o, g->cols);
    wire_put_f64(o, g->pad);
}

static void put_buffer(struct strbuf *o, const struct job_buffer *b)
{
    wire_put_str(o, b->name);
    wire_put_u8(o, (uint8_t)b->role);
    wire_put_u8(o, (uint8_t)b->dtype);
    wire_put_u64(o, b->elems);
    wire_put_u64(o, b->bytes);
    wire_put_u32(o, b->align);
    wire_put_u64(o, b->offset);
    wire_put_u8(o, b->zero_init);
    wire_put_u32(o, b->rank);
    for (uint32_t i = 0; i < b->rank; i++)
        wire_put_i64(o, b->dims[i]);
    wire_put_u32(o, b->edge_dims);
    put_gen(o, &b->gen);
    wire_put_u32(o, b->stream);
    wire_put_str(o, b->file);
    wire_put_f64(o, b->rtol);
    wire_put_f64(o, b->atol);
    wire_put_f64(o, b->budget);
    wire_put_f64(o, b->acc_eps);
}

static void put_transfer(struct strbuf *o, const struct job_transfer *t)
{
    wire_put_u32(o, t->to);
    wire_put_u32(o, t->from);
    wire_put_u64(o, t->to_offset);
    wire_put_u64(o, t->from_offset);
    wire_put_u64(o, t->bytes);
    wire_put_u32(o, t->value);
    wire_put_u32(o, t->width);
}

static void put_launch(struct strbuf *o, const struct job_launch *l)
{
    wire_put_u8(o, (uint8_t)l->kind);
    if (l->kind != JOB_KERNEL)
        put_transfer(o, &l->transfer);
    wire_put_str(o, l->kernel);
    for (int i = 0; i < 3; i++) {
        wire_put_u32(o, l->grid[i]);
        wire_put_u32(o, l->block[i]);
        wire_put_u32(o, l->cluster[i]);
    }
    wire_put_u64(o, l->smem_bytes);
    wire_put_u32(o, l->regs);
    wire_put_u32(o, l->spill_bytes);
    wire_put_u8(o, l->cooperative);
    wire_put_u8(o, l->pdl);
    wire_put_u32(o, l->nargs);
    for (uint32_t i = 0; i < l->nargs; i++) {
        const struct job_arg *arg = &l->args[i];
        wire_put_u8(o, (uint8_t)arg->kind);
        wire_put_u32(o, arg->index);
        strbuf_add(o, arg->bytes, sizeof arg->bytes);
        wire_put_u32(o, arg->size);
    }
}

static void put_tensormap(struct strbuf *o, const struct job_tensormap *t)
{
    wire_put_u32(o, t->buffer);
    wire_put_u8(o, (uint8_t)t->dtype);
    wire_put_u32(o, t->rank);
    for (int i = 0; i < 5; i++) {
        wire_put_u64(o, t->dims[i]);
        wire_put_u64(o, t->strides[i]);
        wire_put_u32(o, t->box[i]);
        wire_put_u32(o, t->elem_strides[i]);
    }
    wire_put_u8(o, t->swizzle);
    wire_put_u8(o, t->interleave);
    wire_put_u8(o, t->l2promo);
    wire_put_u8(o, t->fill_nan);
}

static void put_program(struct strbuf *o, const struct job_program *p)
{
    wire_put_u32(o, p->module);
    wire_put_u32(o, p->nlaunches);
    wire_put_u32(o, p->ntensormaps);
    for (uint32_t i = 0; i < p->ntensormaps; i++)
        put_tensormap(o, &p->tensormaps[i]);
    for (uint32_t i = 0; i < p->nlaunches; i++)
        put_launch(o, &p->launches[i]);
}

static void put_call(struct strbuf *o, const struct job_call *c)
{
    wire_put_u32(o, c->program);
    wire_put_u32(o, c->flags);
    wire_put_u64(o, c->seed);
    wire_put_u64(o, c->poison);
    wire_put_u32(o, (uint32_t)c->perturb_buffer);
    wire_put_u64(o, c->perturb_elem);
}

static void put_case(struct strbuf *o, const struct job_case *c)
{
    wire_put_str(o, c->name);
    wire_put_u32(o, c->nbuffers);
    for (uint32_t i = 0; i < c->nbuffers; i++)
        put_buffer(o, &c->buffers[i]);
    wire_put_u32(o, c->nprograms);
    for (uint32_t i = 0; i < c->nprograms; i++)
        put_program(o, &c->programs[i]);
    wire_put_u32(o, c->ncalls);
    for (uint32_t i = 0; i < c->ncalls; i++)
        put_call(o, &c->calls[i]);
    wire_put_u32(o, c->timing.min_calls);
    wire_put_u32(o, c->timing.max_calls);
    wire_put_u32(o, c->timing.verify);
    wire_put_f64(o, c->timing.target_rel);
    wire_put_u64(o, c->timing.seed);
    wire_put_u8(o, c->timing.warm_l2);
    wire_put_u32(o, c->nphases);
    for (uint32_t i = 0; i < c->nphases; i++) {
        wire_put_str(o, c->phases[i].fn);
        wire_put_u64(o, c->phases[i].units);
        wire_put_u32(o, c->phases[i].repeat);
    }
    wire_put_u64(o, c->scratch_elems);
    wire_put_u32(o, c->naxes);
    for (uint32_t i = 0; i < c->naxes; i++)
        wire_put_i64(o, c->axes[i]);
    wire_put_u32(o, c->nscalars);
    for (uint32_t i = 0; i < c->nscalars; i++)
        wire_put_f64(o, c->scalars[i]);
    wire_put_u64(o, c->max_units);
    wire_put_f64(o, c->flops);
    wire_put_f64(o, c->min_bytes);
}

/* Writer and reader share these tables, so they cannot disagree. */
#define GPU_U32(g)                                                                        \
    {                                                                                     \
        &(g)->sms, &(g)->cores_per_sm, &(g)->max_threads_per_sm, &(g)->max_blocks_per_sm, \
            &(g)->regs_per_sm, &(g)->smem_per_sm, &(g)->smem_per_block, &(g)->l2_bytes,   \
            &(g)->warp_schedulers                                                         \
    }
#define GPU_F64(g)                                                                              \
    {                                                                                           \
        &(g)->clock_ghz, &(g)->dram_gbps, &(g)->l2_gbps, &(g)->smem_bytes_clk, &(g)->launch_us, \
            &(g)->fp32_tflops, &(g)->fp64_tflops, &(g)->f16_tensor_tflops,                      \
            &(g)->tf32_tensor_tflops, &(g)->f8_tensor_tflops, &(g)->s8_tensor_tops,             \
            &(g)->sfu_per_clk, &(g)->dram_latency_ns                                            \
    }

static void put_gpu(struct strbuf *o, const struct job_gpu *g)
{
    const uint32_t *u[] = GPU_U32(g);
    const double *f[] = GPU_F64(g);
    wire_put_str(o, g->name);
    for (size_t i = 0; i < ARRAY_LEN(u); i++)
        wire_put_u32(o, *u[i]);
    for (size_t i = 0; i < ARRAY_LEN(f); i++)
        wire_put_f64(o, *f[i]);
}

static void put_limits(struct strbuf *o, const struct job_limits *l)
{
    wire_put_u64(o, l->wall_ns);
    wire_put_u64(o, l->call_ns);
    wire_put_u64(o, l->measure_ns);
    wire_put_u64(o, l->device_bytes);
    wire_put_u64(o, l->printf_bytes);
    wire_put_u64(o, l->emu_steps);
}

void job_write(const struct job *job, struct strbuf *o)
{
    wire_put_u32(o, JOB_MAGIC);
    wire_put_u32(o, JOB_VERSION);
    wire_put_u8(o, (uint8_t)job->device);
    wire_put_u32(o, (uint32_t)job->ordinal);
    wire_put_u8(o, job->sanitize);
    wire_put_u8(o, job->annotate);
    wire_put_u64(o, job->nonce);
    wire_put_u64(o, job->seed);
    wire_put_u32(o, job->nthreads);
    wire_put_u32(o, job->timing_processes);
    put_limits(o, &job->limits);
    put_gpu(o, &job->gpu);
    wire_put_str(o, job->oracle);
    wire_put_str(o, job->service);
    wire_put_u32(o, job->nmodules);
    for (uint32_t i = 0; i < job->nmodules; i++) {
        const struct job_module *m = &job->modules[i];
        wire_put_str(o, m->name);
        wire_put_u8(o, (uint8_t)m->kind);
        wire_put_str(o, m->cubin);
        wire_put_str(o, m->ptx);
        wire_put_str(o, m->spec);
        wire_put_str(o, m->source);
    }
    wire_put_u32(o, job->ncases);
    for (uint32_t i = 0; i < job->ncases; i++)
        put_case(o, &job->cases[i]);
}

/* ---- reading ------------------------------------------------------------------------------- */

static const char *get_name(struct wire_reader *r, struct arena *a, const char *what)
{
    return wire_get_str(r, a, JOB_MAX_NAME, what);
}

/* Reads "" or a plain name: without a slash or a backslash, and without a dot in front. */
static const char *get_file(struct wire_reader *r, struct arena *a, const char *what)
{
    const char *s = get_name(r, a, what);
    wire_require(r, s[0] != '.' && !strchr(s, '/') && !strchr(s, '\\'), what);
    return s;
}

static void get_gen(struct wire_reader *r, struct gen_spec *g)
{
    g->dist = wire_get_enum(r, GEN_DIST_COUNT, "distribution");
    for (int i = 0; i < 2; i++) {
        g->special[i] = wire_get_enum(r, GEN_SPECIAL_COUNT, "special value");
        g->every[i] = wire_get_u32(r, "special value");
        g->number[i] = wire_get_f64(r, "special value");
    }
    g->a = wire_get_f64(r, "distribution");
    g->b = wire_get_f64(r, "distribution");
    g->n = wire_get_u64(r, "distribution");
    for (int i = 0; i < GEN_THIN_RANGES; i++) {
        struct gen_range *x = &g->thin[i];
        x->places = wire_get_u64(r, "thin range");
        x->step = wire_get_u64(r, "thin range");
        wire_require(r, x->places <= JOB_MAX_ELEMS && (x->step || !x->places), "thin range");
    }
    g->mask = wire_get_enum(r, GEN_PADDED + 1, "mask");
    g->rows = wire_get_u64(r, "mask");
    g->cols = wire_get_u64(r, "mask");
    g->pad = wire_get_f64(r, "mask");
    bool in_rows = g->mask || g->dist >= GEN_SORTED;
    wire_require(r, !in_rows || (g->rows && g->cols && g->cols < UINT64_C(1) << 32), "rows");
    const struct gen_range *x = g->thin;
    wire_require(r, !x[1].places || (x[0].places && x[0].places <= JOB_MAX_ELEMS / x[1].places),
                 "thin range");
}

static void get_buffer(struct wire_reader *r, struct arena *a, struct job_buffer *b)
{
    b->name = get_name(r, a, "buffer name");
    b->role = (enum job_buffer_role)wire_get_enum(r, JOB_WORKSPACE + 1, "buffer role");
    b->dtype = (enum dtype)wire_get_enum(r, DT_COUNT, "buffer dtype");
    b->elems = wire_get_u64(r, "buffer size");
    b->bytes = wire_get_u64(r, "buffer size");
    wire_require(r, b->elems <= JOB_MAX_ELEMS && b->bytes <= JOB_MAX_ELEMS, "buffer size");
    if (b->role != JOB_WORKSPACE) {
        wire_require(r, b->dtype != DT_NONE, "buffer dtype");
        wire_require(r, b->bytes == b->elems * dtype_bytes(b->dtype), "buffer size");
    }
    b->align = wire_get_u32(r, "buffer alignment");
    wire_require(r, b->align && !(b->align & (b->align - 1)) && b->align <= 1u << 20,
                 "buffer alignment");
    b->offset = wire_get_u64(r, "buffer offset");
    wire_require(r, b->offset <= 1u << 20, "buffer offset");
    b->zero_init = wire_get_bool(r, "zero_init");
    b->rank = wire_get_count(r, ARRAY_LEN(b->dims), "rank");
    for (uint32_t i = 0; i < b->rank; i++) {
        b->dims[i] = wire_get_i64(r, "dimension");
        wire_require(r, b->dims[i] >= 0, "dimension");
    }
    b->edge_dims = wire_get_u32(r, "rearranged dimensions");
    get_gen(r, &b->gen);
    b->stream = wire_get_u32(r, "stream");
    b->file = get_file(r, a, "buffer file");
    b->rtol = wire_get_f64(r, "tolerance");
    b->atol = wire_get_f64(r, "tolerance");
    b->budget = wire_get_f64(r, "tolerance");
    b->acc_eps = wire_get_f64(r, "tolerance");
    wire_require(r, b->rtol >= 0 && b->atol >= 0 && b->budget >= 0 && b->acc_eps >= 0, "tolerance");
}

static void get_arg(struct wire_reader *r, struct job_arg *arg, const struct job_case *c,
                    uint32_t ntensormaps)
{
    arg->kind = (enum job_arg_kind)wire_get_enum(r, JOB_ARG_TENSORMAP + 1, "argument kind");
    arg->index = wire_get_u32(r, "argument");
    for (size_t i = 0; i < sizeof arg->bytes; i++)
        arg->bytes[i] = wire_get_u8(r, "argument");
    arg->size = wire_get_u32(r, "argument size");
    switch (arg->kind) {
    case JOB_ARG_BUFFER:
        wire_require(r, arg->index < c->nbuffers && arg->size == 8, "buffer argument");
        break;
    case JOB_ARG_TENSORMAP:
        wire_require(r, arg->index < ntensormaps && arg->size == 128, "tensor map argument");
        break;
    case JOB_ARG_BYTES:
        wire_require(r, arg->size == 1 || arg->size == 2 || arg->size == 4 || arg->size == 8,
                     "argument size");
        break;
    }
}

static bool in_buffer(const struct job_case *c, uint32_t i, uint64_t offset, uint64_t bytes)
{
    return i < c->nbuffers && bytes <= c->buffers[i].bytes && offset <= c->buffers[i].bytes - bytes;
}

static void get_transfer(struct wire_reader *r, struct job_transfer *t, enum job_launch_kind kind,
                         const struct job_case *c)
{
    t->to = wire_get_u32(r, "transfer");
    t->from = wire_get_u32(r, "transfer");
    t->to_offset = wire_get_u64(r, "transfer");
    t->from_offset = wire_get_u64(r, "transfer");
    t->bytes = wire_get_u64(r, "transfer");
    t->value = wire_get_u32(r, "memset value");
    t->width = wire_get_u32(r, "memset width");
    wire_require(r, in_buffer(c, t->to, t->to_offset, t->bytes), "transfer");
    wire_require(r, r->bad || c->buffers[t->to].role != JOB_INPUT, "transfer to an input");
    wire_require(r, kind == JOB_MEMSET || in_buffer(c, t->from, t->from_offset, t->bytes),
                 "transfer");
    wire_require(r, t->width == 1 || t->width == 2 || t->width == 4, "memset width");
    wire_require(r, r->bad || (t->to_offset % t->width == 0 && t->bytes % t->width == 0),
                 "memset width");
    bool apart = t->to != t->from || t->to_offset >= t->from_offset + t->bytes ||
                 t->from_offset >= t->to_offset + t->bytes;
    wire_require(r, kind == JOB_MEMSET || apart, "copy onto itself");
}

static void get_launch(struct wire_reader *r, struct arena *a, struct job_launch *l,
                       const struct job_case *c, uint32_t ntensormaps)
{
    l->kind = (enum job_launch_kind)wire_get_enum(r, JOB_COPY + 1, "launch kind");
    if (l->kind != JOB_KERNEL)
        get_transfer(r, &l->transfer, l->kind, c);
    l->kernel = get_name(r, a, "kernel name");
    for (int i = 0; i < 3; i++) {
        l->grid[i] = wire_get_u32(r, "grid");
        l->block[i] = wire_get_u32(r, "block");
        l->cluster[i] = wire_get_u32(r, "cluster");
        wire_require(r, l->grid[i] && l->block[i] && l->cluster[i], "launch dimensions");
    }
    l->smem_bytes = wire_get_u64(r, "shared memory");
    l->regs = wire_get_u32(r, "registers");
    l->spill_bytes = wire_get_u32(r, "spills");
    l->cooperative = wire_get_bool(r, "cooperative");
    l->pdl = wire_get_bool(r, "pdl");
    l->nargs = wire_get_array(r, JOB_MAX_ARGS, MIN_ARG, "arguments");
    l->args = arena_alloc(a, l->nargs * sizeof *l->args);
    for (uint32_t i = 0; i < l->nargs && !r->bad; i++)
        get_arg(r, &l->args[i], c, ntensormaps);
}

static void get_tensormap(struct wire_reader *r, struct job_tensormap *t, const struct job_case *c)
{
    t->buffer = wire_get_u32(r, "tensor map");
    wire_require(r, t->buffer < c->nbuffers, "tensor map");
    t->dtype = (enum dtype)wire_get_enum(r, DT_COUNT, "tensor map dtype");
    wire_require(r, t->dtype != DT_NONE, "tensor map dtype");
    t->rank = wire_get_u32(r, "tensor map rank");
    wire_require(r, t->rank >= 1 && t->rank <= 5, "tensor map rank");
    for (int i = 0; i < 5; i++) {
        t->dims[i] = wire_get_u64(r, "tensor map");
        t->strides[i] = wire_get_u64(r, "tensor map");
        t->box[i] = wire_get_u32(r, "tensor map");
        t->elem_strides[i] = wire_get_u32(r, "tensor map");
    }
    t->swizzle = wire_get_enum(r, 4, "tensor map swizzle");
    t->interleave = wire_get_enum(r, 3, "tensor map interleave");
    t->l2promo = wire_get_enum(r, 4, "tensor map promotion");
    t->fill_nan = wire_get_enum(r, 2, "tensor map fill");
}

static void get_program(struct wire_reader *r, struct arena *a, struct job_program *p,
                        const struct job *job, const struct job_case *c)
{
    p->module = wire_get_u32(r, "program");
    wire_require(r, p->module < job->nmodules, "program's module");
    p->nlaunches = wire_get_array(r, JOB_MAX_LAUNCHES, MIN_LAUNCH, "launches");
    p->ntensormaps = wire_get_array(r, JOB_MAX_BUFFERS, MIN_TENSORMAP, "tensor maps");
    p->tensormaps = arena_alloc(a, p->ntensormaps * sizeof *p->tensormaps);
    for (uint32_t i = 0; i < p->ntensormaps && !r->bad; i++)
        get_tensormap(r, &p->tensormaps[i], c);
    p->launches = arena_alloc(a, p->nlaunches * sizeof *p->launches);
    for (uint32_t i = 0; i < p->nlaunches && !r->bad; i++)
        get_launch(r, a, &p->launches[i], c, p->ntensormaps);
}

static void get_call(struct wire_reader *r, struct job_call *call, const struct job_call *before,
                     const struct job_case *c)
{
    call->program = wire_get_u32(r, "call");
    wire_require(r, call->program < c->nprograms, "call's program");
    call->flags = wire_get_u32(r, "call flags");
    call->seed = wire_get_u64(r, "call");
    call->poison = wire_get_u64(r, "call");
    call->perturb_buffer = (int32_t)wire_get_u32(r, "perturbed buffer");
    call->perturb_elem = wire_get_u64(r, "perturbed element");
    if (call->flags & JOB_CALL_REPEAT)
        wire_require(r, before && before->program == call->program, "repeated call");
    if (call->perturb_buffer != -1) {
        bool in = call->perturb_buffer >= 0 && (uint32_t)call->perturb_buffer < c->nbuffers;
        wire_require(r, in, "perturbed buffer");
        if (in) {
            const struct job_buffer *b = &c->buffers[call->perturb_buffer];
            wire_require(
                r, (b->role == JOB_INPUT || b->role == JOB_INOUT) && call->perturb_elem < b->elems,
                "perturbed element");
        }
    }
}

static void get_oracle(struct wire_reader *r, struct arena *a, struct job_case *c)
{
    c->nphases = wire_get_array(r, JOB_MAX_PHASES, MIN_PHASE, "phases");
    c->phases = arena_alloc(a, c->nphases * sizeof *c->phases);
    for (uint32_t i = 0; i < c->nphases && !r->bad; i++) {
        c->phases[i].fn = get_name(r, a, "phase");
        c->phases[i].units = wire_get_u64(r, "phase");
        wire_require(r, c->phases[i].units <= JOB_MAX_ELEMS, "phase units");
        c->phases[i].repeat = wire_get_count(r, JOB_MAX_REPEAT, "phase repeat");
        wire_require(r, c->phases[i].units <= JOB_MAX_ELEMS / MAX(c->phases[i].repeat, 1u),
                     "phase repeat");
    }
    c->scratch_elems = wire_get_u64(r, "scratch");
    wire_require(r, c->scratch_elems <= JOB_MAX_ELEMS, "scratch");
    c->naxes = wire_get_array(r, 256, 8, "axes");
    c->axes = arena_alloc(a, c->naxes * sizeof *c->axes);
    for (uint32_t i = 0; i < c->naxes; i++)
        c->axes[i] = wire_get_i64(r, "axis");
    c->nscalars = wire_get_array(r, 256, 8, "scalars");
    c->scalars = arena_alloc(a, c->nscalars * sizeof *c->scalars);
    for (uint32_t i = 0; i < c->nscalars; i++)
        c->scalars[i] = wire_get_f64(r, "scalar");
    c->max_units = wire_get_u64(r, "max_units");
}

static void get_case(struct wire_reader *r, struct arena *a, struct job_case *c,
                     const struct job *job)
{
    c->name = get_name(r, a, "case name");
    c->nbuffers = wire_get_array(r, JOB_MAX_BUFFERS, MIN_BUFFER, "buffers");
    c->buffers = arena_alloc(a, c->nbuffers * sizeof *c->buffers);
    for (uint32_t i = 0; i < c->nbuffers && !r->bad; i++)
        get_buffer(r, a, &c->buffers[i]);
    c->nprograms = wire_get_array(r, JOB_MAX_PROGRAMS, MIN_PROGRAM, "programs");
    c->programs = arena_alloc(a, c->nprograms * sizeof *c->programs);
    for (uint32_t i = 0; i < c->nprograms && !r->bad; i++)
        get_program(r, a, &c->programs[i], job, c);
    c->ncalls = wire_get_array(r, JOB_MAX_CALLS, MIN_CALL, "calls");
    c->calls = arena_alloc(a, c->ncalls * sizeof *c->calls);
    for (uint32_t i = 0; i < c->ncalls && !r->bad; i++)
        get_call(r, &c->calls[i], i ? &c->calls[i - 1] : NULL, c);
    c->timing.min_calls = wire_get_count(r, JOB_MAX_CALLS, "timing");
    c->timing.max_calls = wire_get_count(r, JOB_MAX_CALLS, "timing");
    c->timing.verify = wire_get_u32(r, "timing");
    c->timing.target_rel = wire_get_f64(r, "timing");
    c->timing.seed = wire_get_u64(r, "timing");
    c->timing.warm_l2 = wire_get_bool(r, "timing");
    get_oracle(r, a, c);
    c->flops = wire_get_f64(r, "flops");
    c->min_bytes = wire_get_f64(r, "bytes");
}

static void get_gpu(struct wire_reader *r, struct arena *a, struct job_gpu *g)
{
    uint32_t *u[] = GPU_U32(g);
    double *f[] = GPU_F64(g);
    g->name = get_name(r, a, "GPU name");
    for (size_t i = 0; i < ARRAY_LEN(u); i++)
        *u[i] = wire_get_u32(r, "GPU description");
    for (size_t i = 0; i < ARRAY_LEN(f); i++)
        *f[i] = wire_get_f64(r, "GPU description");
}

static void get_module(struct wire_reader *r, struct arena *a, struct job_module *m)
{
    m->name = get_name(r, a, "module name");
    m->kind = (enum job_module_kind)wire_get_enum(r, JOB_MODULE_LIBRARY + 1, "module kind");
    m->cubin = get_file(r, a, "module file");
    m->ptx = get_file(r, a, "module file");
    m->spec = wire_get_str(r, a, JOB_MAX_SPEC, "module spec");
    m->source = get_file(r, a, "module file");
}

static void get_job(struct wire_reader *r, struct arena *a, struct job *job)
{
    job->device = (enum job_device)wire_get_enum(r, JOB_CUDA + 1, "device");
    job->ordinal = (int32_t)wire_get_u32(r, "device");
    wire_require(r, job->ordinal >= 0, "device");
    job->sanitize = wire_get_bool(r, "sanitize");
    job->annotate = wire_get_bool(r, "annotate");
    job->nonce = wire_get_u64(r, "nonce");
    job->seed = wire_get_u64(r, "seed");
    job->nthreads = wire_get_count(r, 1024, "threads");
    job->timing_processes = wire_get_count(r, 64, "timing processes");
    job->limits.wall_ns = wire_get_u64(r, "limits");
    job->limits.call_ns = wire_get_u64(r, "limits");
    job->limits.measure_ns = wire_get_u64(r, "limits");
    job->limits.device_bytes = wire_get_u64(r, "limits");
    job->limits.printf_bytes = wire_get_u64(r, "limits");
    job->limits.emu_steps = wire_get_u64(r, "limits");
    get_gpu(r, a, &job->gpu);
    job->oracle = get_file(r, a, "oracle");
    job->service = get_file(r, a, "service");
    job->nmodules = wire_get_array(r, JOB_MAX_PROGRAMS, MIN_MODULE, "modules");
    job->modules = arena_alloc(a, job->nmodules * sizeof *job->modules);
    for (uint32_t i = 0; i < job->nmodules && !r->bad; i++)
        get_module(r, a, &job->modules[i]);
    job->ncases = wire_get_array(r, JOB_MAX_CASES, MIN_CASE, "cases");
    job->cases = arena_alloc(a, job->ncases * sizeof *job->cases);
    for (uint32_t i = 0; i < job->ncases && !r->bad; i++)
        get_case(r, a, &job->cases[i], job);
}

int job_read(struct job *job, const void *data, size_t len, struct arena *a, struct err *err)
{
    *job = (struct job){0};
    if (len > JOB_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "job.bin has %zu bytes; it must have at most %u", len,
                       JOB_MAX_BYTES);
    struct wire_reader r = wire_reader_of(data, len);
    if (wire_get_u32(&r, "magic") != JOB_MAGIC)
        return err_set(err, ERR_INPUT, "job.bin: not a job");
    uint32_t version = wire_get_u32(&r, "version");
    if (version != JOB_VERSION)
        return err_set(err, ERR_INPUT,
                       "job.bin has version %u, but this hone-worker reads version %u; build hone "
                       "and hone-worker from the same source",
                       version, JOB_VERSION);
    get_job(&r, a, job);
    if (!r.bad && r.pos != r.len)
        r.bad = "end: bytes follow the job";
    if (r.bad)
        return err_set(err, ERR_INPUT, "job.bin: bad %s at byte %zu", r.bad, r.pos);
    return 0;
}

uint64_t job_hash(const void *data, size_t len)
{
    const uint8_t *p = data;
    uint64_t h = 0xcbf29ce484222325u ^ len;
    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    h ^= h >> 32;
    return h ? h : 1;
}

bool job_has_choice(const struct job_buffer *b)
{
    return b->role == JOB_OUTPUT && !dtype_is_float(b->dtype) && b->acc_eps >= 1;
}

bool job_is_sampled(const struct job_case *c)
{
    for (uint32_t i = 0; i < c->ncalls; i++)
        if (c->calls[i].flags & JOB_CALL_BLOCK_SAMPLE)
            return true;
    return false;
}

bool job_fills(const struct job_program *p, uint32_t buffer)
{
    for (uint32_t l = 0; l < p->nlaunches; l++)
        if (p->launches[l].kind != JOB_KERNEL && p->launches[l].transfer.to == buffer)
            return true;
    return false;
}

const char *job_kernel_label(const struct job_program *p, const char *kernel)
{
    for (uint32_t l = 0; l < p->nlaunches; l++)
        if (p->launches[l].label && str_eq(p->launches[l].kernel, kernel))
            return p->launches[l].label;
    return kernel;
}
