/* replay.c - loads a recording, and implements the author that answers from it (replay.h). */
#include "author/replay.h"

#include <stdlib.h>
#include <string.h>

#include "author/author.h"
#include "base/log.h"
#include "base/util.h"
#include "sys/file.h"
#include "sys/hash.h"
#include "sys/json.h"

struct replay {
    json_t *run;
    json_t *calls, *verdicts, *nodes; /* objects that hold the records by "role/index" (calls) or
                                         "index" (the other two) */
};

static int add(json_t *table, const char *key, json_t *record, size_t line, const char *path,
               struct err *err)
{
    if (json_object_get(table, key))
        return err_set(err, ERR_INPUT, "%s:%zu: '%s' is recorded twice", path, line, key);
    json_object_set(table, key, record);
    return 0;
}

static int add_line(struct replay *r, const char *path, size_t line, json_t *j, struct err *err)
{
    json_t *c = json_object_get(j, "call"), *v = json_object_get(j, "verdict");
    json_t *n = json_object_get(j, "node"), *record = c ? c : v ? v : n;
    json_t *index = json_object_get(record, "index");
    char key[160];
    if (!record)
        return 0; /* ignored, because a later version of Hone may record more kinds */
    if (!json_is_integer(index) || json_integer_value(index) < 0)
        return err_set(err, ERR_INPUT, "%s:%zu: a record needs an \"index\"", path, line);
    unsigned long long i = (unsigned long long)json_integer_value(index);
    if (!c) {
        snprintf(key, sizeof key, "%llu", i);
        return add(v ? r->verdicts : r->nodes, key, record, line, path, err);
    }
    const char *role = json_string_value(json_object_get(c, "role"));
    if (!role || strlen(role) > 64 || !json_is_string(json_object_get(c, "reply")))
        return err_set(err, ERR_INPUT, "%s:%zu: a call needs a \"role\" and a \"reply\"", path,
                       line);
    snprintf(key, sizeof key, "%s/%llu", role, i);
    return add(r->calls, key, record, line, path, err);
}

static int parse(struct replay *r, const char *path, const char *text, size_t len, struct err *err)
{
    size_t line = 0;
    const struct json_caps caps = {.max_bytes = 64u << 20};
    for (const char *p = text, *end = text + len; p < end;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((eol ? eol : end) - p);
        char name[512];
        line++;
        snprintf(name, sizeof name, "%.400s (line %zu)", path, line);
        if (n) {
            json_t *j = json_read_text(p, n, name, &caps, err);
            if (!j)
                return -1;
            int rc = 0;
            if (line == 1) {
                r->run = json_incref(json_object_get(j, "run"));
                json_int_t version = json_integer_value(json_object_get(j, "hone-replay"));
                if (version != REPLAY_VERSION || !json_is_object(r->run))
                    rc = err_set(err, ERR_INPUT, "%s is not a replay file of version %d", path,
                                 REPLAY_VERSION);
            } else {
                rc = add_line(r, path, line, j, err);
            }
            json_decref(j);
            if (rc < 0)
                return -1;
        }
        p = eol ? eol + 1 : end;
    }
    return r->run
               ? 0
               : err_set(err, ERR_INPUT, "%s has no first line, so it is not a replay file", path);
}

int replay_load(struct replay **out, const char *path, struct err *err)
{
    if (!*path)
        return err_set(err, ERR_USAGE, "name a recording, as in replay:FILE");
    struct strbuf sb = STRBUF_INIT(REPLAY_MAX_BYTES);
    struct replay *r = xcalloc(1, sizeof *r);
    r->calls = json_object();
    r->verdicts = json_object();
    r->nodes = json_object();
    int rc = file_read(path, REPLAY_MAX_BYTES, &sb, err);
    if (rc == 0)
        rc = parse(r, path, sb.buf, sb.len, err);
    strbuf_release(&sb);
    if (rc < 0) {
        replay_free(r);
        return -1;
    }
    *out = r;
    return 0;
}

void replay_free(struct replay *r)
{
    if (!r)
        return;
    json_decref(r->run);
    json_decref(r->calls);
    json_decref(r->verdicts);
    json_decref(r->nodes);
    free(r);
}

const json_t *replay_run(const struct replay *r)
{
    return r->run;
}

bool replay_stopped(const struct replay *r)
{
    const char *state = json_string_value(json_object_get(replay_run(r), "state"));
    return state && (str_eq(state, "stopped") || str_eq(state, "running"));
}

const json_t *replay_call(const struct replay *r, const char *role, uint64_t index)
{
    char key[160];
    snprintf(key, sizeof key, "%s/%llu", role, (unsigned long long)index);
    return json_object_get(r->calls, key);
}

static const json_t *by_index(const json_t *table, uint64_t index)
{
    char key[32];
    snprintf(key, sizeof key, "%llu", (unsigned long long)index);
    return json_object_get(table, key);
}

const json_t *replay_verdict(const struct replay *r, uint64_t index)
{
    return by_index(r->verdicts, index);
}

const json_t *replay_node(const struct replay *r, uint64_t index)
{
    return by_index(r->nodes, index);
}

size_t replay_nodes(const struct replay *r)
{
    return json_object_size(r->nodes);
}

void replay_prompt_sha(const char *stable, const char *turn, char hex[65])
{
    struct hash *h = hash_new();
    hash_str(h, stable);
    hash_str(h, turn);
    hash_finish(h, hex);
}

/* ---- the author ----------------------------------------------------------------------------- */

static int open_replay(struct author *a, const char *arg, struct err *err)
{
    struct replay *r = NULL;
    if (replay_load(&r, arg, err) < 0)
        return -1;
    a->priv = r;
    return 0;
}

static void close_replay(struct author *a)
{
    replay_free(a->priv);
}

static uint64_t number(const json_t *rec, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(rec, key));
    return v > 0 ? (uint64_t)v : 0;
}

static int start(struct author_call *c, struct err *err)
{
    const json_t *rec = replay_call(c->author->priv, c->role, c->index);
    if (!rec && replay_stopped(c->author->priv)) {
        author_fail(c, ERR_INPUT, "%s", REPLAY_END);
        return 0;
    }
    if (!rec)
        return err_set(err, ERR_INPUT, "the recording ends before call %llu of role '%s'",
                       (unsigned long long)c->index, c->role);
    struct author_reply *r = &c->reply;
    char sha[65];
    replay_prompt_sha(c->stable, c->turn, sha);
    const char *recorded = json_string_value(json_object_get(rec, "prompt_sha"));
    r->drift = recorded && !str_eq(recorded, sha);
    if (r->drift)
        author_note(c, "the prompt is not the one recorded (drift)");
    const json_t *text = json_object_get(rec, "reply");
    strbuf_add(&r->text, json_string_value(text), json_string_length(text));
    const char *model = json_string_value(json_object_get(rec, "model"));
    if (model)
        snprintf(r->model, sizeof r->model, "%s", model);
    r->in_tokens = number(rec, "in_tokens");
    r->cached_tokens = number(rec, "cached_tokens");
    r->out_tokens = number(rec, "out_tokens");
    r->estimated = json_is_true(json_object_get(rec, "estimated"));
    const json_t *failed = json_object_get(rec, "error");
    if (json_is_string(failed)) /* the recorded run went on without this reply (agent/asking.c) */
        author_fail(c, ERR_LIMIT, "%s", json_string_value(failed));
    else
        author_succeed(c, "stop");
    r->latency_ns = number(rec, "latency_ns");
    return 0;
}

static void step(struct author_call *c)
{
}

static void wait_nothing(struct author *a, uint64_t timeout_ns)
{
}

static void end(struct author_call *c)
{
}

const struct author_ops author_replay = {
    .scheme = "replay",
    .usage = "replay:FILE",
    .about = "a recorded run",
    .open = open_replay,
    .close = close_replay,
    .start = start,
    .step = step,
    .wait = wait_nothing,
    .end = end,
};
