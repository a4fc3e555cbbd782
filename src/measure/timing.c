/* timing.c - medians, ratios and rooflines from the times and counters of a job. See timing.h. */
#include "measure/timing.h"

#include <math.h>
#include <stdlib.h>

#include "base/stats.h"
#include "base/util.h"
#include "job/torch_variants.h"
#include "measure/gpu.h"

struct series {
    double *ns;
    size_t n;
    bool is_model;
    double lo_ns, hi_ns; /* if is_model: where we expect the measured time */
};

static struct series collect(const struct result_case *rc, uint32_t program)
{
    struct series s = {xmalloc((rc->ncalls + 1) * sizeof(double)), 0, false, 0, 0};
    for (uint32_t k = 0; k < rc->ncalls; k++) {
        const struct result_call *r = &rc->calls[k];
        if (r->program == program && (r->flags & JOB_CALL_TIMED) && r->status == RESULT_OK &&
            r->time_ns > 0) {
            s.ns[s.n++] = r->time_ns;
            s.is_model = r->time_is_model;
            s.lo_ns = r->time_lo_ns;
            s.hi_ns = r->time_hi_ns;
        }
    }
    return s;
}

static bool measured(const struct measure_input *in)
{
    return in->ceilings && in->ceilings->dram_gbps > 0;
}

static double written(const struct job_case *jc)
{
    double sum = 0;
    for (uint32_t i = 0; i < jc->nbuffers; i++)
        if (jc->buffers[i].role == JOB_OUTPUT || jc->buffers[i].role == JOB_INOUT)
            sum += (double)jc->buffers[i].bytes;
    return sum;
}

/*
 * Returns how close the kernel comes to a ceiling, the highest rate of memory or of arithmetic, in
 * percent. The nearer ceiling counts, and *limit names it. For float32 products without TF32, the
 * ceiling is the rate of the CUDA cores or a third of the TF32 rate, whichever is higher.
 */
static double roofline_pct(const struct measure_input *in, const struct job_case *jc, double bytes,
                           double ns, const char **limit)
{
    struct job_gpu g = in->job->gpu;
    if (measured(in)) {
        g.dram_gbps = in->ceilings->dram_gbps;
        g.fp32_tflops = in->ceilings->f32_tflops;
        if (in->ceilings->f16_tflops > 0)
            g.f16_tensor_tflops = in->ceilings->f16_tflops;
        if (in->ceilings->tf32_tflops > 0)
            g.tf32_tensor_tflops = in->ceilings->tf32_tflops;
    }
    if (in->operand == DT_F32) {
        if (!in->allow_tf32)
            g.tf32_tensor_tflops = MAX(g.fp32_tflops, g.tf32_tensor_tflops / 3);
        g.f16_tensor_tflops = 0;
    }
    double least = gpu_roofline_ns(&g, jc->flops, bytes, in->operand, limit);
    return ns > 0 ? 100 * least / ns : 0;
}

/* Like roofline_pct(), but if all bytes fit into the L2, written bytes do not count. They may reach
 * DRAM after the kernel's end. */
static double sure_roofline_pct(const struct measure_input *in, const struct job_case *jc,
                                double ns)
{
    const char *limit;
    bool fits = jc->min_bytes <= in->job->gpu.l2_bytes;
    double stay = fits ? fmin(written(jc), jc->min_bytes) : 0;
    return roofline_pct(in, jc, jc->min_bytes - stay, ns, &limit);
}

static void add_warning(struct verdict *v, const struct measure_input *in,
                        const struct job_case *jc, const struct verdict_time *t)
{
    if (t->is_model || t->n < 3)
        return;
    double rel = (t->hi_ns - t->lo_ns) / t->median_ns;
    if (rel > 0.05)
        *vec_push(&v->warnings) = arena_printf(
            &v->arena, "%s on %s: the interval of its time is %.0f%% wide; try --measure-time 10s",
            t->who, t->workload, 100 * rel);
    double pct = sure_roofline_pct(in, jc, t->median_ns);
    if (measured(in) && !jc->timing.warm_l2 && pct > 102) /* a measured ceiling may be 1% too low */
        *vec_push(&v->warnings) =
            arena_printf(&v->arena,
                         "%s on %s reaches %.0f%% of the measured ceiling; check "
                         "this time before you trust it",
                         t->who, t->workload, pct);
}

static struct verdict_time *time_program(struct verdict *v, const struct measure_input *in,
                                         uint32_t c, uint32_t p, const struct series *s,
                                         const struct series *cand)
{
    const struct job_case *jc = &in->job->cases[c];
    struct stats sum = stats_summary(s->ns, s->n, in->job->seed);
    struct verdict_time *t = vec_push(&v->times);
    const char *limit = "";
    *t = (struct verdict_time){
        .workload = arena_strdup(&v->arena, jc->name),
        .shape = arena_strdup(&v->arena, in->shapes[c]),
        .who = arena_strdup(&v->arena, in->job->modules[jc->programs[p].module].name),
        .is_model = s->is_model,
        .median_ns = sum.median,
        .mad_ns = sum.mad,
        .lo_ns = s->is_model ? s->lo_ns : sum.lo,
        .hi_ns = s->is_model ? s->hi_ns : sum.hi,
        .n = (uint32_t)sum.n,
        .roofline_pct = roofline_pct(in, jc, jc->min_bytes, sum.median, &limit),
    };
    t->limit = limit;
    const struct torch_variant *variant = torch_variant_find(t->who);
    if (variant && variant->unjudged)
        t->roofline_pct = 0; /* ceilings are for the precision of the task */
    if (p && cand->n && s->n < 3) {
        /* too few times for pairs */
        struct stats ours = stats_summary(cand->ns, cand->n, in->job->seed);
        t->ratio = ours.median > 0 ? sum.median / ours.median : 0;
        t->ratio_lo = ours.hi > 0 ? sum.median / ours.hi : 0;
        t->ratio_hi = ours.lo > 0 ? sum.median / ours.lo : 0;
    } else if (p && cand->n) {
        struct stats r = stats_ratio(s->ns, cand->ns, MIN(s->n, cand->n), in->job->seed);
        t->ratio = r.median;
        t->ratio_lo = r.lo;
        t->ratio_hi = r.hi;
    }
    return t;
}

static bool left_out(const struct measure_input *in, uint32_t p)
{
    return in->left_out && in->left_out[p];
}

void measure_times(struct verdict *v, const struct measure_input *in)
{
    double log_time = 0, log_ratio = 0;
    unsigned ntime = 0, nratio = 0;
    uint32_t first = 0; /* the baseline of `speedup`; 0 = none yet */
    v->speedup_over = "";
    for (uint32_t c = 0; c < in->result->ncases; c++) {
        const struct job_case *jc = &in->job->cases[c];
        struct series cand = collect(&in->result->cases[c], 0);
        if (!cand.n || !str_starts(jc->name, "time:")) {
            free(cand.ns);
            continue;
        }
        double base_ratio = 0;
        for (uint32_t p = 0; p < jc->nprograms; p++) {
            if (left_out(in, p))
                continue;
            struct series s = collect(&in->result->cases[c], p);
            if (s.n) {
                size_t before = v->times.n;
                struct verdict_time t = *time_program(v, in, c, p, &s, &cand);
                bool beside = contender_is_beside(t.who);
                if (!first && t.ratio > 0 && !beside) {
                    first = p;
                    v->speedup_over = t.who;
                }
                if (p == first)
                    base_ratio = t.ratio;
                if (before < v->times.n && !beside)
                    add_warning(v, in, jc, &v->times.items[before]);
            }
            free(s.ns);
        }
        double *copy = xmalloc(cand.n * sizeof *copy);
        for (size_t i = 0; i < cand.n; i++)
            copy[i] = cand.ns[i];
        log_time += log(stats_median(copy, cand.n));
        ntime++;
        if (base_ratio > 0) {
            log_ratio += log(base_ratio);
            nratio++;
        }
        v->time_is_model = cand.is_model;
        free(copy);
        free(cand.ns);
    }
    v->time_ns = ntime ? exp(log_time / ntime) : 0;
    v->speedup = nratio ? exp(log_ratio / nratio) : 0;
}

/* A modelled time may be too low, so we multiply the floor by this number. A kernel that leaves out
 * work is far below even this lower floor. */
static const double model_slack = 0.8;

int measure_below_floor(const struct measure_input *in, double *got_ns, double *floor_ns)
{
    for (uint32_t c = 0; c < in->result->ncases; c++) {
        const struct job_case *jc = &in->job->cases[c];
        if (!str_starts(jc->name, "time:"))
            continue; /* smoke cases are timed too briefly (eval/cases.c) */
        struct series s = collect(&in->result->cases[c], 0);
        double median = s.n ? stats_median(s.ns, s.n) : 0;
        free(s.ns);
        double bytes = jc->min_bytes, late = written(jc);
        if (jc->timing.warm_l2) /* the L2 may hold inputs when the kernel begins */
            late = bytes = fmax(0, bytes - in->job->gpu.l2_bytes);
        double floor = gpu_floor_ns(&in->job->gpu, jc->flops, bytes, late, in->operand);
        if (s.is_model)
            floor *= model_slack;
        if (median > 0 && median < floor) {
            *got_ns = median;
            *floor_ns = floor;
            return (int)c;
        }
    }
    return -1;
}

static double counter_sum(const struct measure_input *in, uint32_t c, const char *name)
{
    double sum = 0;
    for (uint32_t i = 0; i < in->result->ncounters; i++) {
        const struct result_counter *k = &in->result->counters[i];
        if (k->case_index == c && !k->line && str_eq(k->name, name))
            sum += k->value;
    }
    return sum;
}

/* Returns an upper bound of the flops that the kernel did in case c. Each instruction counts as a
 * multiply-add, and each instruction on halves as two multiply-adds. */
static double arithmetic_done(const struct measure_input *in, uint32_t c)
{
    return counter_sum(in, c, "tensor_ops") + 4 * counter_sum(in, c, "inst_half") +
           2 * (counter_sum(in, c, "inst_fp32") + counter_sum(in, c, "inst_fp64"));
}

/* Did all calls of the candidate in case c run to the end? If a call was cut off, its counters miss
 * a part of its work. */
static bool all_calls_ended(const struct measure_input *in, uint32_t c)
{
    const struct result_case *rc = &in->result->cases[c];
    if (in->result->status != RESULT_OK && in->result->where_case == c)
        return false; /* the list may lack the call that ended the job */
    for (uint32_t k = 0; k < rc->ncalls; k++)
        if (!rc->calls[k].program && rc->calls[k].status != RESULT_OK)
            return false;
    return rc->ncalls > 0;
}

int measure_tensor_use(const struct measure_input *in, struct tensor_use *out)
{
    *out = (struct tensor_use){.share = INFINITY};
    int worst = -1;
    for (uint32_t c = 0; in->float32 && in->least_arithmetic > 0 && c < in->result->ncases; c++) {
        double tf32 = counter_sum(in, c, "tensor_ops_tf32");
        double half = counter_sum(in, c, "tensor_ops_16bit");
        double byte = counter_sum(in, c, "tensor_ops_8bit"), flops = in->job->cases[c].flops;
        if (!(tf32 + half + byte > 0) || !(flops > 0) || !all_calls_ended(in, c))
            continue;
        double exact = counter_sum(in, c, "tensor_ops_f64") +
                       2 * (counter_sum(in, c, "inst_fp32") + counter_sum(in, c, "inst_fp64"));
        double done = (exact + half / 6 + tf32 / (in->allow_tf32 ? 1 : 3)) / flops;
        if (done >= out->share)
            continue;
        *out = (struct tensor_use){tf32 / flops, (half + byte) / flops, done};
        worst = (int)c;
    }
    return out->share < in->least_arithmetic ? worst : -1;
}

/* The byte count is an estimate from a sample of blocks, so `enough` is below 1. */
int measure_skipped_work(const struct measure_input *in, double *share, bool *arithmetic)
{
    static const double enough = 0.75;
    for (uint32_t c = 0; c < in->result->ncases; c++) {
        const struct job_case *jc = &in->job->cases[c];
        double needed = jc->min_bytes;
        for (uint32_t i = 0; i < jc->nbuffers; i++) /* an in-place tensor counts once */
            needed -= jc->buffers[i].role == JOB_INOUT ? (double)jc->buffers[i].bytes : 0;
        if (!str_starts(jc->name, "time:") || !counter_sum(in, c, "launches") ||
            !all_calls_ended(in, c))
            continue;
        *share = counter_sum(in, c, "dram_bytes") / needed;
        *arithmetic = false;
        if (needed > 0 && *share < enough)
            return (int)c;
        *share = arithmetic_done(in, c) / jc->flops;
        *arithmetic = true;
        if (jc->flops > 0 && dtype_is_float(in->operand) && *share < in->least_arithmetic)
            return (int)c;
    }
    return -1;
}
