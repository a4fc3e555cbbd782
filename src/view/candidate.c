/* candidate.c - answers the query for one candidate: its source, its verdict, and the call that
 * wrote it. */
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "report/verdict_text.h"
#include "store/sql.h"
#include "sys/json.h"
#include "view/queries.h"

enum { MAX_WORKLOADS = 1000, MAX_FINDINGS = 200, MAX_COUNTERS = 3000, MAX_NOTE = 2000 };

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *note(const char *text)
{
    char *cut = xstrndup(text, strnlen(text, MAX_NOTE));
    json_t *j = view_short_text(cut);
    free(cut);
    return j;
}

/* Returns one row for each workload: name, role, shape, ok, verified, percent, worst error, rms
 * error, output, note. */
static json_t *workloads(const struct verdict *v)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < v->workloads.n && i < MAX_WORKLOADS; i++) {
        const struct verdict_workload *w = &v->workloads.items[i];
        json_array_append_new(rows, json_pack("[o, o, o, b, o, f, o, o, o, o]", json_text(w->name),
                                              json_text(w->role), json_text(w->shape), w->ok,
                                              json_text(w->verified), w->verified_pct,
                                              number(w->max_ratio), number(w->rms_ratio),
                                              json_text(w->output), note(w->note)));
    }
    return rows;
}

static json_t *times(const struct verdict *v)
{
    json_t *rows = json_array();
    vec_each (struct verdict_time, t, &v->times)
        json_array_append_new(
            rows,
            json_pack("{s:o, s:o, s:o, s:b, s:f, s:f, s:f, s:i, s:f, s:f, s:f, s:f}", "workload",
                      json_text(t->workload), "shape", json_text(t->shape), "who",
                      json_text(t->who), "model", t->is_model, "median_ns", t->median_ns, "lo_ns",
                      t->lo_ns, "hi_ns", t->hi_ns, "n", (int)t->n, "ratio", t->ratio, "ratio_lo",
                      t->ratio_lo, "ratio_hi", t->ratio_hi, "roofline_pct", t->roofline_pct));
    return rows;
}

static json_t *findings(const struct verdict *v)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < v->findings.n && i < MAX_FINDINGS; i++) {
        const struct verdict_finding *f = &v->findings.items[i];
        json_array_append_new(
            rows,
            json_pack("{s:s, s:o, s:o, s:I, s:o, s:[iii], s:[iii], s:I}", "kind",
                      finding_kind_name(f->kind), "workload", json_text(f->workload), "kernel",
                      json_text(f->kernel), "line", (json_int_t)f->line, "text", note(f->text),
                      "block", f->block[0], f->block[1], f->block[2], "thread", f->thread[0],
                      f->thread[1], f->thread[2], "count", (json_int_t)f->count));
    }
    return rows;
}

/* Returns one row for each counter of a whole kernel: workload, kernel, name, unit, value. */
static json_t *counters(const struct verdict *v)
{
    json_t *rows = json_array();
    vec_each (struct verdict_counter, c, &v->counters)
        if (!c->line && json_array_size(rows) < MAX_COUNTERS)
            json_array_append_new(rows, json_pack("[o, o, o, o, o]", json_text(c->workload),
                                                  json_text(c->kernel), json_text(c->name),
                                                  json_text(c->unit), number(c->value)));
    return rows;
}

/* Returns the counters of each source line, added up over kernels and workloads:
 * {"12": {"warp_instructions": 640}}. */
static json_t *line_counters(const struct verdict *v)
{
    json_t *lines = json_object();
    size_t n = 0;
    vec_each (struct verdict_counter, c, &v->counters) {
        char line[16];
        if (!c->line || !isfinite(c->value) || n++ >= MAX_COUNTERS)
            continue;
        snprintf(line, sizeof line, "%u", c->line);
        json_t *at = json_object_get(lines, line);
        if (!at) {
            at = json_object();
            json_object_set_new(lines, line, at);
        }
        double sum = json_number_value(json_object_get(at, c->name)) + c->value;
        json_object_set_new(at, c->name, json_real(sum));
    }
    return lines;
}

static json_t *baselines(const struct verdict *v)
{
    json_t *rows = json_array();
    vec_each (struct verdict_baseline, b, &v->baselines)
        json_array_append_new(rows, json_pack("{s:o, s:o, s:o}", "who", json_text(b->who), "state",
                                              json_text(b->state), "text", note(b->text)));
    return rows;
}

static json_t *verdict(struct verdict *v)
{
    json_t *j = json_object(), *warnings = json_array();
    struct verdict_ratio r;
    verdict_plain_text(v);
    json_object_set_new(j, "kind", json_string(verdict_kind_name(v->kind)));
    json_object_set_new(j, "stage", json_text(v->stage));
    json_object_set_new(j, "detector", json_text(v->detector));
    json_object_set_new(j, "summary", note(v->summary));
    json_object_set_new(j, "detail", view_short_text(v->detail ? v->detail : ""));
    json_object_set_new(j, "time_ns", number(v->time_ns));
    json_object_set_new(j, "model", json_boolean(v->time_is_model));
    if (verdict_ratio(v, &r))
        json_object_set_new(j, "ratio",
                            json_pack("{s:o, s:f, s:f, s:f}", "who", json_text(r.who), "mid", r.mid,
                                      "lo", r.lo, "hi", r.hi));
    json_object_set_new(j, "bottleneck", note(v->bottleneck));
    json_object_set_new(j, "device", json_text(v->device));
    json_object_set_new(j, "compiler", json_text(v->compiler));
    json_object_set_new(j, "arch", json_text(v->arch));
    json_object_set_new(j, "seed", json_sprintf("%llu", (unsigned long long)v->seed));
    json_object_set_new(j, "workloads", workloads(v));
    json_object_set_new(j, "times", times(v));
    json_object_set_new(j, "findings", findings(v));
    json_object_set_new(j, "counters", counters(v));
    json_object_set_new(j, "lines", line_counters(v));
    json_object_set_new(j, "baselines", baselines(v));
    vec_each (const char *, w, &v->warnings)
        json_array_append_new(warnings, note(*w));
    json_object_set_new(j, "warnings", warnings);
    return j;
}

static void add_verdict(json_t *j, const char *key, struct store *s, int64_t run, int64_t index)
{
    struct verdict v;
    if (!view_verdict(s, run, index, &v))
        return;
    json_object_set_new(j, key, verdict(&v));
    verdict_release(&v);
}

static json_t *candidate(struct store *s, const struct run_rec *r, const struct node_rec *n)
{
    json_t *j = json_pack(
        "{s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:b}", "run", json_text(r->name), "task",
        view_short_text(r->task), "index", (json_int_t)n->index, "parent", (json_int_t)n->parent,
        "kind", json_text(n->kind), "fate", json_text(n->fate), "role", json_text(n->role), "stage",
        json_text(n->stage), "move", note(n->move), "best", (int64_t)n->index == r->best);
    view_set_blob(j, s, "source", n->source_sha);
    add_verdict(j, "verdict", s, r->id, n->verdict);
    add_verdict(j, "confirmation", s, r->id, (int64_t)(STORE_CONFIRM + n->index));
    json_object_set_new(j, "author", view_short_text(n->author));
    json_object_set_new(j, "call", view_author_call(s, r, n));
    return j;
}

json_t *view_candidate(struct store *s, const char *run, uint64_t n, struct err *err)
{
    struct node_rec_vec nodes = VEC_INIT;
    struct arena mem = ARENA_INIT;
    struct run_rec r;
    json_t *out = NULL;
    if (view_find_run(s, run, &r, &mem, err) == 0 &&
        store_node_page(s, r.id, n, 1, &nodes, &mem, err) == 0) {
        if (nodes.n && nodes.items[0].index == n)
            out = candidate(s, &r, &nodes.items[0]);
        else
            err_set(err, ERR_INPUT, "run '%s' has no candidate %llu", run, (unsigned long long)n);
    }
    vec_release(&nodes);
    arena_release(&mem);
    return out;
}
