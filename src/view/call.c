/*
 * call.c - author calls, and which of them wrote a candidate.
 *
 * The store does not say which call a candidate came from. But Hone made the candidate's source
 * from a reply and the parent's source, in the same way each time. So we take the call whose reply
 * gives exactly this source.
 */
#include <string.h>

#include "agent/extract.h"
#include "base/util.h"
#include "sys/hash.h"
#include "sys/json.h"
#include "view/parts.h"

enum { MAX_TRIES = 200, MAX_REPLY = 4 << 20 };

static bool reply_gives(struct store *s, const char *reply_sha, const char *parent,
                        const char *source_sha)
{
    struct strbuf reply = STRBUF_INIT(MAX_REPLY);
    struct extract x;
    char sha[HASH_HEX] = "";
    if (*reply_sha && store_blob_get(s, reply_sha, &reply, NULL) == 0) {
        extract_reply(&x, reply.buf, reply.len, parent);
        if (x.ok)
            hash_hex(x.source.buf, x.source.len, sha);
        extract_release(&x);
    }
    strbuf_release(&reply);
    return str_eq(sha, source_sha);
}

/* Appends the source of the parent; returns NULL if there is none. */
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

/* Calls and candidates of a role come in the same order, but some calls give no candidate. So the
 * wanted call is not before the candidate's rank among those of its role. Tries the calls from
 * there on, at most MAX_TRIES of them. */
static const struct call_rec *find_call(struct store *s, const struct call_rec_vec *calls,
                                        const struct node_rec *n, const char *parent, size_t rank)
{
    size_t tries = 0;
    vec_each (const struct call_rec, c, calls) {
        if (!str_eq(c->role, n->role) || c->index < rank || !c->ended)
            continue;
        if (tries++ >= MAX_TRIES)
            return NULL;
        if (reply_gives(s, c->reply_sha, parent, n->source_sha))
            return c;
    }
    return NULL;
}

json_t *view_author_call(struct store *s, const struct run_rec *r, const struct node_rec *n)
{
    struct strbuf parent = STRBUF_INIT(EXTRACT_MAX_SOURCE);
    struct node_rec_vec nodes = VEC_INIT;
    struct call_rec_vec calls = VEC_INIT;
    struct arena mem = ARENA_INIT;
    json_t *out = json_null();
    size_t rank = 0;
    if (store_call_list(s, r->id, &calls, &mem, NULL) == 0 &&
        store_node_list(s, r->id, &nodes, &mem, NULL) == 0) {
        vec_each (struct node_rec, o, &nodes)
            rank += o->index < n->index && str_eq(o->role, n->role);
        const char *from = parent_source(s, r->id, n, &parent);
        const struct call_rec *c = find_call(s, &calls, n, from, rank);
        if (c)
            out =
                json_pack("{s:o, s:I}", "role", json_text(c->role), "index", (json_int_t)c->index);
    }
    vec_release(&calls);
    vec_release(&nodes);
    strbuf_release(&parent);
    arena_release(&mem);
    return out;
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
