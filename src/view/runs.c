/* runs.c - answers two queries: for the list of runs, and for the rows of a run's candidates. */
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "base/util.h"
#include "sys/json.h"
#include "view/queries.h"

int view_verdict(struct store *s, int64_t run, int64_t index, struct verdict *out)
{
    struct strbuf sb = STRBUF_INIT(16u << 20);
    struct arena mem = ARENA_INIT;
    struct verdict_rec r;
    json_t *j = NULL;
    int found = 0;
    if (index >= 0 && store_verdict_get(s, run, (uint64_t)index, &r, &mem, NULL) == 1 &&
        store_blob_get(s, r.json_sha, &sb, NULL) == 0 &&
        (j = json_read_text(sb.buf, sb.len, "verdict", NULL, NULL)))
        found = verdict_from_json(out, j, NULL) == 0;
    json_decref(j);
    strbuf_release(&sb);
    arena_release(&mem);
    return found;
}

static void set(json_t *j, const char *key, json_t *value)
{
    json_object_set_new(j, key, value);
}

/* Adds the device of the run's best candidate, and the candidate's speedup over the first baseline
 * (struct verdict_ratio). Only the candidate's verdict has them. */
static void add_best(json_t *j, struct store *s, const struct run_rec *r)
{
    struct node_rec_vec nodes = VEC_INIT;
    struct arena mem = ARENA_INIT;
    struct verdict v;
    struct verdict_ratio ratio;
    if (r->best >= 0)
        store_node_page(s, r->id, (uint64_t)r->best, 1, &nodes, &mem, NULL);
    if (nodes.n && (int64_t)nodes.items[0].index == r->best &&
        view_verdict(s, r->id, nodes.items[0].verdict, &v)) {
        set(j, "device", json_text(v.device));
        if (verdict_ratio(&v, &ratio))
            set(j, "ratio",
                json_pack("{s:o, s:f, s:f, s:f}", "who", json_text(ratio.who), "mid", ratio.mid,
                          "lo", ratio.lo, "hi", ratio.hi));
        verdict_release(&v);
    }
    vec_release(&nodes);
    arena_release(&mem);
}

json_t *view_run_row(struct store *s, const struct run_rec *r)
{
    json_t *j = json_object();
    set(j, "run", json_text(r->name));
    set(j, "task", view_short_text(r->task));
    set(j, "strategy", json_text(r->strategy));
    set(j, "state", json_text(store_run_state(s, r)));
    set(j, "reason", view_short_text(r->reason));
    set(j, "author", view_short_text(r->written_by));
    set(j, "created_ms", json_integer(r->created_ms));
    set(j, "updated_ms", json_integer(r->updated_ms));
    set(j, "wall_s", json_real((double)r->wall_ns / 1e9));
    set(j, "candidates", json_integer((json_int_t)r->nodes));
    set(j, "passes", json_integer((json_int_t)r->passes));
    set(j, "calls", json_integer((json_int_t)r->calls));
    set(j, "tokens", json_integer((json_int_t)r->in_tokens + (json_int_t)r->out_tokens));
    set(j, "usd", json_real(r->usd));
    set(j, "best", json_integer(r->best));
    set(j, "best_time_ns", json_real(r->best_time_ns));
    set(j, "model", json_boolean(r->best_is_model));
    add_best(j, s, r);
    return j;
}

json_t *view_runs(struct store *s, int64_t before, struct err *err)
{
    struct run_rec_vec list = VEC_INIT;
    struct arena mem = ARENA_INIT;
    json_t *out = NULL;
    if (store_run_page(s, before, VIEW_RUNS_PAGE, &list, &mem, err) == 0) {
        json_t *rows = json_array();
        vec_each (struct run_rec, r, &list)
            json_array_append_new(rows, view_run_row(s, r));
        out = json_pack("{s:o}", "runs", rows);
        if (list.n == VIEW_RUNS_PAGE)
            set(out, "next", json_integer(list.items[list.n - 1].id));
    }
    vec_release(&list);
    arena_release(&mem);
    return out;
}

/* ---- candidates as rows --------------------------------------------------------------------- */

static json_t *short_move(const char *move)
{
    char cut[VIEW_MAX_MOVE + 1];
    snprintf(cut, sizeof cut, "%s", move);
    utf8_trim(cut);
    return view_short_text(cut);
}

/* Returns the row of a candidate. It is an array without keys, because a run can have thousands of
 * rows. `columns` of the answer names the columns. */
static json_t *point(const struct node_rec *n)
{
    return json_pack("[I, I, o, o, o, o, o, f, f, f, b]", (json_int_t)n->index,
                     (json_int_t)n->parent, json_text(n->kind), json_text(n->fate),
                     json_text(n->role), json_text(n->stage), short_move(n->move), n->time_ns,
                     n->speedup, n->roofline_pct, n->is_model);
}

json_t *view_points(struct store *s, const char *run, uint64_t from, struct err *err)
{
    struct node_rec_vec nodes = VEC_INIT;
    struct arena mem = ARENA_INIT;
    struct run_rec r;
    json_t *out = NULL;
    if (view_find_run(s, run, &r, &mem, err) == 0 &&
        store_node_page(s, r.id, from, VIEW_POINTS_PAGE, &nodes, &mem, err) == 0) {
        json_t *rows = json_array();
        vec_each (struct node_rec, n, &nodes)
            json_array_append_new(rows, point(n));
        out = json_pack("{s:[s,s,s,s,s,s,s,s,s,s,s], s:o}", "columns", "index", "parent", "kind",
                        "fate", "role", "stage", "move", "time_ns", "speedup", "roofline_pct",
                        "model", "rows", rows);
        if (nodes.n == VIEW_POINTS_PAGE)
            set(out, "next", json_integer((json_int_t)nodes.items[nodes.n - 1].index + 1));
    }
    vec_release(&nodes);
    arena_release(&mem);
    return out;
}
