/*
 * call.c - shows one author call, and finds the call that wrote a candidate.
 *
 * The store does not say which call wrote a candidate. But a reply and the parent's source always
 * give the same source. So we take the first call whose reply, or one move of it, gives this
 * source.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/config.h"
#include "agent/extract.h"
#include "base/util.h"
#include "sys/hash.h"
#include "sys/json.h"
#include "view/queries.h"

enum { MAX_TRIES = 200, MAX_REPLY = 4 << 20 };

static bool text_gives(const char *text, size_t len, const char *parent, const char *source_sha)
{
    struct extract x;
    char sha[HASH_HEX] = "";
    extract_reply(&x, text, len, parent);
    if (x.ok)
        hash_hex(x.source.buf, x.source.len, sha);
    extract_release(&x);
    return str_eq(sha, source_sha);
}

/* Returns whether the reply, or one of its moves, gives this source. `moves`: how many moves a
 * reply may have. */
static bool reply_gives(struct store *s, const char *reply_sha, uint64_t moves, const char *parent,
                        const char *source_sha)
{
    struct strbuf reply = STRBUF_INIT(MAX_REPLY);
    bool gives = false;
    char *text;
    if (*reply_sha && store_blob_get(s, reply_sha, &reply, NULL) == 0) {
        gives = text_gives(reply.buf, reply.len, parent, source_sha);
        for (size_t i = 0; moves > 1 && i < moves && !gives && (text = reply_move(reply.buf, i));
             i++) {
            gives = text_gives(text, strlen(text), parent, source_sha);
            free(text);
        }
    }
    strbuf_release(&reply);
    return gives;
}

/* Returns how many moves each prompt of the run asks for (`--moves`). */
static uint64_t moves_of(const struct run_rec *r)
{
    json_t *config = json_read_text(r->config, strlen(r->config), "config", NULL, NULL);
    json_int_t moves = json_integer_value(json_object_get(config, "moves"));
    json_decref(config);
    return (uint64_t)MIN(MAX(moves, 1), RUN_MAX_MOVES);
}

/* Returns the source of the parent of n, or NULL if there is no parent. The text lives in `out`. */
static const char *parent_source(struct store *s, int64_t run, const struct node_rec *n,
                                 struct strbuf *out)
{
    struct node_rec_vec nodes = VEC_INIT;
    struct arena mem = ARENA_INIT;
    if (n->parent >= 0)
        store_node_page(s, run, (uint64_t)n->parent, 1, &nodes, &mem, NULL);
    bool found = nodes.n && (int64_t)nodes.items[0].index == n->parent &&
                 store_blob_get(s, nodes.items[0].source_sha, out, NULL) == 0;
    vec_release(&nodes);
    arena_release(&mem);
    return found ? out->buf : NULL;
}

/*
 * Calls and candidates of a role are numbered in the same order. Some calls give no candidate, and
 * none gives more than `moves`. So candidate number k of a role comes from call number k / moves or
 * a later one. We try at most MAX_TRIES calls.
 */
json_t *view_author_call(struct store *s, const struct run_rec *r, const struct node_rec *n)
{
    struct strbuf parent = STRBUF_INIT(EXTRACT_MAX_SOURCE);
    struct call_rec_vec calls = VEC_INIT;
    struct arena mem = ARENA_INIT;
    json_t *out = NULL;
    uint64_t rank = 0, moves = moves_of(r);
    char empty[HASH_HEX];
    hash_hex("", 0, empty); /* the hash of the candidate's source if Hone refused the reply */
    if (!str_eq(n->source_sha, empty) &&
        store_node_rank(s, r->id, n->role, n->index, &rank, NULL) == 0 &&
        store_call_page(s, r->id, n->role, rank / moves, MAX_TRIES, &calls, &mem, NULL) == 0) {
        const char *from = parent_source(s, r->id, n, &parent);
        for (size_t i = 0; i < calls.n && !out; i++)
            if (calls.items[i].ended &&
                reply_gives(s, calls.items[i].reply_sha, moves, from, n->source_sha))
                out = json_pack("{s:o, s:I}", "role", json_text(n->role), "index",
                                (json_int_t)calls.items[i].index);
    }
    vec_release(&calls);
    strbuf_release(&parent);
    arena_release(&mem);
    return out ? out : json_null();
}

static json_t *call(struct store *s, const struct call_rec *c)
{
    json_t *j = json_object();
    json_object_set_new(j, "role", json_text(c->role));
    json_object_set_new(j, "index", json_integer((json_int_t)c->index));
    json_object_set_new(j, "author", view_short_text(c->author));
    json_object_set_new(j, "model", json_text(c->model));
    json_object_set_new(j, "ended", json_boolean(c->ended));
    json_object_set_new(j, "ok", json_boolean(c->ok));
    json_object_set_new(j, "in_tokens", json_integer((json_int_t)c->in_tokens));
    json_object_set_new(j, "cached_tokens", json_integer((json_int_t)c->cached_tokens));
    json_object_set_new(j, "out_tokens", json_integer((json_int_t)c->out_tokens));
    json_object_set_new(j, "estimated", json_boolean(c->estimated));
    json_object_set_new(j, "usd", json_real(c->usd));
    json_object_set_new(j, "seconds", json_real((double)c->latency_ns / 1e9));
    json_object_set_new(j, "error", view_short_text(c->error));
    json_object_set_new(j, "notes", view_short_text(c->notes));
    view_set_blob(j, s, "stable", c->stable_sha);
    view_set_blob(j, s, "turn", c->turn_sha);
    view_set_blob(j, s, "reply", c->reply_sha);
    return j;
}

json_t *view_call(struct store *s, const char *run, const char *role, uint64_t n, struct err *err)
{
    struct arena mem = ARENA_INIT;
    struct run_rec r;
    struct call_rec c;
    json_t *out = NULL;
    if (view_find_run(s, run, &r, &mem, err) == 0) {
        int found = store_call_get(s, r.id, role, n, &c, &mem, err);
        if (found == 1)
            out = call(s, &c);
        else if (found == 0)
            err_set(err, ERR_INPUT, "run '%s' has no call %s/%llu", run, role,
                    (unsigned long long)n);
    }
    arena_release(&mem);
    return out;
}
