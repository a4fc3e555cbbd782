/* oracle.c - computes the truth on the CPU, with the compiled reference or with PyTorch. */
#include "worker/oracle.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "base/util.h"
#include "job/compare_core.h"
#include "job/crew.h"
#include "job/edges.h"
#include "job/gen.h"
#include "job/ref_ctx.h"
#include "job/unit_sample.h"
#include "worker/bundle.h"
#include "worker/sidecar.h"

/* With fewer operations we use one thread. To start more threads and wait for them would take as
 * long as the work. */
#define SMALL_OPS 1e5

struct oracle {
    void *lib; /* NULL if the reference is in Python */
    /* for a reference in Python: the sidecar, the text of the reference, the bundle's directory */
    struct sidecar *python;
    char *spec, *dir;
};

bool oracle_is_python(const char *name)
{
    return str_ends(name, ".torch");
}

static int open_python(struct oracle **out, const char *dir, const char *name, struct err *err)
{
    struct oracle *o = xcalloc(1, sizeof *o);
    size_t len;
    o->dir = xstrdup(dir);
    if (bundle_read(dir, name, JOB_MAX_SPEC, &o->spec, &len, err) < 0 ||
        !(o->python = sidecar_open_reference(o->spec, err))) {
        oracle_close(o);
        return -1;
    }
    *out = o;
    return 0;
}

int oracle_open(struct oracle **out, const char *dir, const char *name, struct err *err)
{
    if (oracle_is_python(name))
        return open_python(out, dir, name, err);
    char *path = bundle_path(dir, name);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    free(path);
    if (!lib)
        return err_set(err, ERR_ENV, "cannot load the oracle: %s", dlerror());
    struct oracle *o = xcalloc(1, sizeof *o);
    o->lib = lib;
    *out = o;
    return 0;
}

void oracle_close(struct oracle *o)
{
    if (!o)
        return;
    if (o->lib)
        dlclose(o->lib);
    sidecar_stop(o->python);
    free(o->spec);
    free(o->dir);
    free(o);
}

/* ---- work shared by threads ------------------------------------------------------------------ */

struct phase_work {
    ref_phase_fn fn;
    const struct ref_ctx *ctx;
    const struct unit_sample *sample;
    const uint64_t *list; /* the units to run; NULL = `sample` says which */
};

/* Runs `count` units of the sample, from position `first` on. Calls the phase's function once for
 * each group of adjacent units. */
static void work_phase(void *ctx, uint64_t step, uint64_t first, uint64_t count)
{
    const struct phase_work *w = ctx;
    for (uint64_t n; count; first += n, count -= n) {
        uint64_t within = first % w->sample->run;
        n = MIN(count, w->sample->run - within);
        w->fn(w->ctx, (int64_t)(w->sample->start[first / w->sample->run] + within), (int64_t)n,
              (int64_t)step);
    }
}

static void work_list(void *ctx, uint64_t step, uint64_t first, uint64_t count)
{
    const struct phase_work *w = ctx;
    for (uint64_t i = first; i < first + count; i++)
        w->fn(w->ctx, (int64_t)w->list[i], 1, (int64_t)step);
}

struct fill_work {
    const struct job_buffer *b;
    uint64_t seed;
    char *dst;
};

static void work_fill(void *ctx, uint64_t step, uint64_t first, uint64_t count)
{
    const struct fill_work *w = ctx;
    (void)step;
    gen_fill(&w->b->gen, w->b->dtype, w->seed, w->b->stream, first, count,
             w->dst + first * dtype_bytes(w->b->dtype));
}

unsigned oracle_phase_threads(const struct job_phase *p, double ops, unsigned nthreads)
{
    return ops / MAX(p->repeat, 1u) < SMALL_OPS ? 1 : nthreads;
}

/* ---- one call -------------------------------------------------------------------------------- */

static void *regenerate(const struct job_buffer *b, const struct job_call *call, bool perturbed,
                        unsigned nthreads)
{
    char *p = xmalloc(b->bytes);
    struct fill_work fill = {.b = b, .seed = call->seed, .dst = p};
    struct crew_work w = {.run = work_fill,
                          .ctx = &fill,
                          .units = b->elems,
                          .repeat = 1,
                          .grain = 4096}; /* short calls of gen_fill() are slow */
    crew_run(&w, b->elems > 100000 ? nthreads : 1);
    if (edges_wanted(b, call))
        edges_apply(b, p);
    if (perturbed)
        gen_fill_perturbed(&b->gen, b->dtype, call->seed, b->stream, call->perturb_elem,
                           p + call->perturb_elem * dtype_bytes(b->dtype));
    return p;
}

static int find_phase(struct oracle *o, const char *name, ref_phase_fn *out, struct err *err)
{
    void *sym = dlsym(o->lib, name);
    if (!sym)
        return err_set(err, ERR_INPUT, "the oracle has no phase '%s'", name);
    *(void **)out = sym;
    return 0;
}

int oracle_run_units(struct oracle *o, const struct job_phase *phase, const struct ref_ctx *ctx,
                     const uint64_t *units, uint64_t n, unsigned nthreads, struct err *err)
{
    struct phase_work list = {.ctx = ctx, .list = units};
    struct crew_work w = {.run = work_list, .ctx = &list, .units = n, .repeat = phase->repeat};
    if (find_phase(o, phase->fn, &list.fn, err) < 0)
        return -1;
    crew_run(&w, nthreads);
    return 0;
}

static int run_phases(struct oracle *o, const struct job_case *c, const struct ref_ctx *ctx,
                      uint64_t sample_seed, unsigned nthreads, struct err *err)
{
    for (uint32_t i = 0; i < c->nphases; i++) {
        const struct job_phase *p = &c->phases[i];
        struct unit_sample sample;
        struct phase_work phase = {.ctx = ctx, .sample = &sample};
        if (find_phase(o, p->fn, &phase.fn, err) < 0)
            return -1;
        unit_sample_of_phase(c, i, sample_seed, &sample);
        struct crew_work w = {
            .run = work_phase, .ctx = &phase, .units = sample.n * sample.run, .repeat = p->repeat};
        crew_run(&w, oracle_phase_threads(p, MAX(c->flops, c->min_bytes), nthreads));
    }
    return 0;
}

static bool fits_in_memory(const struct job_case *c)
{
    uint64_t need = c->scratch_elems * 8;
    for (uint32_t i = 0; i < c->nbuffers; i++)
        need +=
            c->buffers[i].bytes + (c->buffers[i].role == JOB_INPUT ? 0 : c->buffers[i].elems * 16);
    return need < UINT64_C(1) << 40;
}

int oracle_fault_check(const struct job_case *c, const struct ref_ctx *ctx, struct err *err)
{
    if (*ctx->fault == REF_NO_FAULT)
        return 0;
    const char *names[JOB_MAX_BUFFERS] = {NULL};
    for (uint32_t i = 0; i < c->nbuffers; i++)
        names[i] = c->buffers[i].name;
    return ref_fault_check(ctx, *ctx->fault, names, err);
}

/* Fails if the reference left an element unwritten, because nobody could check such an element.
 * oracle_compute() has set every magnitude to COMPARE_SKIPPED, and the reference replaces the
 * magnitude when it writes the element. */
static int check_written(const struct job_buffer *b, const double *mag, struct err *err)
{
    for (uint64_t k = 0; k < b->elems; k++)
        if (mag[k] == COMPARE_SKIPPED)
            return err_set(err, ERR_INPUT, "reference.c does not write element %llu of '%s'",
                           (unsigned long long)k, b->name);
    return 0;
}

/* Lets the sidecar compute the truth. Python gives no magnitudes, so we use absolute values
 * instead. */
static int run_python(const struct oracle *o, const struct job_case *c, const struct ref_ctx *ctx,
                      struct truth *out, struct err *err)
{
    if (sidecar_truth(o->python, o->spec, c, ctx->in, out->want, o->dir, err) < 0)
        return -1;
    for (uint32_t i = 0; i < c->nbuffers; i++)
        for (uint64_t k = 0; out->mag[i] && k < c->buffers[i].elems; k++)
            out->mag[i][k] = isfinite(out->want[i][k]) ? fabs(out->want[i][k]) : 0;
    return 0;
}

int oracle_compute(struct oracle *o, const struct job_case *c, const struct job_call *call,
                   void *const *got, uint64_t sample_seed, unsigned nthreads, struct truth *out,
                   struct err *err)
{
    uint64_t fault = REF_NO_FAULT;
    struct ref_ctx ctx;
    ref_ctx_init(&ctx, c->nbuffers);
    ctx.axis = c->axes;
    ctx.scalar = c->scalars;
    ctx.scratch_elems = (int64_t)c->scratch_elems;
    ctx.fault = &fault;
    bool partial = !o->python && unit_sample_is_partial(c);
    nthreads = MAX(c->flops, c->min_bytes) < SMALL_OPS ? 1 : nthreads;
    *out = (struct truth){0};
    if (!fits_in_memory(c))
        return err_set(err, ERR_LIMIT, "case '%s' is too large for the oracle", c->name);
    out->n = c->nbuffers;
    out->want = xcalloc(out->n, sizeof *out->want);
    out->mag = xcalloc(out->n, sizeof *out->mag);
    for (uint32_t i = 0; i < c->nbuffers; i++) {
        const struct job_buffer *b = &c->buffers[i];
        if (b->role == JOB_INPUT || b->role == JOB_INOUT) {
            ctx.in[i] = regenerate(b, call, call->perturb_buffer == (int32_t)i, nthreads);
            ctx.in_elems[i] = (int64_t)b->elems;
        }
        if (b->role == JOB_OUTPUT || b->role == JOB_INOUT) {
            ctx.out_elems[i] = (int64_t)b->elems;
            ctx.got[i] = got && job_has_choice(b) ? got[i] : NULL;
            out->want[i] = ctx.out_value[i] = xcalloc(b->elems, sizeof(double));
            out->mag[i] = ctx.out_mag[i] = xmalloc(b->elems * sizeof(double));
            for (uint64_t k = 0; k < b->elems; k++)
                out->mag[i][k] = partial ? COMPARE_UNSEEN : COMPARE_SKIPPED;
        }
    }
    ctx.scratch = xcalloc(c->scratch_elems + 1, sizeof(double));
    int rc = o->python ? run_python(o, c, &ctx, out, err)
                       : run_phases(o, c, &ctx, sample_seed, nthreads, err);
    if (rc == 0)
        rc = oracle_fault_check(c, &ctx, err);
    for (uint32_t i = 0; rc == 0 && !partial && i < c->nbuffers; i++)
        if (out->mag[i])
            rc = check_written(&c->buffers[i], out->mag[i], err);
    free(ctx.scratch);
    for (uint32_t i = 0; i < c->nbuffers; i++)
        free((void *)ctx.in[i]);
    if (rc < 0)
        truth_release(out);
    return rc;
}

void truth_release(struct truth *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        free(t->want[i]);
        free(t->mag[i]);
    }
    free(t->want);
    free(t->mag);
    *t = (struct truth){0};
}
