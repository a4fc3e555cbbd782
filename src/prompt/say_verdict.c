/* say_verdict.c - describes a verdict to authors. See say.h. */
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "job/torch_variants.h"
#include "prompt/say.h"
#include "sys/json.h"
#include "verdict/counters.h"

static bool is_candidate(const struct verdict_time *t)
{
    return str_eq(t->who, "candidate");
}

double verdict_roofline(const struct verdict *v, double *lowest)
{
    double sum = 0, low = 0;
    unsigned n = 0;
    vec_each (struct verdict_time, t, &v->times)
        if (is_candidate(t) && t->roofline_pct > 0) {
            sum += log(t->roofline_pct);
            low = n++ ? MIN(low, t->roofline_pct) : t->roofline_pct;
        }
    if (lowest)
        *lowest = low;
    return n ? exp(sum / n) : 0;
}

/* Did the candidate fail at this workload? Returns false if it was never run there. */
static bool failed(const struct verdict_workload *w)
{
    return !w->ok && !str_eq(w->note, VERDICT_DID_NOT_RUN);
}

static bool heldout(const struct verdict_workload *w)
{
    return verdict_hidden(w->role) || str_starts(w->name, "heldout");
}

static bool has_reason(const struct verdict_workload *w)
{
    return *w->note && !str_eq(w->note, VERDICT_FAILED);
}

/* Did the candidate fail at a held-out shape? Then the author does not get the verdict's own texts,
 * because they may name the shape. */
static bool heldout_failed(const struct verdict *v)
{
    vec_each (struct verdict_workload, w, &v->workloads)
        if (failed(w) && heldout(w))
            return true;
    vec_each (struct verdict_finding, f, &v->findings)
        if (verdict_hidden(f->role))
            return true;
    return false;
}

static bool known_failed(const struct verdict *v)
{
    vec_each (struct verdict_workload, w, &v->workloads)
        if (failed(w) && !heldout(w))
            return true;
    return false;
}

void say_verdict_short(const struct verdict *v, struct strbuf *out)
{
    strbuf_adds(out, verdict_kind_name(v->kind));
    if (v->kind != V_PASS) {
        if (!heldout_failed(v) && *v->summary)
            strbuf_addf(out, ": %.160s", v->summary);
        else if (heldout_failed(v))
            strbuf_adds(out, known_failed(v) ? ": wrong at shapes you know and at others"
                                             : ": wrong at a shape you were not told");
        return;
    }
    if (v->time_ns <= 0)
        return;
    strbuf_adds(out, ", ");
    strbuf_add_time(out, v->time_ns);
    if (v->time_is_model)
        strbuf_adds(out, " (modelled)");
    if (verdict_timed_shapes(v) > 1)
        strbuf_addf(out, " (geometric mean of %u shapes)", verdict_timed_shapes(v));
    if (v->speedup > 0)
        strbuf_addf(out, ", %.2fx %s", v->speedup,
                    v->speedup_over && *v->speedup_over ? v->speedup_over : "the first baseline");
    if (verdict_roofline(v, NULL) > 0)
        strbuf_addf(out, ", %.0f%% of the roofline", verdict_roofline(v, NULL));
}

/* Does the text have a number, such as "128" or "1.5"? Digits in names like "smem0" do not count.
 */
static bool has_number(const char *s)
{
    for (bool name = false; *s; s++) {
        bool digit = *s >= '0' && *s <= '9';
        if (digit && !name)
            return true;
        name = digit || *s == '_' || ((*s | 32) >= 'a' && (*s | 32) <= 'z');
    }
    return false;
}

/* The author gets at most FAILURES_TOLD failures in full, and the names of at most FAILURES_NAMED
 * further ones. */
enum { FAILURES_TOLD = 3, FAILURES_NAMED = 6 };

static void say_workload(const struct verdict_workload *w, struct strbuf *out)
{
    strbuf_addf(out, "%s%s%s", w->name, *w->shape ? " " : "", w->shape);
}

static bool told_in_full(const struct verdict *v, const struct verdict_workload *w)
{
    unsigned before = 0;
    for (const struct verdict_workload *e = v->workloads.items; e < w; e++) {
        if (!failed(e) || heldout(e))
            continue;
        if (++before == FAILURES_TOLD || (*w->note && str_eq(e->note, w->note)))
            return false;
    }
    return true;
}

static void say_hidden_failures(const struct verdict *v, struct strbuf *out)
{
    unsigned hidden = 0, known = 0;
    const char *note = "";
    vec_each (struct verdict_workload, w, &v->workloads) {
        known += !heldout(w) && !w->ok; /* counts shapes at which the candidate did not run, too */
        if (!failed(w) || !heldout(w))
            continue;
        hidden++;
        if (*w->note && !has_number(w->note)) /* a number could reveal the shape */
            note = w->note;
    }
    if (*note)
        strbuf_addf(out, "- at a shape you were not told: %s\n", note);
    if (hidden && known)
        strbuf_addf(out, "- also wrong at %u shape%s you were not told.\n", hidden,
                    hidden > 1 ? "s" : "");
    else if (hidden)
        strbuf_addf(out,
                    "- wrong at %u shape%s you were not told, and right at the shapes you know: "
                    "look for cases that only the others have (sizes that are no multiple of a "
                    "tile, rows shorter than a block, addresses aligned to one element only).\n",
                    hidden, hidden > 1 ? "s" : "");
}

static void say_workload_failures(const struct verdict *v, struct strbuf *out)
{
    size_t also = 0;
    if (v->separation && *v->separation)
        strbuf_addf(out, "- %s\n", v->separation);
    vec_each (struct verdict_workload, w, &v->workloads) {
        if (!failed(w) || heldout(w) || !told_in_full(v, w))
            continue;
        strbuf_adds(out, "- ");
        say_workload(w, out);
        if (*w->output)
            strbuf_addf(out, ": output `%s`, worst error %.3g times the tolerance", w->output,
                        w->max_ratio);
        const char *note = *w->output || *w->note ? w->note : VERDICT_FAILED;
        strbuf_addf(out, "%s%s\n", !*note ? "" : *w->output ? "; " : ": ", note);
    }
    vec_each (struct verdict_workload, w, &v->workloads) {
        if (!failed(w) || heldout(w) || told_in_full(v, w))
            continue;
        if (also++ >= FAILURES_NAMED)
            continue;
        strbuf_adds(out, also > 1 ? ", " : "- also at ");
        say_workload(w, out);
    }
    if (also > FAILURES_NAMED)
        strbuf_addf(out, " and %zu more", also - FAILURES_NAMED);
    strbuf_adds(out, also ? "\n" : "");
    say_hidden_failures(v, out);
}

/* Do the two findings show the same fault? A fault may show at several lines and workloads. */
static bool same_fault(const struct verdict_finding *a, const struct verdict_finding *b)
{
    bool hidden = verdict_hidden(a->role);
    if (a->kind != b->kind || hidden != verdict_hidden(b->role) || !str_eq(a->kernel, b->kernel))
        return false;
    return hidden ? a->line == b->line : str_eq(a->text, b->text);
}

static bool told_before(const struct verdict *v, const struct verdict_finding *f, bool by_line)
{
    for (const struct verdict_finding *e = v->findings.items; e < f; e++)
        if (same_fault(e, f) && (!by_line || e->line == f->line))
            return true;
    return false;
}

/* Appends the source line with this number, if v->detail quotes it: as " 87 | text". */
static void quote_line(const struct verdict *v, uint32_t line, struct strbuf *out)
{
    char mark[32];
    snprintf(mark, sizeof mark, " %u | ", line);
    const char *at = strstr(v->detail, mark);
    if (at)
        strbuf_addf(out, " `%.*s`", (int)strcspn(at + strlen(mark), "\n"), at + strlen(mark));
}

static void say_shape_of(const struct verdict *v, const char *workload, struct strbuf *out)
{
    vec_each (struct verdict_workload, w, &v->workloads)
        if (str_eq(w->name, workload)) {
            say_workload(w, out);
            return;
        }
    strbuf_adds(out, workload);
}

static void say_fault(const struct verdict *v, const struct verdict_finding *f, struct strbuf *out)
{
    strbuf_addf(out, "- %s in `%s`", finding_kind_name(f->kind), f->kernel);
    if (verdict_hidden(f->role)) {
        if (f->line)
            strbuf_addf(out, " at line %u", f->line);
        strbuf_adds(out, ", at a shape you were not told\n");
        return;
    }
    strbuf_adds(out, " at ");
    say_shape_of(v, f->workload, out);
    strbuf_addf(out, ": %s\n", f->text);
    for (const struct verdict_finding *g = f; g < v->findings.items + v->findings.n; g++) {
        if (!same_fault(f, g) || told_before(v, g, true))
            continue;
        strbuf_adds(out, "  - ");
        if (g->line)
            strbuf_addf(out, "line %u", g->line);
        quote_line(v, g->line, out);
        strbuf_addf(out, "%sblock %u,%u,%u thread %u,%u,%u", g->line ? ", " : "", g->block[0],
                    g->block[1], g->block[2], g->thread[0], g->thread[1], g->thread[2]);
        if (g->count > 1)
            strbuf_addf(out, " (%llu times)", (unsigned long long)g->count);
        if (*g->other)
            strbuf_addf(out, "; the other access: %s", g->other);
        strbuf_addc(out, '\n');
    }
}

static void say_findings(const struct verdict *v, struct strbuf *out)
{
    size_t shown = 0;
    vec_each (struct verdict_finding, f, &v->findings) {
        if (told_before(v, f, false))
            continue;
        if (shown++ == 12) {
            strbuf_adds(out, "- and more\n");
            break;
        }
        say_fault(v, f, out);
    }
}

static bool told_by_findings(const struct verdict *v)
{
    if (v->findings.n)
        return true;
    vec_each (struct verdict_workload, w, &v->workloads)
        if (failed(w) && !heldout(w) && has_reason(w))
            return true;
    return false;
}

static void say_failure(const struct verdict *v, struct strbuf *out)
{
    bool hide = heldout_failed(v), told = told_by_findings(v);
    bool in_detail = *v->summary && strstr(v->detail, v->summary);
    bool as_finding = false;
    vec_each (struct verdict_finding, f, &v->findings)
        as_finding |= *f->text && strstr(v->summary, f->text);
    vec_each (struct verdict_workload, w, &v->workloads)
        as_finding |= failed(w) && has_reason(w) && strstr(v->summary, w->note);
    if (*v->summary && !hide && !as_finding && (told || !in_detail))
        strbuf_addf(out, ". %s", v->summary);
    strbuf_addc(out, '\n');
    if (*v->detail && !hide && !told)
        strbuf_addf(out, "%s\n", v->detail);
    say_workload_failures(v, out);
    say_findings(v, out);
}

static bool was_timed_with(const struct verdict *v, const struct verdict_time *t)
{
    vec_each (struct verdict_time, b, &v->times)
        if (str_eq(b->who, t->who) && str_eq(b->workload, t->workload))
            return true;
    return false;
}

/* Adds PyTorch's times. Hone timed PyTorch once, in the job of another candidate. */
static void say_torch_time(const struct verdict *v, const struct say_verdict *o,
                           const char *workload, struct strbuf *out)
{
    if (!o->with_torch || o->with_torch == v)
        return;
    vec_each (struct verdict_time, b, &o->with_torch->times) {
        if (!baseline_is_torch(b->who) || !str_eq(b->workload, workload) || was_timed_with(v, b))
            continue;
        strbuf_addf(out, "; %s took ", b->who);
        strbuf_add_time(out, b->median_ns);
        strbuf_addf(out, " when timed with candidate %llu",
                    (unsigned long long)o->with_torch_index);
    }
}

static void say_times(const struct verdict *v, const struct say_verdict *o, struct strbuf *out)
{
    vec_each (struct verdict_time, t, &v->times) {
        if (!is_candidate(t))
            continue;
        strbuf_addf(out, "- %s: ", *t->shape ? t->shape : t->workload);
        strbuf_add_time(out, t->median_ns);
        if (t->roofline_pct > 0)
            strbuf_addf(out, ", %.0f%% of the roofline", t->roofline_pct);
        vec_each (struct verdict_time, b, &v->times)
            if (!is_candidate(b) && !contender_is_beside(b->who) &&
                str_eq(b->workload, t->workload) && b->ratio > 0)
                strbuf_addf(out, "; %.2fx %s [%.2f, %.2f]", b->ratio, b->who, b->ratio_lo,
                            b->ratio_hi);
        say_torch_time(v, o, t->workload, out);
        strbuf_addf(out, "%s\n", t->is_model ? " (modelled)" : "");
    }
}

/* The two times come from different jobs, so a ratio would mislead. */
static void say_against(const struct verdict *v, const struct verdict *o, const char *name,
                        struct strbuf *out)
{
    if (!o || o == v || o->kind != V_PASS || o->time_ns <= 0 || v->time_ns <= 0)
        return;
    struct strbuf mine = STRBUF_INIT(64), other = STRBUF_INIT(64);
    strbuf_add_time(&mine, v->time_ns);
    strbuf_add_time(&other, o->time_ns);
    if (str_eq(mine.buf, other.buf))
        strbuf_addf(out, "Against %s: as fast, %s", name, mine.buf);
    else
        strbuf_addf(out, "Against %s: %s, %s instead of %s", name,
                    v->time_ns < o->time_ns ? "faster" : "SLOWER", mine.buf, other.buf);
    strbuf_release(&mine);
    strbuf_release(&other);
    strbuf_adds(out, verdict_timed_shapes(v) > 1 ? " (geometric means over the shapes).\n" : ".\n");
}

/* Was this counter read from the machine code, and not counted at a workload? */
static bool is_static(const struct verdict_counter *c)
{
    return str_eq(c->workload, "code");
}

/* Is this a counter that the author must not get? Counters of held-out workloads are secret. From
 * the other workloads, the author gets only the counters of the last one. A counter does not name
 * its shape, so the author would take counters of two shapes for one measurement. */
static bool is_superseded(const struct verdict *v, const struct verdict_counter *c)
{
    if (verdict_hidden(c->role))
        return true;
    for (const struct verdict_counter *d = c + 1; d < v->counters.items + v->counters.n; d++)
        if (!verdict_hidden(d->role) && str_eq(d->kernel, c->kernel) &&
            ((d->line == c->line && str_eq(d->name, c->name)) ||
             (!is_static(c) && !is_static(d) && !str_eq(c->workload, d->workload))))
            return true;
    return false;
}

/* Returns the timed shape with counters that is furthest from the roofline, or NULL. */
static const struct verdict_time *counted_shape(const struct verdict *v)
{
    const struct verdict_time *worst = NULL;
    vec_each (struct verdict_time, t, &v->times) {
        bool counted = false;
        vec_each (struct verdict_counter, c, &v->counters)
            counted |= str_eq(c->workload, t->workload) && str_eq(c->role, "time");
        if (is_candidate(t) && counted && (!worst || t->roofline_pct < worst->roofline_pct))
            worst = t;
    }
    return worst;
}

static const struct verdict_counter *find_counter(const struct verdict *v, const char *workload,
                                                  const char *kernel, const char *name)
{
    vec_each (struct verdict_counter, c, &v->counters)
        if (str_eq(c->workload, workload) && str_eq(c->kernel, kernel) && str_eq(c->name, name) &&
            !c->line)
            return c;
    return NULL;
}

static const char *slowest_kernel(const struct verdict *v, const char *workload)
{
    const struct verdict_counter *most = NULL;
    const char *any = "";
    vec_each (struct verdict_counter, c, &v->counters) {
        if (!str_eq(c->workload, workload) || c->line)
            continue;
        any = *any ? any : c->kernel;
        if ((str_eq(c->name, "time") || str_eq(c->name, "gpu__time_duration.sum")) &&
            (!most || c->value > most->value))
            most = c;
    }
    return most ? most->kernel : any;
}

enum { COUNTERS_TOLD = 12 };

static void say_counters(const struct verdict *v, struct strbuf *out)
{
    const struct verdict_time *t = counted_shape(v);
    unsigned told = 0;
    if (*v->bottleneck)
        strbuf_addf(out, "Bottleneck: %s\n", v->bottleneck);
    if (!t)
        return;
    const char *kernel = slowest_kernel(v, t->workload);
    for (size_t i = 0; i < counter_ninfos && told < COUNTERS_TOLD; i++) {
        const struct counter_info *info = &counter_infos[i];
        const struct verdict_counter *c = find_counter(v, t->workload, kernel, info->name);
        if (!c)
            c = find_counter(v, "code", kernel, info->name);
        if (!c || c->value == 0) /* the kernel does no such thing */
            continue;
        if (told++ == 0)
            strbuf_addf(out, "Counters of `%s` at %s:\n", kernel,
                        *t->shape ? t->shape : t->workload);
        bool unitless = str_eq(c->unit, "1") || !*c->unit;
        strbuf_addf(out, "- %s: %.3g%s%s %s\n", info->name, c->value, unitless ? "" : " ",
                    unitless ? "" : c->unit, info->meaning);
    }
}

void say_verdict(const struct verdict *v, const struct say_verdict *o, struct strbuf *out)
{
    strbuf_addf(out, "Verdict: **%s**", verdict_kind_name(v->kind));
    if (v->kind == V_PASS) {
        strbuf_addc(out, '\n');
        say_times(v, o, out);
        say_against(v, o->parent, "its parent", out);
        if (o->best != o->parent)
            say_against(v, o->best, "the best so far", out);
    } else {
        if (*v->stage)
            strbuf_addf(out, " at stage %s", v->stage);
        say_failure(v, out);
    }
    vec_each (const char *, w, &v->warnings)
        if (!heldout_failed(v))
            strbuf_addf(out, "Warning: %s\n", *w);
    if (o->profile && v->kind == V_PASS)
        say_counters(v, out);
}

/* ---- the verdict as JSON -------------------------------------------------------------------- */

static json_t *times_facts(const struct verdict *v)
{
    json_t *list = json_array();
    vec_each (struct verdict_time, t, &v->times) {
        if (contender_is_beside(t->who))
            continue;
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b, s:f, s:f, s:f}", "workload",
                                              t->workload, "shape", t->shape, "who", t->who,
                                              "model", t->is_model, "median_ns", t->median_ns,
                                              "ratio", t->ratio, "roofline_pct", t->roofline_pct));
    }
    return list;
}

json_t *say_verdict_json(const struct verdict *v, const struct say_verdict *o)
{
    struct strbuf text = STRBUF_INIT(64 << 10);
    say_verdict(v, o, &text);
    json_t *j = json_pack("{s:s, s:s, s:s, s:f, s:f, s:b}", "kind", verdict_kind_name(v->kind),
                          "stage", v->stage, "text", text.buf, "time_ns", v->time_ns, "speedup",
                          v->speedup, "time_is_model", v->time_is_model);
    strbuf_release(&text);
    if (!j)
        return NULL;
    json_object_set_new(j, "times", times_facts(v));
    if (o->profile && v->kind == V_PASS) {
        json_t *counters = json_array();
        vec_each (struct verdict_counter, c, &v->counters)
            if (!is_superseded(v, c))
                json_array_append_new(counters, json_pack("{s:s, s:s, s:s, s:i, s:f}", "kernel",
                                                          c->kernel, "name", c->name, "unit",
                                                          c->unit, "line", (int)c->line, "value",
                                                          isfinite(c->value) ? c->value : 0.0));
        json_object_set_new(j, "counters", counters);
        json_object_set_new(j, "bottleneck", json_string(v->bottleneck));
    }
    return j;
}
