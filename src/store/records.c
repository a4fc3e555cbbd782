/* records.c - writes and reads the calls, verdicts, nodes, ideas and events of a run. store.h
 * explains these records. */
#include "base/util.h"
#include "store/sql.h"
#include "store/store.h"

/* ---- calls ---------------------------------------------------------------------------------- */

int store_call_begin(struct store *s, int64_t run, const struct call_rec *c, struct err *err)
{
    struct stmt q = sql_begin(s,
                              "INSERT INTO call(run, role, idx, author, prompt_sha, stable_sha, "
                              "turn_sha, at_ms) VALUES(?, ?, ?, ?, ?, ?, ?, ?) "
                              "ON CONFLICT DO NOTHING",
                              err);
    sql_int(&q, run);
    sql_text(&q, c->role);
    sql_int(&q, (int64_t)c->index);
    sql_text(&q, c->author);
    sql_text(&q, c->prompt_sha);
    sql_text(&q, c->stable_sha);
    sql_text(&q, c->turn_sha);
    sql_int(&q, unix_time_ms());
    return sql_write(&q);
}

int store_call_handle(struct store *s, int64_t run, const char *role, uint64_t index,
                      const char *handle, struct err *err)
{
    struct stmt q =
        sql_begin(s, "UPDATE call SET handle = ? WHERE run = ? AND role = ? AND idx = ?", err);
    sql_text(&q, handle);
    sql_int(&q, run);
    sql_text(&q, role);
    sql_int(&q, (int64_t)index);
    return sql_write(&q);
}

int store_call_end(struct store *s, int64_t run, const struct call_rec *c, struct err *err)
{
    struct stmt q = sql_begin(
        s,
        "UPDATE call SET ended = ?, ok = ?, author = coalesce(?, author), model = ?, reply_sha = "
        "?, in_tokens = ?, "
        "cached_tokens = ?, cache_write_tokens = ?, out_tokens = ?, estimated = ?, drift = ?, "
        "usd = ?, latency_ns = ?, requests = ?, continued = ?, finish = ?, error = ?, notes = ?, "
        "at_ms = ? WHERE run = ? AND role = ? AND idx = ? AND ended = 0",
        err);
    sql_int(&q, c->ended);
    sql_int(&q, c->ok);
    sql_text_opt(&q, c->author);
    sql_text(&q, c->model);
    sql_text_opt(&q, c->reply_sha);
    sql_int(&q, (int64_t)c->in_tokens);
    sql_int(&q, (int64_t)c->cached_tokens);
    sql_int(&q, (int64_t)c->cache_write_tokens);
    sql_int(&q, (int64_t)c->out_tokens);
    sql_int(&q, c->estimated);
    sql_int(&q, c->drift);
    sql_real(&q, c->usd);
    sql_int(&q, (int64_t)c->latency_ns);
    sql_int(&q, c->requests);
    sql_int(&q, c->continued);
    sql_text(&q, c->finish);
    sql_text(&q, c->error);
    sql_text(&q, c->notes);
    sql_int(&q, unix_time_ms());
    sql_int(&q, run);
    sql_text(&q, c->role);
    sql_int(&q, (int64_t)c->index);
    return sql_write(&q);
}

#define CALL_COLUMNS                                                                            \
    "SELECT role, idx, ended, ok, author, model, prompt_sha, stable_sha, turn_sha, reply_sha, " \
    "in_tokens, cached_tokens, cache_write_tokens, out_tokens, estimated, drift, usd, "         \
    "latency_ns, "                                                                              \
    "requests, continued, finish, handle, error, notes, at_ms FROM call "

static void read_call(struct stmt *q, struct call_rec *c, struct arena *a)
{
    c->role = sql_get_text(q, 0, a);
    c->index = (uint64_t)sql_get_int(q, 1);
    c->ended = sql_get_int(q, 2) == 1;
    c->ok = sql_get_int(q, 3) == 1;
    c->author = sql_get_text(q, 4, a);
    c->model = sql_get_text(q, 5, a);
    c->prompt_sha = sql_get_text(q, 6, a);
    c->stable_sha = sql_get_text(q, 7, a);
    c->turn_sha = sql_get_text(q, 8, a);
    c->reply_sha = sql_get_text(q, 9, a);
    c->in_tokens = (uint64_t)sql_get_int(q, 10);
    c->cached_tokens = (uint64_t)sql_get_int(q, 11);
    c->cache_write_tokens = (uint64_t)sql_get_int(q, 12);
    c->out_tokens = (uint64_t)sql_get_int(q, 13);
    c->estimated = sql_get_int(q, 14) == 1;
    c->drift = sql_get_int(q, 15) == 1;
    c->usd = sql_get_real(q, 16);
    c->latency_ns = (uint64_t)sql_get_int(q, 17);
    c->requests = (uint32_t)sql_get_int(q, 18);
    c->continued = (uint32_t)sql_get_int(q, 19);
    c->finish = sql_get_text(q, 20, a);
    c->handle = sql_get_text(q, 21, a);
    c->error = sql_get_text(q, 22, a);
    c->notes = sql_get_text(q, 23, a);
    c->at_ms = sql_get_int(q, 24);
}

int store_call_get(struct store *s, int64_t run, const char *role, uint64_t index,
                   struct call_rec *out, struct arena *a, struct err *err)
{
    struct stmt q = sql_begin(s, CALL_COLUMNS "WHERE run = ? AND role = ? AND idx = ?", err);
    sql_int(&q, run);
    sql_text(&q, role);
    sql_int(&q, (int64_t)index);
    bool found = sql_row(&q);
    if (found)
        read_call(&q, out, a);
    return sql_end(&q) < 0 ? -1 : found;
}

int store_call_list(struct store *s, int64_t run, struct call_rec_vec *out, struct arena *a,
                    struct err *err)
{
    struct stmt q = sql_begin(s, CALL_COLUMNS "WHERE run = ? ORDER BY at_ms, role, idx", err);
    sql_int(&q, run);
    while (sql_row(&q))
        read_call(&q, vec_push(out), a);
    return sql_end(&q);
}

int store_call_page(struct store *s, int64_t run, const char *role, uint64_t from, int64_t limit,
                    struct call_rec_vec *out, struct arena *a, struct err *err)
{
    struct stmt q = sql_begin(
        s, CALL_COLUMNS "WHERE run = ? AND role = ? AND idx >= ? ORDER BY idx LIMIT ?", err);
    sql_int(&q, run);
    sql_text(&q, role);
    sql_int(&q, (int64_t)MIN(from, (uint64_t)INT64_MAX));
    sql_int(&q, limit);
    while (sql_row(&q))
        read_call(&q, vec_push(out), a);
    return sql_end(&q);
}

/* ---- verdicts ------------------------------------------------------------------------------- */

int store_verdict_put(struct store *s, int64_t run, const struct verdict_rec *v, struct err *err)
{
    struct stmt q = sql_begin(s,
                              "INSERT INTO verdict(run, idx, source_sha, json_sha, kind, score, "
                              "time_ns, speedup, at_ms) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) "
                              "ON CONFLICT DO NOTHING",
                              err);
    sql_int(&q, run);
    sql_int(&q, (int64_t)v->index);
    sql_text(&q, v->source_sha);
    sql_text(&q, v->json_sha);
    sql_text(&q, v->kind);
    sql_real(&q, v->score);
    sql_real(&q, v->time_ns);
    sql_real(&q, v->speedup);
    sql_int(&q, unix_time_ms());
    return sql_write(&q);
}

#define VERDICT_COLUMNS \
    "SELECT idx, source_sha, json_sha, kind, score, time_ns, speedup, at_ms FROM verdict "

static void read_verdict(struct stmt *q, struct verdict_rec *v, struct arena *a)
{
    v->index = (uint64_t)sql_get_int(q, 0);
    v->source_sha = sql_get_text(q, 1, a);
    v->json_sha = sql_get_text(q, 2, a);
    v->kind = sql_get_text(q, 3, a);
    v->score = sql_get_real(q, 4);
    v->time_ns = sql_get_real(q, 5);
    v->speedup = sql_get_real(q, 6);
    v->at_ms = sql_get_int(q, 7);
}

int store_verdict_get(struct store *s, int64_t run, uint64_t index, struct verdict_rec *out,
                      struct arena *a, struct err *err)
{
    struct stmt q = sql_begin(s, VERDICT_COLUMNS "WHERE run = ? AND idx = ?", err);
    sql_int(&q, run);
    sql_int(&q, (int64_t)index);
    bool found = sql_row(&q);
    if (found)
        read_verdict(&q, out, a);
    return sql_end(&q) < 0 ? -1 : found;
}

int store_verdict_list(struct store *s, int64_t run, struct verdict_rec_vec *out, struct arena *a,
                       struct err *err)
{
    struct stmt q = sql_begin(s, VERDICT_COLUMNS "WHERE run = ? ORDER BY idx", err);
    sql_int(&q, run);
    while (sql_row(&q))
        read_verdict(&q, vec_push(out), a);
    return sql_end(&q);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

int store_node_put(struct store *s, int64_t run, const struct node_rec *n, struct err *err)
{
    struct stmt q = sql_begin(
        s,
        "INSERT INTO node(run, idx, parent, verdict, source_sha, role, stage, move, fate, kind, "
        "time_ns, speedup, roofline_pct, is_model, author) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
        "?, ?, ?, ?) ON CONFLICT DO UPDATE SET verdict = excluded.verdict, fate = excluded.fate, "
        "kind = "
        "excluded.kind, time_ns = excluded.time_ns, speedup = excluded.speedup, roofline_pct = "
        "excluded.roofline_pct, is_model = excluded.is_model, author = excluded.author",
        err);
    sql_int(&q, run);
    sql_int(&q, (int64_t)n->index);
    sql_opt(&q, n->parent);
    sql_opt(&q, n->verdict);
    sql_text(&q, n->source_sha);
    sql_text(&q, n->role);
    sql_text(&q, n->stage);
    sql_text(&q, n->move);
    sql_text(&q, n->fate);
    sql_text(&q, n->kind);
    sql_real(&q, n->time_ns);
    sql_real(&q, n->speedup);
    sql_real(&q, n->roofline_pct);
    sql_int(&q, n->is_model);
    sql_text(&q, n->author ? n->author : "");
    return sql_write(&q);
}

int store_node_page(struct store *s, int64_t run, uint64_t from, int64_t limit,
                    struct node_rec_vec *out, struct arena *a, struct err *err)
{
    struct stmt q = sql_begin(s,
                              "SELECT idx, parent, verdict, source_sha, role, stage, move, fate, "
                              "kind, time_ns, speedup, roofline_pct, is_model, author FROM node "
                              "WHERE run = ? AND idx >= ? ORDER BY idx LIMIT ?",
                              err);
    sql_int(&q, run);
    sql_int(&q, (int64_t)MIN(from, (uint64_t)INT64_MAX));
    sql_int(&q, limit);
    while (sql_row(&q)) {
        struct node_rec *n = vec_push(out);
        n->index = (uint64_t)sql_get_int(&q, 0);
        n->parent = sql_get_int(&q, 1);
        n->verdict = sql_get_int(&q, 2);
        n->source_sha = sql_get_text(&q, 3, a);
        n->role = sql_get_text(&q, 4, a);
        n->stage = sql_get_text(&q, 5, a);
        n->move = sql_get_text(&q, 6, a);
        n->fate = sql_get_text(&q, 7, a);
        n->kind = sql_get_text(&q, 8, a);
        n->time_ns = sql_get_real(&q, 9);
        n->speedup = sql_get_real(&q, 10);
        n->roofline_pct = sql_get_real(&q, 11);
        n->is_model = sql_get_int(&q, 12) == 1;
        n->author = sql_get_text(&q, 13, a);
    }
    return sql_end(&q);
}

int store_node_rank(struct store *s, int64_t run, const char *role, uint64_t index, uint64_t *rank,
                    struct err *err)
{
    struct stmt q =
        sql_begin(s, "SELECT count(*) FROM node WHERE run = ? AND idx < ? AND role = ?", err);
    sql_int(&q, run);
    sql_int(&q, (int64_t)MIN(index, (uint64_t)INT64_MAX));
    sql_text(&q, role);
    if (sql_row(&q))
        *rank = (uint64_t)sql_get_int(&q, 0);
    return sql_end(&q);
}

int store_node_list(struct store *s, int64_t run, struct node_rec_vec *out, struct arena *a,
                    struct err *err)
{
    return store_node_page(s, run, 0, -1, out, a, err);
}

/* ---- ideas and events ----------------------------------------------------------------------- */

int store_idea_put(struct store *s, int64_t run, const struct idea_rec *i, struct err *err)
{
    struct stmt q = sql_begin(s,
                              "INSERT INTO idea(run, idx, node, kind, text, outcome, gain) "
                              "VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET node = "
                              "excluded.node, outcome = excluded.outcome, gain = excluded.gain",
                              err);
    sql_int(&q, run);
    sql_int(&q, (int64_t)i->index);
    sql_opt(&q, i->node);
    sql_text(&q, i->kind);
    sql_text(&q, i->text);
    sql_text(&q, i->outcome);
    sql_real(&q, i->gain);
    return sql_write(&q);
}

int store_idea_list(struct store *s, int64_t run, struct idea_rec_vec *out, struct arena *a,
                    struct err *err)
{
    struct stmt q = sql_begin(s,
                              "SELECT idx, node, kind, text, outcome, gain FROM idea "
                              "WHERE run = ? ORDER BY idx",
                              err);
    sql_int(&q, run);
    while (sql_row(&q)) {
        struct idea_rec *i = vec_push(out);
        i->index = (uint64_t)sql_get_int(&q, 0);
        i->node = sql_get_int(&q, 1);
        i->kind = sql_get_text(&q, 2, a);
        i->text = sql_get_text(&q, 3, a);
        i->outcome = sql_get_text(&q, 4, a);
        i->gain = sql_get_real(&q, 5);
    }
    return sql_end(&q);
}

int store_event_put(struct store *s, int64_t run, const char *key, const char *kind,
                    const char *text, struct err *err)
{
    struct stmt q = sql_begin(s,
                              "INSERT INTO event(run, key, kind, text, at_ms) "
                              "VALUES(?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                              err);
    sql_int(&q, run);
    sql_text(&q, key);
    sql_text(&q, kind);
    sql_text(&q, text);
    sql_int(&q, unix_time_ms());
    return sql_write(&q);
}

int store_event_list(struct store *s, int64_t run, struct event_rec_vec *out, struct arena *a,
                     struct err *err)
{
    struct stmt q = sql_begin(
        s, "SELECT key, kind, text, at_ms FROM event WHERE run = ? ORDER BY at_ms, key", err);
    sql_int(&q, run);
    while (sql_row(&q)) {
        struct event_rec *e = vec_push(out);
        e->key = sql_get_text(&q, 0, a);
        e->kind = sql_get_text(&q, 1, a);
        e->text = sql_get_text(&q, 2, a);
        e->at_ms = sql_get_int(&q, 3);
    }
    return sql_end(&q);
}
