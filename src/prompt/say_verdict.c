#include <math.h>
#include <string.h>

#include "base/util.h"
#include "prompt/say.h"
#include "sys/json.h"

void say_time(double ns, struct strbuf *out)
{
    if (ns < 1e3)
        strbuf_addf(out, "%.0f ns", ns);
    else if (ns < 1e6)
        strbuf_addf(out, "%.*f us", ns < 1e4 ? 2 : 1, ns / 1e3);
    else
        strbuf_addf(out, "%.3g ms", ns / 1e6);
}

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

/* True if the candidate ran at this workload and failed; false if it was never run there. */
static bool failed(const struct verdict_workload *w)
{
    return !w->ok && !str_eq(w->note, VERDICT_DID_NOT_RUN);
}

static bool heldout(const struct verdict_workload *w)
{
    return verdict_hidden(w->role) || str_starts(w->name, "heldout");
}

/* True if anything failed at a held-out shape. The author then does not get the verdict's own
 * texts, which may name the shape. */
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

void say_verdict_short(const struct verdict *v, struct strbuf *out)
{
    strbuf_adds(out, verdict_kind_name(v->kind));
    if (v->kind != V_PASS) {
        if (!heldout_failed(v) && *v->summary)
            strbuf_addf(out, ": %.160s", v->summary);
        else if (heldout_failed(v))
            strbuf_adds(out, ": wrong at a shape you were not told");
        return;
    }
    if (v->time_ns <= 0)
        return;
    strbuf_adds(out, ", ");
    say_time(v->time_ns, out);
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

/* True if the text holds a number; digits inside a name do not count. */
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

static void say_workload_failures(const struct verdict *v, struct strbuf *out)
{
    unsigned hidden = 0;
    vec_each (struct verdict_workload, w, &v->workloads) {
        if (!failed(w))
            continue;
        if (heldout(w)) {
            if (*w->note && !has_number(w->note)) /* a number could reveal the shape */
                strbuf_addf(out, "- at a shape you were not told: %s\n", w->note);
            hidden++;
            continue;
        }
        strbuf_addf(out, "- %s%s%s: output `%s`, worst error %.3g times the tolerance", w->name,
                    *w->shape ? " " : "", w->shape, w->output, w->max_ratio);
        strbuf_addf(out, "%s%s\n", *w->note ? "; " : "", w->note);
    }
    if (hidden)
        strbuf_addf(out,
                    "- wrong at %u shape%s you were not told, and right at the shapes you know: "
                    "look for cases that only the others have (sizes that are no multiple of a "
                    "tile, rows shorter than a block, addresses aligned to one element only).\n",
                    hidden, hidden > 1 ? "s" : "");
}

static void say_findings(const struct verdict *v, struct strbuf *out)
{
    size_t shown = 0;
    vec_each (struct verdict_finding, f, &v->findings) {
        if (shown++ == 12) {
            strbuf_addf(out, "- and %zu more\n", v->findings.n - 12);
            break;
        }
        strbuf_addf(out, "- %s", finding_kind_name(f->kind));
        if (f->line)
            strbuf_addf(out, " at line %u", f->line);
        if (verdict_hidden(f->role)) {
            strbuf_addf(out, " (%s), at a shape you were not told\n", f->kernel);
            continue;
        }
        strbuf_addf(out, " (%s, block %u,%u,%u thread %u,%u,%u)", f->kernel, f->block[0],
                    f->block[1], f->block[2], f->thread[0], f->thread[1], f->thread[2]);
        strbuf_addf(out, ": %s", f->text);
        if (f->count > 1)
            strbuf_addf(out, " (%llu times)", (unsigned long long)f->count);
        if (*f->other)
            strbuf_addf(out, "; the other access: %s", f->other);
        strbuf_addc(out, '\n');
    }
}

static bool was_timed_with(const struct verdict *v, const struct verdict_time *t)
{
    vec_each (struct verdict_time, b, &v->times)
        if (str_eq(b->who, t->who) && str_eq(b->workload, t->workload))
            return true;
    return false;
}

/* Adds PyTorch's times. They were measured once, in the same job as another candidate. */
static void say_torch_time(const struct verdict *v, const struct say_verdict *o,
                           const char *workload, struct strbuf *out)
{
    if (!o->with_torch || o->with_torch == v)
        return;
    vec_each (struct verdict_time, b, &o->with_torch->times) {
        if (!baseline_is_torch(b->who) || !str_eq(b->workload, workload) || was_timed_with(v, b))
            continue;
        strbuf_addf(out, "; %s took ", b->who);
        say_time(b->median_ns, out);
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
        say_time(t->median_ns, out);
        if (t->roofline_pct > 0)
            strbuf_addf(out, ", %.0f%% of the roofline", t->roofline_pct);
        vec_each (struct verdict_time, b, &v->times)
            if (!is_candidate(b) && str_eq(b->workload, t->workload) && b->ratio > 0)
                strbuf_addf(out, "; %.2fx %s [%.2f, %.2f]", b->ratio, b->who, b->ratio_lo,
                            b->ratio_hi);
        say_torch_time(v, o, t->workload, out);
        strbuf_addf(out, "%s\n", t->is_model ? " (modelled)" : "");
    }
}

/* The two times were measured in different jobs, so we give both and no ratio. */
static void say_against(const struct verdict *v, const struct verdict *o, const char *name,
                        struct strbuf *out)
{
    if (!o || o == v || o->kind != V_PASS || o->time_ns <= 0 || v->time_ns <= 0)
        return;
    strbuf_addf(out, "Against %s: %s, ", name, v->time_ns <= o->time_ns ? "faster" : "SLOWER");
    say_time(v->time_ns, out);
    strbuf_adds(out, " instead of ");
    say_time(o->time_ns, out);
    strbuf_adds(out, verdict_timed_shapes(v) > 1 ? " (geometric means over the shapes).\n" : ".\n");
}

/* True if the counter was read from the machine code and not counted at a workload. */
static bool is_static(const struct verdict_counter *c)
{
    return str_eq(c->workload, "code");
}

/* If a kernel was counted at several workloads, the author gets only the counters of the last
 * workload, which is a timed one. Otherwise an author would take counters of two shapes for one
 * measurement. */
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

static void say_counters(const struct verdict *v, struct strbuf *out)
{
    if (*v->bottleneck)
        strbuf_addf(out, "Bottleneck: %s\n", v->bottleneck);
    const char *kernel = "";
    size_t lines = 0;
    vec_each (struct verdict_counter, c, &v->counters) {
        if (is_superseded(v, c) || (c->line && lines++ >= 12))
            continue;
        if (!str_eq(kernel, c->kernel)) {
            kernel = c->kernel;
            strbuf_addf(out, "Counters of `%s` at %s:\n", kernel, c->workload);
        }
        const char *unit = str_eq(c->unit, "1") ? "" : c->unit;
        strbuf_addf(out, "- %s: %.6g%s%s", c->name, c->value, *unit ? " " : "", unit);
        if (c->line)
            strbuf_addf(out, " (line %u)", c->line);
        strbuf_addc(out, '\n');
    }
}

void say_verdict(const struct verdict *v, const struct say_verdict *o, struct strbuf *out)
{
    strbuf_addf(out, "Verdict: **%s**", verdict_kind_name(v->kind));
    if (v->kind != V_PASS && *v->stage)
        strbuf_addf(out, " at stage %s", v->stage);
    bool hide = heldout_failed(v);
    if (*v->summary && !hide)
        strbuf_addf(out, ". %s", v->summary);
    strbuf_addc(out, '\n');
    if (v->kind == V_PASS) {
        say_times(v, o, out);
        say_against(v, o->parent, "its parent", out);
        if (o->best != o->parent)
            say_against(v, o->best, "the best so far", out);
    } else {
        if (*v->detail && !hide)
            strbuf_addf(out, "%s\n", v->detail);
        say_workload_failures(v, out);
        say_findings(v, out);
    }
    vec_each (const char *, w, &v->warnings)
        if (!hide)
            strbuf_addf(out, "Warning: %s\n", *w);
    if (o->profile && v->kind == V_PASS)
        say_counters(v, out);
}

/* ---- the same as JSON ----------------------------------------------------------------------- */

static json_t *times_facts(const struct verdict *v)
{
    json_t *list = json_array();
    vec_each (struct verdict_time, t, &v->times)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b, s:f, s:f, s:f}", "workload",
                                              t->workload, "shape", t->shape, "who", t->who,
                                              "model", t->is_model, "median_ns", t->median_ns,
                                              "ratio", t->ratio, "roofline_pct", t->roofline_pct));
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
