/* bottleneck.c - finds the resource that limits a kernel from its counters. See prof.h. */
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "prof/metrics.h"
#include "prof/prof.h"

enum { MAX_KERNELS = 64 };

static double *field(struct prof_kernel *k, int offset)
{
    return (double *)(void *)((char *)k + offset);
}

static struct prof_kernel prof_kernel_unknown(const char *name, const char *source)
{
    struct prof_kernel k = {.name = name, .source = source};
    for (size_t i = 0; i < prof_nmetrics; i++)
        if (prof_metrics[i].field >= 0)
            *field(&k, prof_metrics[i].field) = NAN;
    k.launches = 1;
    return k;
}

const char *prof_bound_name(enum prof_bound b)
{
    static const char *const names[] = {"unknown",       "dram-bound",  "l2-bound",
                                        "shared-bound",  "issue-bound", "tensor-bound",
                                        "latency-bound", "launch-bound"};
    return names[b];
}

/* ---- from counters ---- */

static void take(struct prof_kernel *k, const struct verdict_counter *c)
{
    for (size_t i = 0; i < prof_nmetrics; i++) {
        double f = prof_unit_factor(c->unit);
        if (prof_metrics[i].field < 0 || f <= 0 || !str_eq(prof_metrics[i].name, c->name))
            continue;
        double *at = field(k, prof_metrics[i].field), v = f * c->value;
        bool count = prof_metrics[i].field == (int)offsetof(struct prof_kernel, launches);
        *at = count || isnan(*at) || v > *at ? v : *at;
    }
}

static bool is_ncu(const struct verdict_counter *c)
{
    return strstr(c->name, "__") != NULL;
}

size_t prof_from_counters(const struct verdict *v, const char *workload, struct prof_kernel *out,
                          size_t max)
{
    size_t n = 0;
    bool ncu = false;
    vec_each (const struct verdict_counter, c, &v->counters)
        ncu = ncu || (is_ncu(c) && str_eq(c->workload, workload));
    vec_each (const struct verdict_counter, c, &v->counters) {
        if (c->line || !str_eq(c->workload, workload) ||
            (is_ncu(c) != ncu && !str_eq(c->name, "launches")))
            continue;
        size_t i = 0;
        while (i < n && !str_eq(out[i].name, c->kernel))
            i++;
        if (i == max)
            continue;
        if (i == n)
            out[n++] = prof_kernel_unknown(c->kernel, ncu ? "ncu" : "model");
        take(&out[i], c);
    }
    /* Counters of kernels without a time cannot tell where time goes. */
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (out[i].time_ns > 0)
            out[kept++] = out[i];
    return kept;
}

/* ---- to words ---- */

struct share {
    enum prof_bound bound;
    double pct;
    const char *what;
};

/* A unit of the GPU limits the kernel if it reaches this share of its peak. If none does, latency
 * is the limit. No access pattern reaches the peak of the L2, so its share is lower. */
static const double busy_pct = 60, busy_l2_pct = 50;

static double busy_at(const struct share *s)
{
    return s->bound == BOUND_L2 ? busy_l2_pct : busy_pct;
}

/* Returns the unit with the largest share of its peak. All data from DRAM passes through the L2. So
 * if DRAM is busy, the L2 does not count. */
static struct share busiest(const struct prof_kernel *k)
{
    bool dram = k->dram_pct >= busy_pct;
    const struct share all[] = {
        {BOUND_TENSOR, k->tensor_pct, "of peak tensor throughput"},
        {BOUND_DRAM, k->dram_pct, "of peak DRAM throughput"},
        {BOUND_SHARED, k->shared_pct, "of peak shared-memory throughput"},
        {BOUND_L2, dram ? NAN : k->l2_pct, "of peak L2 throughput"},
        {BOUND_ISSUE, k->issue_pct, "of the issue slots used"},
        {BOUND_ISSUE, k->fma_pct, "of the multiply-add pipe's peak"},
        {BOUND_ISSUE, k->alu_pct, "of the integer pipe's peak"},
        {BOUND_ISSUE, k->sfu_pct, "of the special-function unit's peak"},
        {BOUND_ISSUE, k->fp64_pct, "of the double-precision pipe's peak"},
    };
    struct share best = {BOUND_UNKNOWN, -1, ""};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i].pct > best.pct) /* false for NaN */
            best = all[i];
    return best;
}

static double launch_time(const struct prof_kernel *k)
{
    return k->launches > 1 ? k->time_ns / k->launches : k->time_ns;
}

enum prof_bound prof_classify(const struct prof_kernel *k, double launch_ns)
{
    struct share s = busiest(k);
    double each = launch_time(k);
    if (s.bound == BOUND_UNKNOWN)
        return BOUND_UNKNOWN;
    /* A modelled time is the cost of a launch, plus the time of the busiest unit, plus a part of
     * the other units' times and of latency. So even if the busiest unit has a low share, it is the
     * limit, unless latency has a larger share. */
    if (str_eq(k->source, "model")) {
        if (launch_ns > 0 && each < 2 * launch_ns)
            return BOUND_LAUNCH;
        return k->latency_pct > s.pct && s.pct < busy_at(&s) ? BOUND_LATENCY : s.bound;
    }
    if (launch_ns > 0 && each > 0 && each < 1.5 * launch_ns && s.pct < busy_at(&s))
        return BOUND_LAUNCH;
    return s.pct >= busy_at(&s) ? s.bound : BOUND_LATENCY;
}

/* Returns the most frequent reason why warps wait, or NULL if no such reason was counted. */
static const char *stall(const struct prof_kernel *k)
{
    const struct {
        double ratio;
        const char *words;
    } all[] = {
        {k->stall_memory, "warps wait mostly for global memory"},
        {k->stall_shared, "warps wait mostly for shared memory or for units that share its queue"},
        {k->stall_barrier, "warps wait mostly at barriers"},
        {k->stall_math, "warps wait mostly for their own arithmetic"},
    };
    const char *most = NULL;
    double best = 0;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i].ratio > best) {
            best = all[i].ratio;
            most = all[i].words;
        }
    return most;
}

static void say_latency(struct strbuf *sb, const struct prof_kernel *k, const struct share *s)
{
    strbuf_addf(sb, "no unit is busy: at most %.0f%% %s", s->pct, s->what);
    if (!isnan(k->occupancy_pct))
        strbuf_addf(sb, "; %.0f%% of the warps that fit are active", k->occupancy_pct);
    if (stall(k))
        strbuf_addf(sb, "; %s", stall(k));
}

/* Writes a line about the kernel that takes most of the time, unless its limit is unknown. */
static void prof_bottleneck(struct strbuf *sb, const struct prof_kernel *k, size_t n,
                            double launch_ns)
{
    const struct prof_kernel *top = NULL;
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        total += k[i].time_ns;
        if (!top || k[i].time_ns > top->time_ns)
            top = &k[i];
    }
    enum prof_bound b = top ? prof_classify(top, launch_ns) : BOUND_UNKNOWN;
    if (b == BOUND_UNKNOWN)
        return;
    struct share s = busiest(top);
    strbuf_addf(sb, "%s: ", prof_bound_name(b));
    if (b == BOUND_LAUNCH)
        strbuf_addf(sb, "a launch takes %.2f us, an empty launch %.2f us; at most %.0f%% %s",
                    launch_time(top) / 1e3, launch_ns / 1e3, s.pct, s.what);
    else if (b == BOUND_LATENCY)
        say_latency(sb, top, &s);
    else
        strbuf_addf(sb, "%.0f%% %s", s.pct, s.what);
    if (b == BOUND_SHARED && top->bank_conflicts > 0)
        strbuf_addf(sb, ", %.3g bank conflicts", top->bank_conflicts);
    if (b == BOUND_L2 && !isnan(top->l2_hit_pct))
        strbuf_addf(sb, ", %.0f%% of its sectors are hits", top->l2_hit_pct);
    strbuf_addf(sb, " (kernel %s, %.0f%% of the time; %s)", top->name,
                total > 0 ? 100 * top->time_ns / total : 100, top->source);
}

void prof_verdict_text(struct strbuf *sb, const struct verdict *v, double launch_ns)
{
    struct strbuf line = STRBUF_INIT(2048);
    struct prof_kernel k[MAX_KERNELS];
    unsigned timed = 0;
    vec_each (const struct verdict_time, t, &v->times)
        timed += str_eq(t->who, "candidate");
    vec_each (const struct verdict_time, t, &v->times) {
        if (!str_eq(t->who, "candidate"))
            continue;
        strbuf_clear(&line);
        prof_bottleneck(&line, k, prof_from_counters(v, t->workload, k, MAX_KERNELS), launch_ns);
        if (line.len)
            strbuf_addf(sb, "%s%s%s%s", sb->len ? "\n" : "", timed > 1 ? t->workload : "",
                        timed > 1 ? ": " : "", line.buf);
    }
    strbuf_release(&line);
}
