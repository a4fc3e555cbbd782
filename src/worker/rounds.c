/*
 * rounds.c - times the programs of a case, the candidate and its baselines, in rounds. A round
 * calls every program once. Each round reverses the order, so that drift of the clocks affects all
 * programs alike. Every call gets new data and new addresses.
 *
 * The address of code matters: fetching instructions takes up to 100 ns longer from one address
 * than from another. So every seven rounds the worker unloads all kernels, and they get other
 * addresses. The address of the driver's own data matters too: see time_in_processes.c.
 *
 * The worker verifies a random sample of the candidate's calls. It takes the first calls. A later
 * call replaces one of them only if it is no slower than the median, because fast calls determine
 * the candidate's time. Calls more than 10% slower than the median are replaced first. Neither the
 * candidate nor the job can know the choice in advance.
 */
#include <stdlib.h>

#include "base/stats.h"
#include "base/util.h"
#include "job/poison.h"
#include "worker/job_run.h"

/* The worker unloads all kernels every MOVE_ROUNDS rounds. The number is odd, so that each time the
 * kernels are loaded in the reverse of the previous order. */
enum { MOVE_ROUNDS = 7 };

struct rounds {
    struct job_run *r;
    uint32_t c;
    const struct job_case *jc;
    const struct job_timing *t;
    uint64_t rng;
    uint64_t end_ns;
    uint32_t round;  /* from 0 */
    uint32_t nfast;  /* candidate calls no slower than the median */
    size_t *sampled; /* indices of the calls to verify */
    uint32_t nsampled;
    bool is_model;               /* the last call's time was modelled */
    bool once[JOB_MAX_PROGRAMS]; /* a slow baseline: one timed call only */
};

static const double SLOW_NS = 50e6;

static uint64_t draw(struct rounds *s)
{
    return s->rng = poison_mix(s->rng);
}

double *job_run_times(const struct job_run *r, uint32_t c, uint32_t program, size_t *n)
{
    const struct result_call_vec *v = &r->calls[c];
    double *t = xmalloc((v->n + 2) * sizeof *t);
    *n = 0;
    for (size_t i = 0; i < v->n; i++)
        if (v->items[i].program == program && v->items[i].time_ns > 0)
            t[(*n)++] = v->items[i].time_ns;
    return t;
}

static void drop_kept(struct rounds *s, uint32_t slot)
{
    for (size_t j = 0; j < s->r->kept.n; j++)
        if (s->r->kept.items[j].c == s->c && s->r->kept.items[j].k == s->sampled[slot]) {
            drop_kept_call(s->r, j);
            break;
        }
    s->r->calls[s->c].items[s->sampled[slot]].flags &= ~(uint32_t)JOB_CALL_VERIFY;
}

bool rounds_keep_call(struct rounds *s, double time_ns)
{
    size_t n;
    if (!s->t->verify || !(time_ns > 0))
        return false;
    double *t = job_run_times(s->r, s->c, 0, &n);
    t[n++] = time_ns;
    double median = stats_median(t, n);
    free(t);
    uint32_t slot = s->nsampled;
    if (time_ns > median && slot == s->t->verify)
        return false;
    s->nfast += time_ns <= median;
    /* With a limit below 10%, noise alone would cause replacements, and each costs time. */
    if (slot == s->t->verify)
        for (slot = 0; slot < s->nsampled; slot++)
            if (s->r->calls[s->c].items[s->sampled[slot]].time_ns > 1.1 * median)
                break;
    if (slot == s->t->verify)
        slot = (uint32_t)(draw(s) % s->nfast);
    if (slot >= s->t->verify)
        return false;
    if (slot < s->nsampled)
        drop_kept(s, slot);
    else
        s->nsampled++;
    s->sampled[slot] = s->r->calls[s->c].n;
    return true;
}

/* Returns the seed of the data for a call. The time may depend on the data, so all programs get the
 * same data. But baselines get the data of each round one round later than the candidate. Otherwise
 * the candidate could find their results for its own data in freed memory. */
static uint64_t data_seed(const struct rounds *s, uint32_t program)
{
    return poison_mix(poison_mix(s->t->seed) + s->round + (program == 0));
}

static enum result_status one_call(struct rounds *s, uint32_t program)
{
    struct job_call call = {.program = program,
                            .flags = JOB_CALL_TIMED | (s->t->warm_l2 ? JOB_CALL_WARM_L2 : 0u),
                            .seed = data_seed(s, program),
                            .poison = draw(s),
                            .perturb_buffer = -1};
    s->r->rounds = program == 0 ? s : NULL;
    enum result_status st = run_call(s->r, s->c, &call);
    s->r->rounds = NULL;
    struct result_call_vec *v = &s->r->calls[s->c];
    s->is_model = v->items[v->n - 1].time_is_model;
    s->once[program] = program && v->items[v->n - 1].time_ns > SLOW_NS;
    return st;
}

/* Makes one call of each program, and times none of these calls. In the first call at a shape, a
 * library or the driver may choose an algorithm or enlarge local memory. */
static enum result_status warm_up(struct rounds *s)
{
    enum result_status st = RESULT_OK;
    for (uint32_t p = 0; p < s->jc->nprograms && st == RESULT_OK; p++) {
        struct job_call call = {
            .program = p, .seed = draw(s), .poison = draw(s), .perturb_buffer = -1};
        st = run_call(s->r, s->c, &call);
    }
    return st;
}

static bool medians_known(const struct rounds *s)
{
    for (uint32_t p = 0; p < s->jc->nprograms; p++) {
        size_t n;
        if (s->r->mods[s->jc->programs[p].module].status != RESULT_OK || s->once[p])
            continue;
        double *t = job_run_times(s->r, s->c, p, &n);
        bool good = n >= 3 && stats_summary(t, n, s->t->seed).rel <= s->t->target_rel;
        free(t);
        if (!good)
            return false;
    }
    return true;
}

/* When the time budget is used up, we stop as soon as there are min_calls rounds. After another
 * PATIENCE_NS, or after two more budgets if that is longer, three rounds are enough. */
static const uint64_t PATIENCE_NS = 3000000000u;

enum result_status run_rounds(struct job_run *r, uint32_t c, uint64_t budget_ns, uint64_t *spent_ns)
{
    struct rounds s = {.r = r,
                       .c = c,
                       .jc = &r->job->cases[c],
                       .t = &r->job->cases[c].timing,
                       .rng = r->job->cases[c].timing.seed};
    uint64_t wall_end = r->job->limits.wall_ns ? r->start_ns + r->job->limits.wall_ns / 10 * 7 : 0;
    enum result_status st = r->job->device == JOB_CUDA ? warm_up(&s) : RESULT_OK;
    uint64_t begin = now_ns(); /* after warm_up(), where PyTorch may compile */
    s.end_ns = begin + budget_ns;
    uint32_t n = s.jc->nprograms, check_at = MAX(s.t->min_calls, 4u);
    s.sampled = xcalloc(s.t->verify, sizeof *s.sampled);
    for (; s.round < s.t->max_calls && st == RESULT_OK; s.round++) {
        uint64_t now = now_ns();
        bool late = now > s.end_ns, far = now > s.end_ns + MAX(2 * budget_ns, PATIENCE_NS);
        if (r->job->timing_processes > 1 && now > begin + budget_ns / r->job->timing_processes)
            late |= candidate_is_short(r, c); /* leave time for the timing processes */
        if (wall_end && now > wall_end)
            late = far = true;
        if ((s.round >= s.t->min_calls && (late || s.is_model)) || (s.round >= 3 && far))
            break;
        if (s.round >= check_at) {
            if (medians_known(&s))
                break;
            check_at = s.round + MAX(s.round / 8, 2u);
        }
        if (s.round % MOVE_ROUNDS == 0)
            unload_kernels(r);
        for (uint32_t i = 0; i < n && st == RESULT_OK; i++) {
            uint32_t p = s.round % 2 ? n - 1 - i : i;
            st = s.once[p] ? RESULT_OK : one_call(&s, p);
        }
    }
    free(s.sampled);
    *spent_ns += now_ns() - begin;
    return st;
}
