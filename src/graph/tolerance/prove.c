/* prove.c - compares a SIGMA reference's tolerance with the errors of noisy runs (prove.h). */
#include "graph/tolerance/prove.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/tolerance/generated_task.h"
#include "job/compare_core.h"
#include "sys/file.h"
#include "sys/hash.h"
#include "task/oracle.h"
#include "task/oracle_trial.h"

/* An element is undecided if its sigma is more than this many times its sigma in a reference with
 * `without_branches` (reference_mode.h). */
static const double UNDECIDED_FACTOR = 2;

struct built {
    struct graph_reference ref;
    struct task task;
    char *so;
    bool made; /* `ref` and `task` must be released */
};

struct proof {
    const struct task *t;
    const char *oracle_so;
    struct arena arena;
    struct built sigma, plain, noisy; /* `plain` is SIGMA with `without_branches` */
    bool has_branches;
    /* The output is an argmax or argmin: the index of any nearly equal element is right. */
    bool is_index[TASK_MAX_TENSORS];
    struct tolerance_report *r;
    double undecided[TASK_MAX_TENSORS], elems[TASK_MAX_TENSORS]; /* numbers of elements */
    double value2[TASK_MAX_TENSORS], sigma2[TASK_MAX_TENSORS];   /* sums of squares */
};

/* ---- references ------------------------------------------------------------------------------ */

static bool same_text(const struct built *b, const char *text)
{
    return text && str_eq(b->ref.source.buf, text);
}

/* Compiles the reference unless `dir` has its object, whose name contains a hash of the
 * reference. */
static int build(struct proof *p, struct built *b, const struct graph *g,
                 struct reference_mode mode, const char *dir, const char *name, struct err *err)
{
    char hash[HASH_HEX];
    if (graph_write_reference_as(g, mode, &b->ref, err) < 0)
        return -1;
    b->made = true;
    hash_hex(b->ref.source.buf, b->ref.source.len, hash);
    b->so = arena_printf(&p->arena, "%s/%s-%s.so", dir, name, hash);
    if (generated_task_init(&b->task, p->t, &b->ref, &p->arena, err) < 0)
        return -1;
    if (same_text(b, p->t->reference_c) && p->oracle_so) {
        b->so = arena_strdup(&p->arena, p->oracle_so);
        return 0;
    }
    /* Without branches in the graph, `sigma` and `plain` have the same text. */
    if (b == &p->plain && same_text(b, p->sigma.ref.source.buf)) {
        b->so = p->sigma.so;
        return 0;
    }
    return file_exists(b->so) ? 0 : oracle_build(&b->task, b->so, err);
}

static void find_indices(struct proof *p, const struct graph *g)
{
    vec_each (const struct graph_output, o, &g->outputs) {
        const struct value *v = o->value;
        while (v->op == OP_RESHAPE || v->op == OP_CAST)
            v = v->args[0];
        int i = task_tensor_index(p->t, o->name);
        if (i >= 0)
            p->is_index[i] = v->op == OP_ARGMAX || v->op == OP_ARGMIN;
    }
}

static int build_all(struct proof *p, const struct graph *g, struct reference_mode mode,
                     const char *dir, struct err *err)
{
    mode.kind = REFERENCE_SIGMA;
    mode.without_branches = false;
    if (build(p, &p->sigma, g, mode, dir, "sigma", err) < 0)
        return -1;
    mode.without_branches = true;
    if (build(p, &p->plain, g, mode, dir, "plain", err) < 0)
        return -1;
    p->has_branches = !str_eq(p->plain.ref.source.buf, p->sigma.ref.source.buf);
    mode.kind = REFERENCE_NOISY;
    return build(p, &p->noisy, g, mode, dir, "noisy", err);
}

static void release(struct built *b)
{
    if (!b->made)
        return;
    generated_task_release(&b->task);
    graph_reference_release(&b->ref);
}

/* ---- one shape ------------------------------------------------------------------------------- */

static double allowance(enum dtype t, double want, double sigma)
{
    return TASK_SIGMAS * sigma + compare_ulp(compare_type_of((uint32_t)t), want) / 2;
}

static double ratio_of(enum dtype t, double got, double want, double sigma)
{
    if (isnan(want) || isinf(want) || got == want)
        return 0;
    return isfinite(got) ? fabs(got - want) / allowance(t, want, sigma) : INFINITY;
}

static void note_errors(struct proof *p, struct tolerance_output *o, size_t i,
                        const struct oracle_trial *x, const struct oracle_trial *y)
{
    enum dtype t = p->t->tensors.items[i].dtype;
    if (p->is_index[i])
        return;
    for (uint64_t k = 0; k < x->shape->elems[i]; k++) {
        double ratio = ratio_of(t, y->value[i][k], x->value[i][k], x->mag[i][k]);
        o->samples += x->mag[i][k] > 0;
        if (!(ratio > o->worst))
            continue;
        o->worst = ratio;
        o->worst_elem = k;
        o->worst_at = shape_text(x->shape, &p->r->arena);
    }
}

static void note_noise(struct proof *p, size_t i, const struct oracle_trial *x)
{
    for (uint64_t k = 0; k < x->shape->elems[i]; k++) {
        double v = x->value[i][k], s = x->mag[i][k];
        p->value2[i] += isfinite(v) ? v * v : 0;
        p->sigma2[i] += isfinite(v) ? s * s : 0;
    }
}

static void note_undecided(struct proof *p, size_t i, const struct oracle_trial *x,
                           const struct oracle_trial *plain)
{
    for (uint64_t k = 0; plain->mag[i] && k < x->shape->elems[i]; k++)
        p->undecided[i] += x->mag[i][k] > UNDECIDED_FACTOR * plain->mag[i][k];
}

static int run(struct oracle_trial *x, struct shape *s, const struct built *b, uint64_t data,
               struct err *err)
{
    s->task = &b->task;
    return oracle_trial_init(x, s, data, err) < 0
               ? -1
               : oracle_trial_run(x, b->so, ORACLE_IN_ORDER, err);
}

uint64_t tolerance_runs(double operations)
{
    double n = TOLERANCE_OPERATIONS / MAX(operations, 1.0);
    return n < TOLERANCE_FEW_RUNS ? TOLERANCE_FEW_RUNS : (uint64_t)MIN(n, TOLERANCE_MORE_RUNS);
}

/* Does the noisy runs number `first` to `last`, and compares each with the values and sigmas in
 * x. */
static int run_noisy(struct proof *p, const struct oracle_trial *x, struct oracle_trial *y,
                     uint64_t first, uint64_t last, struct err *err)
{
    for (uint64_t run = first; run <= last; run++) {
        y->noise_seed = run * 0x9e3779b97f4a7c15u;
        if (oracle_trial_run(y, p->noisy.so, ORACLE_IN_ORDER, err) < 0)
            return -1;
        for (size_t i = 0, n = 0; i < p->t->tensors.n; i++)
            if (x->value[i])
                note_errors(p, &p->r->outputs[n++], i, x, y);
        p->r->runs++;
    }
    return 0;
}

static int note_sigmas(struct proof *p, const struct shape *shape, const struct oracle_trial *x,
                       struct err *err)
{
    struct shape s = *shape;
    struct oracle_trial plain = {.shape = NULL};
    int rc = p->has_branches ? run(&plain, &s, &p->plain, x->seed, err) : 0;
    for (size_t i = 0; rc == 0 && i < p->t->tensors.n; i++) {
        if (!x->value[i])
            continue;
        note_noise(p, i, x);
        p->elems[i] += (double)s.elems[i];
        if (p->has_branches)
            note_undecided(p, i, x, &plain);
    }
    oracle_trial_release(&plain);
    return rc;
}

/* Draws data with the seed `data`, and does the noisy runs number `first` to `last` with them.
 * Notes the sigmas only with the first data, seed 1. */
static int prove_with(struct proof *p, const struct shape *shape, uint64_t data, uint64_t first,
                      uint64_t last, struct err *err)
{
    struct shape s = *shape, s2 = *shape;
    struct oracle_trial x = {.shape = NULL}, y = {.shape = NULL};
    int rc = run(&x, &s, &p->sigma, data, err);
    if (rc == 0 && data == 1)
        rc = note_sigmas(p, shape, &x, err);
    s2.task = &p->noisy.task;
    rc = rc < 0 ? rc : oracle_trial_init(&y, &s2, data, err);
    rc = rc < 0 ? rc : run_noisy(p, &x, &y, first, last, err);
    oracle_trial_release(&x);
    oracle_trial_release(&y);
    return rc;
}

static bool wants_more(const struct proof *p)
{
    bool low = false;
    for (size_t i = 0; i < p->r->n; i++)
        low |= p->r->outputs[i].worst > 0 && p->r->outputs[i].worst < TOLERANCE_LEAST;
    return low;
}

/* Proves the tolerance at one shape. TOLERANCE_RUNS runs may give too few independent errors, for
 * example if all elements of an output share one error. While wants_more() is true, does further
 * runs, with other data. The same data might not help: if only one rounding matters, it has only
 * two results, which may both be near the truth. */
static int prove_at(struct proof *p, const struct shape *shape, struct err *err)
{
    struct shape s = *shape;
    s.task = &p->sigma.task;
    uint64_t most = tolerance_runs(oracle_operations(&s)), first = MIN(TOLERANCE_RUNS, most);
    p->r->fewest = p->r->fewest ? MIN(p->r->fewest, first) : first;
    int rc = prove_with(p, shape, 1, 1, first, err);
    for (uint64_t data = 2, done = first; rc == 0 && done < most && wants_more(p); data++) {
        uint64_t last = MIN(done + TOLERANCE_RUNS, most);
        rc = prove_with(p, shape, data, done + 1, last, err);
        done = last;
    }
    return rc;
}

/* ---- all shapes ------------------------------------------------------------------------------ */

int tolerance_prove(const struct graph *g, struct reference_mode mode, const struct task *t,
                    const char *oracle_so, const struct shape *shapes, size_t n,
                    struct tolerance_report *out, struct err *err)
{
    struct proof *p = xcalloc(1, sizeof *p);
    struct temp_dir dir = TEMP_DIR_INIT;
    *p = (struct proof){.t = t, .oracle_so = oracle_so, .arena = ARENA_INIT, .r = out};
    *out = (struct tolerance_report){.arena = ARENA_INIT};
    out->outputs = arena_alloc(&out->arena, (t->tensors.n + 1) * sizeof *out->outputs);
    vec_each (const struct task_tensor, x, &t->tensors)
        if (x->is_output)
            out->outputs[out->n++].name = x->name;
    find_indices(p, g);
    const char *kept = oracle_so ? strrchr(oracle_so, '/') : NULL;
    char *objects = kept ? xstrndup(oracle_so, (size_t)(kept - oracle_so)) : NULL;
    int rc = objects ? 0 : temp_dir_make(&dir, err);
    rc = rc < 0 ? rc : build_all(p, g, mode, objects ? objects : dir.path, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = prove_at(p, &shapes[i], err);
    for (size_t i = 0, k = 0; i < t->tensors.n; i++) {
        struct tolerance_output *o = &out->outputs[k];
        if (!t->tensors.items[i].is_output)
            continue;
        o->undecided = p->elems[i] > 0 ? p->undecided[i] / p->elems[i] : 0;
        o->noise = p->sigma2[i] > 0 ? sqrt(p->sigma2[i] / p->value2[i]) : 0;
        k++;
    }
    release(&p->sigma);
    release(&p->plain);
    release(&p->noisy);
    free(objects);
    temp_dir_release(&dir);
    arena_release(&p->arena);
    free(p);
    return rc;
}

void tolerance_report_release(struct tolerance_report *r)
{
    arena_release(&r->arena);
    *r = (struct tolerance_report){.arena = ARENA_INIT};
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Returns a ratio of an error to its allowance, at most TOLERANCE_LEAST. Even if errors had only
 * half the model's sigma, the largest of `samples` errors would reach this ratio with a probability
 * of 99%. We search for z: the absolute values of `samples` standard normal numbers are all below z
 * with a probability of 1%. */
double tolerance_least(uint64_t samples)
{
    double lo = 0, hi = 10, below = pow(0.01, 1 / (double)MAX(samples, 1u));
    for (int i = 0; i < 60; i++) {
        double z = (lo + hi) / 2;
        if (erf(z / sqrt(2)) < below)
            lo = z;
        else
            hi = z;
    }
    return MIN(TOLERANCE_LEAST, lo / 2 / TASK_SIGMAS);
}

bool tolerance_is_ill(const struct tolerance_output *o)
{
    return o->noise > TOLERANCE_ILL;
}

static double least_of(const struct tolerance_report *r, const struct tolerance_output *o)
{
    return tolerance_least(MIN(o->samples, r->runs));
}

bool tolerance_is_loose(const struct tolerance_report *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->outputs[i].worst > 0 && r->outputs[i].worst < least_of(r, &r->outputs[i]))
            return true;
    return false;
}

int tolerance_accept(const struct tolerance_report *r, struct err *err)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct tolerance_output *o = &r->outputs[i];
        double least = least_of(r, o);
        if (o->undecided > TOLERANCE_UNDECIDED_MOST)
            return err_set(err, ERR_INPUT,
                           "%.2g%% of the elements of '%s' depend on comparisons that rounding may "
                           "change; at most %g%% may",
                           100 * o->undecided, o->name, 100 * TOLERANCE_UNDECIDED_MOST);
        if (!(o->worst <= 1))
            return err_set(
                err, ERR_INPUT,
                "the model of rounding errors is too tight for '%s': with random rounding "
                "element %llu at %s is off by %.3g times its allowance",
                o->name, (unsigned long long)o->worst_elem, o->worst_at, o->worst);
        if (o->worst > 0 && o->worst < least)
            return err_set(
                err, ERR_INPUT,
                "the model of rounding errors is too loose for '%s': with random rounding "
                "no element is off by more than %.3g times its allowance; at least %.3g "
                "is expected",
                o->name, o->worst, least);
    }
    return 0;
}
