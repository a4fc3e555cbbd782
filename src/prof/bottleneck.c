#include <math.h>

#include "base/util.h"
#include "prof/prof.h"

struct prof_kernel prof_kernel_unknown(const char *name, const char *source)
{
    return (struct prof_kernel){name, source, 0,   0,   NAN, NAN, NAN,
                                NAN,  NAN,    NAN, NAN, NAN, NAN, NAN};
}

const char *prof_bound_name(enum prof_bound b)
{
    static const char *const names[] = {"unknown",       "dram-bound",  "l2-bound",
                                        "shared-bound",  "issue-bound", "tensor-bound",
                                        "latency-bound", "launch-bound"};
    return names[b];
}

struct share {
    enum prof_bound bound;
    double pct;
    const char *what;
};

/* The busiest unit. A unit that is over this share is the limit; below it nothing is. */
static const double busy_pct = 60;

static struct share busiest(const struct prof_kernel *k)
{
    const struct share all[] = {
        {BOUND_TENSOR, k->tensor_pct, "of peak tensor throughput"},
        {BOUND_DRAM, k->dram_pct, "of peak DRAM throughput"},
        {BOUND_SHARED, k->shared_pct, "of peak shared-memory throughput"},
        {BOUND_L2, k->l2_pct, "of peak L2 throughput"},
        {BOUND_ISSUE, k->issue_pct, "of issue slots busy"},
    };
    struct share best = {BOUND_UNKNOWN, -1, ""};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i].pct > best.pct) /* false for NaN */
            best = all[i];
    return best;
}

enum prof_bound prof_classify(const struct prof_kernel *k, double launch_ns)
{
    struct share s = busiest(k);
    if (s.bound == BOUND_UNKNOWN)
        return BOUND_UNKNOWN;
    double each = k->launches ? k->time_ns / k->launches : k->time_ns;
    if (launch_ns > 0 && each > 0 && each < 1.5 * launch_ns && s.pct < busy_pct)
        return BOUND_LAUNCH;
    return s.pct >= busy_pct ? s.bound : BOUND_LATENCY;
}

void prof_bottleneck(struct strbuf *sb, const struct prof_kernel *k, size_t n, double launch_ns)
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
        strbuf_addf(sb,
                    "%.2f us a launch, an empty one costs %.2f us; the busiest unit is at "
                    "%.0f%% %s",
                    top->time_ns / MAX(top->launches, 1u) / 1e3, launch_ns / 1e3, s.pct, s.what);
    else if (b == BOUND_LATENCY)
        strbuf_addf(sb, "no unit is busy (the most is %.0f%% %s)", s.pct, s.what);
    else
        strbuf_addf(sb, "%.0f%% %s", s.pct, s.what);
    if (b == BOUND_LATENCY && top->occupancy_pct == top->occupancy_pct)
        strbuf_addf(sb, "; %.0f%% of the warps that fit are active", top->occupancy_pct);
    strbuf_addf(sb, " (kernel %s, %.0f%% of the time; %s)", top->name,
                total > 0 ? 100 * top->time_ns / total : 100, top->source);
}
