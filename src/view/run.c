/* run.c - answers the query for the summary of one run. */
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "job/torch_variants.h"
#include "sys/json.h"
#include "view/queries.h"

enum { MAX_IDEAS = 300, MAX_EVENTS = 200, MAX_CALLS = 2000, MAX_WORDS = 400 };

static json_t *words(const char *text)
{
    char *cut = xstrndup(text, strnlen(text, MAX_WORDS));
    json_t *j = view_short_text(cut);
    free(cut);
    return j;
}

/* Returns the geometric mean, over the shapes, of the times of `who`. Returns 0 if there are
 * none. */
static double mean_time(const struct verdict *v, const char *who, bool *is_model)
{
    double sum = 0;
    unsigned n = 0;
    vec_each (struct verdict_time, t, &v->times) {
        if (!str_eq(t->who, who) || !(t->median_ns > 0))
            continue;
        sum += log(t->median_ns);
        *is_model = t->is_model;
        n++;
    }
    return n ? exp(sum / n) : 0;
}

static bool listed(const json_t *rows, const char *who)
{
    size_t i;
    json_t *row;
    json_array_foreach(
        rows, i, row) if (str_eq(json_string_value(json_object_get(row, "who")), who)) return true;
    return false;
}

/* Adds a row for each baseline that has times. Variants of PyTorch that only ran beside the
 * baselines get no row. */
static void add_baselines(json_t *rows, const struct verdict *v)
{
    vec_each (struct verdict_time, t, &v->times) {
        bool is_model = false;
        double ns = mean_time(v, t->who, &is_model);
        if (str_eq(t->who, "candidate") || contender_is_beside(t->who) || ns <= 0 ||
            listed(rows, t->who))
            continue;
        json_array_append_new(rows, json_pack("{s:o, s:f, s:b}", "who", json_text(t->who),
                                              "time_ns", ns, "model", is_model));
    }
}

static json_t *baselines(struct store *s, const struct run_summary *m)
{
    json_t *rows = json_array();
    struct verdict v;
    if (m->has_with_torch)
        add_baselines(rows, &m->with_torch);
    else if (m->best && view_verdict(s, m->run.id, m->best->verdict, &v)) {
        add_baselines(rows, &v);
        verdict_release(&v);
    }
    return rows;
}

static json_t *ideas(const struct run_summary *m)
{
    json_t *rows = json_array();
    size_t first = m->ideas.n > MAX_IDEAS ? m->ideas.n - MAX_IDEAS : 0;
    for (size_t k = first; k < m->ideas.n; k++) {
        const struct idea_rec *i = &m->ideas.items[k];
        json_array_append_new(rows,
                              json_pack("{s:o, s:o, s:o, s:I, s:f}", "kind", json_text(i->kind),
                                        "text", words(i->text), "outcome", json_text(i->outcome),
                                        "node", (json_int_t)i->node, "gain", i->gain));
    }
    return rows;
}

/* Returns a row for each of the newest MAX_CALLS calls: role, index, ok, tokens in, tokens out,
 * dollars, seconds, Unix time in milliseconds. */
static json_t *calls(const struct run_summary *m)
{
    json_t *rows = json_array();
    size_t first = m->calls.n > MAX_CALLS ? m->calls.n - MAX_CALLS : 0;
    for (size_t k = first; k < m->calls.n; k++) {
        const struct call_rec *c = &m->calls.items[k];
        json_array_append_new(rows, json_pack("[o, I, b, I, I, f, f, I]", json_text(c->role),
                                              (json_int_t)c->index, c->ok, (json_int_t)c->in_tokens,
                                              (json_int_t)c->out_tokens, MAX(c->usd, 0),
                                              (double)c->latency_ns / 1e9, (json_int_t)c->at_ms));
    }
    return rows;
}

static json_t *events(const struct run_summary *m)
{
    json_t *rows = json_array();
    size_t first = m->events.n > MAX_EVENTS ? m->events.n - MAX_EVENTS : 0;
    for (size_t k = first; k < m->events.n; k++)
        json_array_append_new(rows,
                              json_pack("{s:o, s:o}", "kind", json_text(m->events.items[k].kind),
                                        "text", words(m->events.items[k].text)));
    return rows;
}

static json_t *config(const struct run_summary *m)
{
    json_t *j = json_read_text(m->run.config, strlen(m->run.config), "config", NULL, NULL);
    json_t *out = j ? view_short_json(j) : json_object();
    json_object_del(out, "from"); /* the whole text of a starting kernel */
    json_decref(j);
    return out;
}

json_t *view_run(struct store *s, const char *run, struct err *err)
{
    struct run_summary m;
    struct run_rec r;
    struct arena mem = ARENA_INIT;
    int rc = view_find_run(s, run, &r, &mem, err);
    arena_release(&mem);
    if (rc < 0 || run_summary_load(&m, s, run, err) < 0)
        return NULL;
    json_t *all = run_summary_json(&m);
    json_object_del(all, "nodes"); /* the query `points` has them */
    json_t *out = view_short_json(all);
    json_decref(all);
    json_t *row = view_run_row(s, &m.run);
    json_object_update(out, row);
    json_decref(row);
    json_object_set_new(out, "timed_shapes", json_integer(m.timed_shapes));
    json_object_set_new(out, "baseline_times", baselines(s, &m));
    json_object_set_new(out, "roofline", view_roofline(s, &m));
    json_object_set_new(out, "ideas", ideas(&m));
    json_object_set_new(out, "calls_list", calls(&m));
    json_object_set_new(out, "events", events(&m));
    json_object_set_new(out, "config", config(&m));
    run_summary_release(&m);
    return out;
}
