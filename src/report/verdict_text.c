#include "report/verdict_text.h"

#include "base/util.h"

void time_text(struct strbuf *sb, double ns)
{
    if (ns < 1e3)
        strbuf_addf(sb, "%.0f ns", ns);
    else if (ns < 1e6)
        strbuf_addf(sb, "%.*f us", ns < 1e5 ? 2 : 1, ns / 1e3);
    else
        strbuf_addf(sb, "%.*f ms", ns < 1e8 ? 3 : 1, ns / 1e6);
}

static void add_times(struct strbuf *sb, const struct verdict *v)
{
    const char *workload = "";
    vec_each (struct verdict_time, t, &v->times) {
        if (!str_eq(workload, t->workload))
            strbuf_addf(sb, "\n%s  %s\n", t->workload, t->shape);
        workload = t->workload;
        struct strbuf time = STRBUF_INIT(64), lo = STRBUF_INIT(64), hi = STRBUF_INIT(64);
        time_text(&time, t->median_ns);
        time_text(&lo, t->lo_ns);
        time_text(&hi, t->hi_ns);
        strbuf_addf(sb, "  %-14s %10s %-8s", t->who, time.buf, t->is_model ? "model" : "measured");
        if (!t->is_model)
            strbuf_addf(sb, " [%s, %s] n=%u", lo.buf, hi.buf, t->n);
        if (t->roofline_pct > 0)
            strbuf_addf(sb, "  %5.1f%% of roofline", t->roofline_pct);
        if (t->ratio > 0)
            strbuf_addf(sb, "  candidate is %.2fx", t->ratio);
        if (t->ratio > 0 && !t->is_model)
            strbuf_addf(sb, " [%.2f, %.2f]", t->ratio_lo, t->ratio_hi);
        strbuf_addc(sb, '\n');
        strbuf_release(&time);
        strbuf_release(&lo);
        strbuf_release(&hi);
    }
}

static void add_workloads(struct strbuf *sb, const struct verdict *v)
{
    size_t ok = 0;
    double worst = 0, rms = 0;
    vec_each (struct verdict_workload, w, &v->workloads) {
        ok += w->ok;
        worst = MAX(worst, w->max_ratio);
        rms = MAX(rms, w->rms_ratio);
    }
    if (v->workloads.n)
        strbuf_addf(sb,
                    "checked: %zu of %zu workloads right; worst error %.2g of the tolerance, "
                    "rms %.2g of an ideal implementation's\n",
                    ok, v->workloads.n, worst, rms);
}

void verdict_text(struct strbuf *sb, const struct verdict *v)
{
    strbuf_addf(sb, "%s", verdict_kind_name(v->kind));
    if (v->kind == V_PASS && v->time_ns > 0) {
        strbuf_adds(sb, "  ");
        time_text(sb, v->time_ns);
        strbuf_addf(sb, " %s", v->time_is_model ? "(model)" : "(measured)");
    }
    if (v->kind == V_PASS && v->speedup > 0)
        strbuf_addf(sb, ", %.2fx the baseline", v->speedup);
    strbuf_addf(sb, "\n%s\n", v->summary);
    if (v->kind != V_PASS)
        strbuf_addf(sb, "stage %s, detector %s\n", v->stage, v->detector);
    if (v->detail && *v->detail)
        strbuf_addf(sb, "\n%s\n\n", v->detail);
    add_workloads(sb, v);
    add_times(sb, v);
    if (*v->bottleneck)
        strbuf_addf(sb, "\n%s\n", v->bottleneck);
    vec_each (const char *, w, &v->warnings)
        strbuf_addf(sb, "warning: %s\n", *w);
    strbuf_addc(sb, '\n');
    if (*v->device) /* "": the evaluation ended before it ran on a device */
        strbuf_addf(sb, "device %s; ", v->device);
    strbuf_addf(sb, "%s; %s; seed %llu\n", v->compiler, v->arch, (unsigned long long)v->seed);
}
