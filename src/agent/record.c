/* record.c - writes a run as a recording, and compares a replay with it. See record.h. */
#include "agent/record.h"

#include <stdlib.h>
#include <string.h>

#include "author/author.h"
#include "base/util.h"
#include "sys/file.h"
#include "sys/json.h"

#define NOT_INCLUDED "(the original is not part of the recording)"

static void add_line(struct strbuf *out, json_t *j)
{
    json_add_text(out, j, false);
    strbuf_addc(out, '\n');
    json_decref(j);
}

static json_t *run_json(const struct run_rec *r, struct err *err)
{
    json_t *config = json_read_text(r->config, strlen(r->config), "config", NULL, err);
    if (!config)
        return NULL;
    const char *from = json_string_value(json_object_get(config, "from"));
    if (from && *from && !strstr(from, "hone-plan"))
        json_object_set_new(config, "from", json_string(NOT_INCLUDED));
    return json_pack("{s:i, s:{s:s, s:o, s:s, s:s, s:o, s:o}}", "hone-replay", REPLAY_VERSION,
                     "run", "name", r->name, "task", json_text(r->task), "strategy", r->strategy,
                     "state", r->state, "written_by", json_text(r->written_by), "config", config);
}

static int export_calls(struct store *s, int64_t run, struct strbuf *out, struct arena *a,
                        struct err *err)
{
    struct call_rec_vec calls = VEC_INIT;
    int rc = store_call_list(s, run, &calls, a, err);
    vec_each (struct call_rec, c, &calls) {
        struct strbuf reply = STRBUF_INIT(AUTHOR_MAX_REPLY);
        if (rc < 0 || !c->ended)
            continue;
        if (*c->reply_sha)
            rc = store_blob_get(s, c->reply_sha, &reply, err);
        json_t *j =
            json_pack("{s:{s:s, s:I, s:s, s:o, s:o, s:I, s:I, s:I, s:b, s:I}}", "call", "role",
                      c->role, "index", (json_int_t)c->index, "prompt_sha", c->prompt_sha, "model",
                      json_text(c->model), "reply", json_text(reply.buf), "in_tokens",
                      (json_int_t)c->in_tokens, "cached_tokens", (json_int_t)c->cached_tokens,
                      "out_tokens", (json_int_t)c->out_tokens, "estimated", c->estimated,
                      "latency_ns", (json_int_t)c->latency_ns);
        if (!c->ok)
            json_object_set_new(json_object_get(j, "call"), "error", json_text(c->error));
        add_line(out, j);
        strbuf_release(&reply);
    }
    vec_release(&calls);
    return rc;
}

static int export_verdicts(struct store *s, int64_t run, struct strbuf *out, struct arena *a,
                           struct err *err)
{
    struct verdict_rec_vec list = VEC_INIT;
    int rc = store_verdict_list(s, run, &list, a, err);
    vec_each (struct verdict_rec, v, &list) {
        struct strbuf text = STRBUF_INIT(16u << 20);
        json_t *j = NULL;
        if (rc == 0 && store_blob_get(s, v->json_sha, &text, err) == 0)
            j = json_read_text(text.buf, text.len, "verdict", NULL, err);
        if (!j)
            rc = -1;
        else
            add_line(out, json_pack("{s:{s:I, s:s, s:o}}", "verdict", "index", (json_int_t)v->index,
                                    "source_sha", v->source_sha, "verdict", j));
        strbuf_release(&text);
    }
    vec_release(&list);
    return rc;
}

static json_t *node_json(const struct node_rec *n)
{
    return json_pack("{s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:o}", "index", (json_int_t)n->index,
                     "parent", (json_int_t)n->parent, "verdict", (json_int_t)n->verdict,
                     "source_sha", n->source_sha, "role", n->role, "stage", n->stage, "kind",
                     n->kind, "fate", n->fate, "move", json_text(n->move));
}

static int export_nodes(struct store *s, int64_t run, struct strbuf *out, struct arena *a,
                        struct err *err)
{
    struct node_rec_vec nodes = VEC_INIT;
    int rc = store_node_list(s, run, &nodes, a, err);
    vec_each (struct node_rec, n, &nodes)
        add_line(out, json_pack("{s:o}", "node", node_json(n)));
    vec_release(&nodes);
    return rc;
}

int record_export(struct store *s, const char *which, const char *path, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct run_rec r;
    struct strbuf out = STRBUF_INIT(REPLAY_MAX_BYTES);
    json_t *head = NULL;
    int rc = store_run_find(s, which, &r, &a, err);
    if (rc == 0 && (head = run_json(&r, err)))
        add_line(&out, head);
    if (!head)
        rc = -1;
    if (rc == 0 && export_calls(s, r.id, &out, &a, err) == 0 &&
        export_verdicts(s, r.id, &out, &a, err) == 0 && export_nodes(s, r.id, &out, &a, err) == 0)
        rc = out.truncated ? err_set(err, ERR_LIMIT, "the recording would be larger than %u bytes",
                                     REPLAY_MAX_BYTES)
                           : file_write(path, out.buf, out.len, err);
    else
        rc = -1;
    strbuf_release(&out);
    arena_release(&a);
    return rc;
}

int record_compare(struct store *s, int64_t run, const struct replay *r, struct strbuf *out,
                   struct err *err)
{
    struct arena a = ARENA_INIT;
    struct node_rec_vec nodes = VEC_INIT;
    static const char *const keys[] = {"parent", "verdict", "source_sha", "role",
                                       "stage",  "kind",    "fate"};
    int differ = 0;
    if (store_node_list(s, run, &nodes, &a, err) < 0) {
        vec_release(&nodes);
        arena_release(&a);
        return -1;
    }
    vec_each (struct node_rec, n, &nodes) {
        const json_t *want = replay_node(r, n->index);
        json_t *got = node_json(n);
        const char *bad = NULL;
        for (size_t i = 0; want && !bad && i < ARRAY_LEN(keys); i++)
            if (!json_equal(json_object_get(got, keys[i]), json_object_get(want, keys[i])))
                bad = keys[i];
        if (!want) {
            differ++;
            strbuf_addf(out, "candidate %llu is not in the recording\n",
                        (unsigned long long)n->index);
        } else if (bad) {
            differ++;
            strbuf_addf(out, "candidate %llu differs in \"%s\"\n", (unsigned long long)n->index,
                        bad);
        }
        json_decref(got);
    }
    if (nodes.n < replay_nodes(r)) {
        differ += (int)(replay_nodes(r) - nodes.n);
        strbuf_addf(out, "%zu candidates instead of %zu\n", nodes.n, replay_nodes(r));
    }
    vec_release(&nodes);
    arena_release(&a);
    return differ;
}
