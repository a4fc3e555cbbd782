/*
 * cuda_truth.c - computes the truth on the GPU with the oracle, the task's compiled reference. It
 * generates a call's inputs again, runs the oracle's phases, and compares kept outputs with the
 * truth. In a phase, each thread computes units, often one output element each. The worker loads
 * the oracle only after it has unloaded every candidate module and freed all buffers.
 */
#include <stdlib.h>

#include "base/util.h"
#include "device/cuda.h"
#include "job/edges.h"
#include "job/gen.h"
#include "job/ref_ctx.h"
#include "job/unit_sample.h"

enum { CUBIN_MAX = 256 << 20, BLOCK = 128 };

struct cuda_truth {
    cu_module mod;
    const struct job_case *c; /* the case that the buffers below belong to; NULL = none yet */
    /* Indexed by a buffer's number in the case: the input, the truth, and the magnitudes for the
     * tolerance (docs/judge.md). 0 = not allocated. */
    cu_ptr in[JOB_MAX_BUFFERS], want[JOB_MAX_BUFFERS], mag[JOB_MAX_BUFFERS];
    cu_ptr got; /* if the worker kept an output in host memory: its copy on the device */
    /* The candidate's outputs, for the oracle to read. Only for outputs with several right answers
     * (job_has_choice()). */
    cu_ptr chosen[JOB_MAX_BUFFERS];
    cu_ptr scratch, axes, scalars, fault; /* the oracle reaches them through struct ref_ctx */
    cu_ptr partial;                       /* sums of the kernel hone_compare, one for each warp */
    /* A sample of the units consists of runs of adjacent units (unit_sample.h). This array has the
     * number of the first unit of each run. */
    cu_ptr starts;
    cu_ptr ctx; /* struct ref_ctx: too large for a kernel's parameters */
    uint64_t got_bytes;
};

int cuda_truth_open(struct device *dev, const char *dir, const char *oracle, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    char *data;
    size_t len;
    if (cuda_read_file(dir, oracle, CUBIN_MAX, &data, &len, err) < 0)
        return -1;
    cuda_mem_trim(d);
    d->truth = xcalloc(1, sizeof *d->truth);
    int rc = cu_module_load(d->cu, data, &d->truth->mod, NULL);
    free(data);
    CUDA_TRY(d, rc, err, "loading the oracle");
    return 0;
}

static void free_on_device(struct cuda *d, cu_ptr *p)
{
    if (*p)
        cu_mem_free(d->cu, *p);
    *p = 0;
}

static void drop_case(struct cuda *d)
{
    struct cuda_truth *t = d->truth;
    for (int i = 0; i < JOB_MAX_BUFFERS; i++) {
        free_on_device(d, &t->in[i]);
        free_on_device(d, &t->want[i]);
        free_on_device(d, &t->mag[i]);
        free_on_device(d, &t->chosen[i]);
    }
    free_on_device(d, &t->got);
    free_on_device(d, &t->scratch);
    free_on_device(d, &t->axes);
    free_on_device(d, &t->scalars);
    free_on_device(d, &t->partial);
    free_on_device(d, &t->starts);
    free_on_device(d, &t->fault);
    free_on_device(d, &t->ctx);
    t->got_bytes = 0;
    t->c = NULL;
}

void cuda_truth_close(struct cuda *d)
{
    if (!d->truth)
        return;
    drop_case(d);
    if (d->truth->mod)
        cu_module_unload(d->cu, d->truth->mod);
    free(d->truth);
    d->truth = NULL;
}

static int alloc_on_device(struct cuda *d, cu_ptr *p, uint64_t bytes, struct err *err)
{
    CUDA_TRY(d, cu_mem_alloc(d->cu, MAX(bytes, UINT64_C(16)), p, NULL), err,
             "allocating memory for the truth");
    return 0;
}

static int make_case(struct cuda *d, const struct job_case *c, struct err *err)
{
    struct cuda_truth *t = d->truth;
    if (t->c == c)
        return 0;
    drop_case(d);
    t->c = c;
    for (uint32_t i = 0; i < c->nbuffers; i++) {
        const struct job_buffer *b = &c->buffers[i];
        bool in = b->role == JOB_INPUT || b->role == JOB_INOUT;
        bool out = b->role == JOB_OUTPUT || b->role == JOB_INOUT;
        if ((in && alloc_on_device(d, &t->in[i], b->bytes, err) < 0) ||
            (out && (alloc_on_device(d, &t->want[i], b->elems * 8, err) < 0 ||
                     alloc_on_device(d, &t->mag[i], b->elems * 8, err) < 0)) ||
            (job_has_choice(b) && alloc_on_device(d, &t->chosen[i], b->bytes, err) < 0))
            return -1;
    }
    /* hone_compare writes one sum for each warp. A service kernel has at most 8 blocks per SM, and
     * 8 warps in each block. */
    uint64_t warps = (uint64_t)d->info.sms * 8 * 8;
    if (alloc_on_device(d, &t->scratch, (c->scratch_elems + 1) * 8, err) < 0 ||
        alloc_on_device(d, &t->fault, sizeof(uint64_t), err) < 0 ||
        alloc_on_device(d, &t->ctx, sizeof(struct ref_ctx), err) < 0 ||
        alloc_on_device(d, &t->axes, (uint64_t)c->naxes * 8, err) < 0 ||
        alloc_on_device(d, &t->scalars, (uint64_t)c->nscalars * 8, err) < 0 ||
        alloc_on_device(d, &t->partial, warps * sizeof(struct compare_sum), err) < 0 ||
        alloc_on_device(d, &t->starts, UNIT_SAMPLE_MAX_RUNS * sizeof(uint64_t), err) < 0)
        return -1;
    if (c->naxes && cuda_write(&d->dev, t->axes, c->axes, (uint64_t)c->naxes * 8, err) < 0)
        return -1;
    if (c->nscalars &&
        cuda_write(&d->dev, t->scalars, c->scalars, (uint64_t)c->nscalars * 8, err) < 0)
        return -1;
    return 0;
}

static int regenerate(struct cuda *d, const struct job_case *c, const struct job_call *call,
                      struct err *err)
{
    struct cuda_truth *t = d->truth;
    bool partial = unit_sample_is_partial(c);
    for (uint32_t i = 0; i < c->nbuffers; i++) {
        const struct job_buffer *b = &c->buffers[i];
        if (t->in[i] && b->elems && cuda_fill_gen(&d->dev, t->in[i], b, call->seed, err) < 0)
            return -1;
        if (t->in[i] && edges_wanted(b, call)) {
            void *data = xmalloc(b->bytes);
            gen_fill(&b->gen, b->dtype, call->seed, b->stream, 0, b->elems, data);
            edges_apply(b, data);
            int rc = cuda_write(&d->dev, t->in[i], data, b->bytes, err);
            free(data);
            if (rc < 0)
                return -1;
        }
        if (call->perturb_buffer == (int32_t)i) {
            uint8_t elem[8];
            uint64_t size = dtype_bytes(b->dtype);
            gen_fill_perturbed(&b->gen, b->dtype, call->seed, b->stream, call->perturb_elem, elem);
            if (cuda_write(&d->dev, t->in[i] + call->perturb_elem * size, elem, size, err) < 0)
                return -1;
        }
        double skipped = partial ? COMPARE_UNSEEN : COMPARE_SKIPPED, zero = 0;
        uint64_t n = b->elems;
        void *mag_args[] = {&t->mag[i], &skipped, &n}, *want_args[] = {&t->want[i], &zero, &n};
        if (t->mag[i] && (cuda_service_launch(d, d->svc.fill_f64, n, mag_args, err) < 0 ||
                          cuda_service_launch(d, d->svc.fill_f64, n, want_args, err) < 0))
            return -1;
    }
    CUDA_TRY(d, cu_mem_set(d->cu, t->scratch, 0, c->scratch_elems * 8, d->stream, NULL), err,
             "clearing the oracle's scratch");
    return 0;
}

static int run_phase(struct cuda *d, const struct job_case *c, uint32_t phase, uint64_t sample_seed,
                     struct err *err)
{
    cu_function f;
    struct unit_sample sample;
    unit_sample_of_phase(c, phase, sample_seed, &sample);
    CUDA_TRY(d, cu_module_function(d->cu, d->truth->mod, c->phases[phase].fn, &f, NULL), err,
             "looking up a phase of the oracle");
    if (cuda_write(&d->dev, d->truth->starts, sample.start, sample.n * sizeof *sample.start, err) <
        0)
        return -1;
    int64_t run = (int64_t)sample.run, count = run * sample.n;
    uint64_t blocks = ((uint64_t)count + BLOCK - 1) / BLOCK;
    unsigned grid = (unsigned)MIN(MAX(blocks, UINT64_C(1)), (uint64_t)d->info.sms * 64);
    int64_t step;
    void *args[] = {&d->truth->ctx, &d->truth->starts, &run, &count, &step};
    /* Launches in one stream run one after the other, so a step sees the results of all earlier
     * steps. */
    for (step = 0; step < (int64_t)c->phases[phase].repeat; step++)
        CUDA_TRY(d, cu_launch_1d(d->cu, f, grid, BLOCK, 0, d->stream, args, NULL), err,
                 "launching the oracle");
    return 0;
}

int cuda_truth_compute(struct device *dev, const struct job_case *c, const struct job_call *call,
                       const struct device_output *got, uint64_t sample_seed, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    struct cuda_truth *t = d->truth;
    const char *names[JOB_MAX_BUFFERS] = {NULL};
    struct ref_ctx ctx = {.scratch_elems = (int64_t)c->scratch_elems};
    uint64_t fault = REF_NO_FAULT;
    if (make_case(d, c, err) < 0 || regenerate(d, c, call, err) < 0)
        return -1;
    for (uint32_t i = 0; i < c->nbuffers; i++) {
        ctx.in[i] = (const void *)(uintptr_t)t->in[i];
        ctx.out_value[i] = (double *)(uintptr_t)t->want[i];
        ctx.out_mag[i] = (double *)(uintptr_t)t->mag[i];
        uint64_t bytes = c->buffers[i].bytes;
        if (t->chosen[i] && got && got[i].host && bytes &&
            cuda_write(dev, t->chosen[i], got[i].host, bytes, err) < 0)
            return -1;
        if (t->chosen[i] && got && (got[i].host || got[i].addr) && bytes)
            ctx.got[i] = (const void *)(uintptr_t)(got[i].host ? t->chosen[i] : got[i].addr);
        ctx.in_elems[i] = t->in[i] ? (int64_t)c->buffers[i].elems : 0;
        ctx.out_elems[i] = t->want[i] ? (int64_t)c->buffers[i].elems : 0;
        names[i] = c->buffers[i].name;
    }
    ctx.axis = (const int64_t *)(uintptr_t)t->axes;
    ctx.scalar = (const double *)(uintptr_t)t->scalars;
    ctx.scratch = (double *)(uintptr_t)t->scratch;
    ctx.fault = (uint64_t *)(uintptr_t)t->fault;
    if (cuda_write(dev, t->fault, &fault, sizeof fault, err) < 0 ||
        cuda_write(dev, t->ctx, &ctx, sizeof ctx, err) < 0)
        return -1;
    for (uint32_t p = 0; p < c->nphases; p++)
        if (run_phase(d, c, p, sample_seed, err) < 0)
            return -1;
    CUDA_TRY(d, cuda_wait(d, 0), err, "running the oracle");
    if (cuda_read(dev, &fault, t->fault, sizeof fault, err) < 0)
        return -1;
    return ref_fault_check(&ctx, fault, names, err);
}

/* Sets *addr to the output's device address. Copies an output in host memory to the device
 * first. */
static int bring_output(struct cuda *d, const struct job_buffer *b, struct device_output got,
                        cu_ptr *addr, struct err *err)
{
    struct cuda_truth *t = d->truth;
    *addr = got.addr;
    if (!got.host)
        return 0;
    if (t->got_bytes < b->bytes) {
        free_on_device(d, &t->got);
        t->got_bytes = 0;
        if (alloc_on_device(d, &t->got, b->bytes, err) < 0)
            return -1;
        t->got_bytes = b->bytes;
    }
    *addr = t->got;
    return cuda_write(&d->dev, t->got, got.host, b->bytes, err);
}

int cuda_truth_compare(struct device *dev, uint32_t buffer, struct device_output got,
                       uint64_t poison, struct compare_sum *out, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    struct cuda_truth *t = d->truth;
    const struct job_buffer *b = &t->c->buffers[buffer];
    struct compare_rule rule = {.rtol = b->rtol,
                                .atol = b->atol,
                                .acc_eps = b->acc_eps,
                                .poison = poison,
                                .dtype = (uint32_t)b->dtype,
                                .poisoned = b->role == JOB_OUTPUT};
    uint64_t n = b->elems, warps = (uint64_t)d->info.sms * 8 * 8;
    uint32_t bytes = (uint32_t)dtype_bytes(b->dtype);
    cu_ptr at;
    void *args[] = {&rule, &at, &t->want[buffer], &t->mag[buffer], &n, &bytes, &t->partial};
    compare_sum_clear(out);
    if (!n)
        return 0;
    if (bring_output(d, b, got, &at, err) < 0)
        return -1;
    CUDA_TRY(d,
             cu_mem_set(d->cu, t->partial, 0, warps * sizeof(struct compare_sum), d->stream, NULL),
             err, "comparing");
    if (cuda_service_launch(d, d->svc.compare, n, args, err) < 0)
        return -1;
    struct compare_sum *p = xmalloc(warps * sizeof *p);
    int rc = cuda_read(dev, p, t->partial, warps * sizeof *p, err);
    for (uint64_t i = 0; rc == 0 && i < warps; i++)
        compare_sum_merge(out, &p[i]);
    free(p);
    return rc;
}

int cuda_truth_fetch(struct device *dev, uint32_t buffer, double *want, double *mag,
                     struct err *err)
{
    struct cuda *d = cuda_of(dev);
    uint64_t bytes = d->truth->c->buffers[buffer].elems * 8;
    if (cuda_read(dev, want, d->truth->want[buffer], bytes, err) < 0)
        return -1;
    return cuda_read(dev, mag, d->truth->mag[buffer], bytes, err);
}
