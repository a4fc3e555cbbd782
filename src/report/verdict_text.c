/* verdict_text.c - writes a verdict as text for people. See verdict_text.h. */
#include "report/verdict_text.h"

#include <string.h>

#include "base/util.h"
#include "job/torch_variants.h"

void time_text(struct strbuf *sb, double ns)
{
    if (ns < 1e3)
        strbuf_addf(sb, "%.0f ns", ns);
    else if (ns < 1e6)
        strbuf_addf(sb, "%.*f us", ns < 1e5 ? 2 : 1, ns / 1e3);
    else
        strbuf_addf(sb, "%.*f ms", ns < 1e8 ? 3 : 1, ns / 1e6);
}

static int name_width(const struct verdict *v)
{
    size_t width = 14;
    vec_each (struct verdict_time, t, &v->times)
        if (contender_is_beside(t->who))
            width = MAX(width, strlen(t->who));
    return (int)width;
}

static void add_times(struct strbuf *sb, const struct verdict *v)
{
    const char *workload = "";
    int width = name_width(v);
    vec_each (struct verdict_time, t, &v->times) {
        if (!str_eq(workload, t->workload))
            strbuf_addf(sb, "\n%s  %s\n", t->workload, t->shape);
        workload = t->workload;
        struct strbuf time = STRBUF_INIT(64), lo = STRBUF_INIT(64), hi = STRBUF_INIT(64);
        time_text(&time, t->median_ns);
        time_text(&lo, t->lo_ns);
        time_text(&hi, t->hi_ns);
        strbuf_addf(sb, "  %-*s %10s %-8s", width, t->who, time.buf,
                    t->is_model ? "model" : "measured");
        if (t->is_model && t->hi_ns > t->lo_ns)
            strbuf_addf(sb, " x%.2f..x%.2f", t->lo_ns / t->median_ns, t->hi_ns / t->median_ns);
        if (!t->is_model)
            strbuf_addf(sb, " [%s, %s] n=%u", lo.buf, hi.buf, t->n);
        if (t->roofline_pct > 0)
            strbuf_addf(sb, "  %5.1f%% of roofline", t->roofline_pct);
        if (t->roofline_pct > 0 && t->limit && *t->limit && !str_eq(t->limit, "DRAM"))
            strbuf_addf(sb, " (%s)", t->limit);
        if (t->ratio > 0)
            strbuf_addf(sb, "  candidate is %.2fx as fast", t->ratio);
        if (t->ratio > 0 && !t->is_model)
            strbuf_addf(sb, " [%.2f, %.2f]", t->ratio_lo, t->ratio_hi);
        if (contender_is_beside(t->who))
            strbuf_adds(sb, "  (beside)");
        strbuf_addc(sb, '\n');
        strbuf_release(&time);
        strbuf_release(&lo);
        strbuf_release(&hi);
    }
}

/* Appends a line about the workloads that Hone verified in one way. `how` is "whole", "sample" or
 * "none". */
static void add_verified(struct strbuf *sb, const struct verdict *v, const char *how)
{
    size_t n = 0, ok = 0;
    struct strbuf names = STRBUF_INIT(4096);
    bool sample = str_eq(how, "sample"), none = str_eq(how, "none"), timed = true;
    vec_each (struct verdict_workload, w, &v->workloads) {
        if (!str_eq(w->verified, how) || str_eq(w->note, VERDICT_DID_NOT_RUN))
            continue;
        n++;
        ok += w->ok;
        timed = timed && w->ok && str_eq(w->role, "time");
        strbuf_addf(&names, "%s%s", names.len ? ", " : "", w->name);
        if (sample)
            strbuf_addf(&names, " %.2g%%", w->verified_pct);
    }
    if (n && none)
        strbuf_addf(sb, "not verified%s: %s\n", timed ? ", only timed" : "", names.buf);
    else if (n && sample)
        strbuf_addf(sb, "verified by sample: %zu of %zu workloads right (%s of the output)\n", ok,
                    n, names.buf);
    else if (n)
        strbuf_addf(sb, "verified whole: %zu of %zu workloads right\n", ok, n);
    strbuf_release(&names);
}

static bool is_wrong(const struct verdict_workload *w)
{
    return !w->ok && w->note && *w->note && !str_eq(w->note, VERDICT_DID_NOT_RUN);
}

/* With `all`, lists every wrong workload. Without it, says how to list them if the verdict's detail
 * leaves some out. */
static void add_wrong(struct strbuf *sb, const struct verdict *v, bool all)
{
    size_t wrong = 0;
    vec_each (struct verdict_workload, w, &v->workloads)
        wrong += is_wrong(w);
    vec_each (struct verdict_workload, w, &v->workloads)
        if (all && is_wrong(w))
            strbuf_addf(sb, "%s (%s): %s\n", w->name,
                        verdict_hidden(w->role) ? "shape not shown" : w->shape, w->note);
    if (!all && wrong > VERDICT_TOLD_WORKLOADS)
        strbuf_adds(sb, "--all lists every wrong workload\n");
}

static void add_workloads(struct strbuf *sb, const struct verdict *v)
{
    double worst = 0, rms = 0;
    size_t unknown = 0, missed = 0, compared = 0;
    vec_each (struct verdict_workload, w, &v->workloads) {
        missed += str_eq(w->note, VERDICT_DID_NOT_RUN);
        unknown += !*w->verified; /* a verdict of an older Hone */
        compared += *w->output != '\0';
        worst = MAX(worst, w->max_ratio);
        rms = MAX(rms, w->rms_ratio);
    }
    add_verified(sb, v, "whole");
    add_verified(sb, v, "sample");
    add_verified(sb, v, "none");
    if (missed)
        strbuf_addf(sb, "not run: %zu workload%s\n", missed, missed == 1 ? "" : "s");
    if (unknown)
        strbuf_addf(sb, "%zu workloads; how much was verified is not recorded\n", unknown);
    if (compared)
        strbuf_addf(sb,
                    "worst error %.2g times the tolerance, rms error %.2g times that of an ideal "
                    "implementation\n",
                    worst, rms);
}

static void add_baselines(struct strbuf *sb, const struct verdict *v)
{
    vec_each (struct verdict_baseline, b, &v->baselines) {
        if (str_eq(b->state, "right"))
            continue;
        bool timed = str_eq(b->state, "imprecise") || str_eq(b->state, "unverified");
        strbuf_addf(sb, "%s %s is %s: %s%s\n", contender_is_beside(b->who) ? "beside:" : "baseline",
                    b->who, b->state, b->text, timed ? "" : "; it gives no ratio");
    }
}

/* Returns the verdict's detail. If its first line repeats the summary, leaves out that line. */
static const char *detail_after_summary(const struct verdict *v)
{
    const char *detail = v->detail ? v->detail : "";
    size_t n = strlen(v->summary);
    if (n && strncmp(detail, v->summary, n) == 0 && (!detail[n] || detail[n] == '\n'))
        detail += n + strspn(detail + n, "\n");
    return detail;
}

void verdict_text(struct strbuf *sb, const struct verdict *v, bool all)
{
    strbuf_addf(sb, "%s", verdict_kind_name(v->kind));
    if (v->kind == V_PASS && v->time_ns > 0) {
        strbuf_adds(sb, "  ");
        time_text(sb, v->time_ns);
        double lo, hi;
        if (v->time_is_model && verdict_model_error(v, &lo, &hi))
            strbuf_addf(sb, " (model, x%.2f..x%.2f)", lo, hi);
        else
            strbuf_addf(sb, " %s", v->time_is_model ? "(model)" : "(measured)");
        if (verdict_timed_shapes(v) > 1)
            strbuf_addf(sb, ", geometric mean of %u shapes", verdict_timed_shapes(v));
    }
    if (v->kind == V_PASS && v->speedup > 0)
        strbuf_addf(sb, ", %.2fx %s", v->speedup,
                    *v->speedup_over ? v->speedup_over : "the first baseline");
    strbuf_addf(sb, "\n%s\n", v->summary);
    if (v->separation && *v->separation)
        strbuf_addf(sb, "%s\n", v->separation);
    if (v->kind != V_PASS)
        strbuf_addf(sb, "stage %s, detector %s\n", v->stage, v->detector);
    const char *detail = detail_after_summary(v);
    if (*detail)
        strbuf_addf(sb, "\n%s\n\n", detail);
    add_workloads(sb, v);
    add_wrong(sb, v, all);
    add_times(sb, v);
    add_baselines(sb, v);
    if (v->kind == V_PASS && *v->precision)
        strbuf_addf(sb, "\nprecision: %s\n", v->precision);
    if (v->preconditions && *v->preconditions)
        strbuf_addf(sb, "\npreconditions of the task: %s\n", v->preconditions);
    if (*v->bottleneck)
        strbuf_addf(sb, "\n%s\n", v->bottleneck);
    vec_each (const char *, w, &v->warnings)
        strbuf_addf(sb, "warning: %s\n", *w);
    strbuf_addc(sb, '\n');
    const char *sep = "";
    if (*v->device) { /* "" if nothing ran on a device */
        strbuf_addf(sb, "device %s", v->device);
        sep = "; ";
    }
    if (*v->compiler) { /* "" if nothing was compiled, as when the reply had no code */
        strbuf_addf(sb, "%s%s; %s; seed %llu", sep, v->compiler, v->arch,
                    (unsigned long long)v->seed);
        sep = "; ";
    }
    if (*v->task_sha)
        strbuf_addf(sb, "%stask %s %.12s", sep, v->task, v->task_sha);
    strbuf_addc(sb, '\n');
}
