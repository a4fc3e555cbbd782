/* remote.c - sends requests over HTTP, retries them and continues cut-off replies (remote.h). */
#include "author/remote.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "author/key.h"
#include "author/sse.h"
#include "author/turn.h"
#include "base/log.h"
#include "base/tokens.h"
#include "base/util.h"
#include "sys/http.h"
#include "sys/json.h"

#define MAX_EMPTY 2
#define MAX_ADAPT 6        /* changes of parameters */
#define MAX_WITHOUT_CODE 2 /* continuations of a reply without code */

struct remote {
    const struct remote_protocol *p;
    struct http *http;
    char *url;
    struct strbuf key;
    struct remote_quirks quirks;
    uint64_t rng;
    struct limiter *limiter;
    unsigned queued; /* calls that wait for their turn */
};

struct remote_call {
    struct http_transfer *t;
    size_t seen; /* parsed bytes of the body */
    struct sse sse;
    struct remote_answer answer;
    bool streaming;     /* the answer is an event stream */
    uint64_t resume_ns; /* end of the pause, or 0 */
    uint32_t failures;  /* failed requests in a row */
    uint32_t empties;
    uint32_t adapted;
    struct turn turn;
    uint64_t prompt_bound; /* most tokens of the next prompt; 0: not counted yet */
    bool queued;           /* counted in remote.queued */
};

const char *remote_str(const json_t *obj, const char *key)
{
    const char *s = json_string_value(json_object_get(obj, key));
    return s ? s : "";
}

bool remote_uint(const json_t *obj, const char *key, uint64_t *out)
{
    const json_t *v = json_object_get(obj, key);
    if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > 1000000000)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

void remote_add_message(json_t *messages, const char *role, const char *text)
{
    json_array_append_new(messages,
                          json_pack("{s:s, s:o}", "role", role, "content", json_text(text)));
}

uint32_t remote_max_tokens(const struct author_call *c, const struct remote_quirks *q)
{
    return q->most_tokens ? MIN(q->most_tokens, c->max_tokens) : c->max_tokens;
}

void remote_set_error(struct remote_answer *a, const json_t *e)
{
    a->error = true;
    const char *type = remote_str(e, "code");
    type = *type ? type : remote_str(e, "type");
    snprintf(a->error_type, sizeof a->error_type, "%s", type);
    const char *text = json_is_string(e) ? json_string_value(e) : remote_str(e, "message");
    snprintf(a->error_text, sizeof a->error_text, "%s", text);
}

/* ---- opening -------------------------------------------------------------------------------- */

int remote_open(struct author *a, const char *model, const struct remote_protocol *p,
                struct err *err)
{
    if (!*model || strlen(model) > 100)
        return err_set(err, ERR_USAGE, "name a model after the colon, as in %s:MODEL",
                       a->ops->scheme);
    for (const char *s = model; *s; s++)
        if (!isgraph((unsigned char)*s))
            return err_set(err, ERR_USAGE, "a model's name has no blanks or control characters");
    struct remote *r = xcalloc(1, sizeof *r);
    r->p = p;
    strbuf_init(&r->key, 4096);
    r->rng = a->cfg.jitter_seed;
    const char *base = getenv(p->base_env);
    base = base && *base ? base : p->default_base;
    size_t n = strlen(base);
    while (n && base[n - 1] == '/')
        n--;
    r->url = xasprintf("%.*s%s", (int)n, base, p->path);
    r->quirks.legacy_max_tokens = p->legacy_elsewhere && !str_starts(base, p->default_base);
    a->priv = r;
    if (key_find(p->key_env, &r->key, err) < 0 || http_open(&r->http, err) < 0) {
        remote_close(a);
        return -1;
    }
    r->limiter = limiter_open(&(struct limiter_config){
        .provider = r->url, .model = model, .key = r->key.buf, .window_ns = a->cfg.minute_ns});
    return 0;
}

void remote_close(struct author *a)
{
    struct remote *r = a->priv;
    if (!r)
        return;
    http_close(r->http);
    limiter_close(r->limiter);
    explicit_bzero(r->key.buf, r->key.len);
    strbuf_release(&r->key);
    free(r->url);
    free(r);
    a->priv = NULL;
}

/* ---- one request ---------------------------------------------------------------------------- */

static void on_event(void *ctx, const char *event, const char *data, size_t len)
{
    struct author_call *c = ctx;
    struct remote_call *rc = c->priv;
    struct remote *r = c->author->priv;
    struct remote_answer *a = &rc->answer;
    if (len == 6 && memcmp(data, "[DONE]", 6) == 0)
        return;
    json_t *j = json_loadb(data, len, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(j))
        a->malformed++;
    else
        r->p->event(a, event, j);
    json_decref(j);
}

static void answer_reset(struct remote_call *rc)
{
    strbuf_release(&rc->answer.text);
    memset(&rc->answer, 0, sizeof rc->answer);
    strbuf_init(&rc->answer.text, AUTHOR_MAX_REPLY);
}

static int send_request(struct author_call *c, struct err *err)
{
    struct remote *r = c->author->priv;
    struct remote_call *rc = c->priv;
    json_t *body = r->p->body(c, &r->quirks, c->reply.text.len ? c->reply.text.buf : NULL);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    if (!text)
        return err_set(err, ERR_INPUT, "the request cannot be written as JSON");
    char lines[4][4352];
    char *const slots[4] = {lines[0], lines[1], lines[2], lines[3]};
    for (int i = 0; i < 4; i++)
        lines[i][0] = '\0';
    r->p->headers(r->key.buf, slots, sizeof lines[0]);
    const char *headers[8] = {"Content-Type: application/json", "Accept: text/event-stream"};
    size_t n = 2;
    for (int i = 0; i < 4; i++)
        if (lines[i][0])
            headers[n++] = lines[i];
    headers[n] = NULL;
    answer_reset(rc);
    sse_release(&rc->sse);
    sse_init(&rc->sse, on_event, c);
    rc->seen = 0;
    rc->streaming = false;
    int e = http_start(r->http,
                       &(struct http_request){.url = r->url,
                                              .headers = headers,
                                              .body = text,
                                              .body_len = strlen(text),
                                              .total_ns = c->author->cfg.total_ns,
                                              .stall_ns = c->author->cfg.stall_ns,
                                              .max_bytes = 32u << 20},
                       &rc->t, err);
    explicit_bzero(lines, sizeof lines);
    free(text);
    if (e == 0)
        c->reply.requests++;
    return e;
}

/* ---- pausing -------------------------------------------------------------------------------- */

static uint64_t next_random(struct remote *r)
{
    r->rng ^= r->rng << 13;
    r->rng ^= r->rng >> 7;
    r->rng ^= r->rng << 17;
    return r->rng;
}

/* Pauses before the next request, or ends the call after too many failures. `asked` is the pause in
 * seconds that the server asks for, or -1. */
static void pause_and_retry(struct author_call *c, const char *why, double asked)
{
    struct remote *r = c->author->priv;
    struct remote_call *rc = c->priv;
    const struct author_config *cfg = &c->author->cfg;
    if (++rc->failures > cfg->retries) {
        author_fail(c, ERR_ENV, "gave up after %u attempts in a row; the last one failed: %s",
                    rc->failures, why);
        return;
    }
    if (asked * 1e9 > (double)cfg->retry_after_max_ns) {
        author_fail(c, ERR_ENV,
                    "%s; the server asks to wait %.0f s, longer than the %.0f s allowed: run "
                    "`hone resume` later",
                    why, asked, (double)cfg->retry_after_max_ns / 1e9);
        return;
    }
    uint64_t pause = cfg->backoff_ns;
    for (uint32_t i = 1; i < rc->failures && pause < cfg->backoff_max_ns; i++)
        pause *= 2;
    pause = MIN(pause, cfg->backoff_max_ns);
    pause = pause / 2 + next_random(r) % (pause / 2 + 1);
    if (asked >= 0)
        pause = MAX((uint64_t)(asked * 1e9), pause / 8);
    author_note(c, "%s; trying again in %.2f s (%u of %u)", why, (double)pause / 1e9, rc->failures,
                cfg->retries);
    snprintf(c->waits_for, sizeof c->waits_for, "%.300s; trying again in %.0f s (%u of %u)", why,
             (double)pause / 1e9, rc->failures, cfg->retries);
    rc->resume_ns = now_ns() + pause;
}

static void share_pause(struct author_call *c, double asked)
{
    struct remote *r = c->author->priv;
    const struct remote_call *rc = c->priv;
    uint64_t now = now_ns();
    double ns = asked > 0 ? asked * 1e9 : 0;
    if (!c->done && rc->resume_ns > now)
        ns = MAX(ns, (double)(rc->resume_ns - now));
    limiter_pause(r->limiter, (uint64_t)MIN(ns, (double)c->author->cfg.retry_after_max_ns));
}

/* ---- taking turns --------------------------------------------------------------------------- */

static struct turn_rules rules_of(const struct author_call *c)
{
    const struct author *a = c->author;
    const struct remote *r = a->priv;
    return (struct turn_rules){.limiter = r->limiter,
                               .pool = a->pool,
                               .price = a->price,
                               .longest_wait_ns = a->cfg.retry_after_max_ns};
}

static void set_queued(struct author_call *c, bool queued)
{
    struct remote *r = c->author->priv;
    struct remote_call *rc = c->priv;
    if (queued != rc->queued)
        r->queued += queued ? 1 : -1u;
    rc->queued = queued;
}

static uint64_t bound_prompt(const struct author_call *c)
{
    const char *const parts[] = {c->stable, c->turn, c->reply.text.buf};
    uint64_t estimate = 0, bytes = 0;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        size_t n = strlen(parts[i]);
        estimate += estimate_tokens(parts[i], n);
        bytes += n;
    }
    return turn_token_bound(estimate, bytes);
}

static struct turn_used tokens_of(const struct author_reply *r)
{
    return (struct turn_used){.in = r->in_tokens,
                              .cached = r->cached_tokens,
                              .cache_write = r->cache_write_tokens,
                              .out = r->out_tokens};
}

/* Ends the call's turn, and tells how many tokens this answer used. `before` has the call's tokens
 * before this answer. */
static void give_turn_back(struct author_call *c, const struct turn_used *before)
{
    struct remote_call *rc = c->priv;
    const struct turn_rules rules = rules_of(c);
    struct turn_used used = tokens_of(&c->reply);
    used.in -= before->in;
    used.cached -= before->cached;
    used.cache_write -= before->cache_write;
    used.out -= before->out;
    turn_end(&rc->turn, &rules, &used);
}

/* ---- judging an answer ---------------------------------------------------------------------- */

/* Appends the continuation of a reply that was cut off. Leaves out what repeats the end of `text`,
 * and a code fence that is opened again. */
static void append_continuation(struct strbuf *text, const char *more, size_t n)
{
    size_t most = MIN(MIN(text->len, n), 2000);
    for (size_t k = most; k >= 24; k--) {
        if (memcmp(text->buf + text->len - k, more, k) == 0) {
            more += k;
            n -= k;
            break;
        }
    }
    if (n > 3 && memcmp(more, "```", 3) == 0) {
        unsigned fences = 0;
        for (const char *p = text->buf; (p = strstr(p, "```")); p += 3)
            fences++;
        const char *eol = memchr(more, '\n', n);
        if (fences % 2 == 1 && eol && eol - more > 3) {
            n -= (size_t)(eol + 1 - more);
            more = eol + 1;
        }
    }
    strbuf_add(text, more, n);
}

/* Replaces each NUL by '?', because a NUL would end the text in C. */
static void replace_nul(struct strbuf *text)
{
    for (char *p = text->buf; (p = memchr(p, '\0', text->len - (size_t)(p - text->buf)));)
        *p = '?';
}

static void take_answer(struct author_call *c, bool keep_text)
{
    struct remote_call *rc = c->priv;
    struct remote_answer *a = &rc->answer;
    struct author_reply *r = &c->reply;
    if (a->have_usage) {
        r->in_tokens += a->in_tokens;
        r->cached_tokens += a->cached_tokens;
        r->cache_write_tokens += a->cache_write_tokens;
        r->out_tokens += a->out_tokens;
    } else if (a->text.len) {
        r->in_tokens += estimate_tokens(c->stable, strlen(c->stable)) +
                        estimate_tokens(c->turn, strlen(c->turn)) +
                        estimate_tokens(r->text.buf, r->text.len);
        r->out_tokens += estimate_tokens(a->text.buf, a->text.len);
        r->estimated = true;
    }
    if (a->model[0])
        snprintf(r->model, sizeof r->model, "%s", a->model);
    replace_nul(&a->text);
    if (keep_text) {
        struct remote *rem = c->author->priv;
        if (r->text.len)
            append_continuation(&r->text, a->text.buf, a->text.len);
        else
            strbuf_add(&r->text, a->text.buf, a->text.len);
        key_redact(r->text.buf, r->text.len, rem->key.buf);
    }
}

static void continue_reply(struct author_call *c, const char *why)
{
    struct remote_call *rc = c->priv;
    if (c->reply.continued >= MAX_WITHOUT_CODE && !strstr(c->reply.text.buf, "```")) {
        author_fail(c, ERR_LIMIT,
                    "the reply was cut off %u times (%s) and no part of it has opened a code block",
                    c->reply.continued + 1, why);
        return;
    }
    if (c->reply.continued >= c->author->cfg.continues) {
        author_fail(c, ERR_LIMIT,
                    "the reply was cut off %u times (%s) and is still not complete; %zu bytes of "
                    "it came",
                    c->reply.continued + 1, why, c->reply.text.len);
        return;
    }
    c->reply.continued++;
    author_note(c, "%s after %zu bytes; asking for the rest", why, c->reply.text.len);
    rc->failures = 0;
    rc->resume_ns = now_ns();
}

static bool names(const char *text, const char *word)
{
    return strcasestr(text, word) != NULL;
}

/* Returns the largest number below `asked` in a message such as "max_tokens is too large: 32000.
 * This model supports at most 16384 ...", or 0 if the message is of another kind. */
static uint32_t token_limit_in(const char *m, uint32_t asked)
{
    uint32_t most = 0;
    if (!names(m, "max_tokens") && !names(m, "max_completion_tokens"))
        return 0;
    if (!names(m, "too large") && !names(m, "at most") && !names(m, "maximum") &&
        !names(m, "less than"))
        return 0;
    for (const char *p = m; *p;) {
        if (!isdigit((unsigned char)*p)) {
            bool word = isalnum((unsigned char)*p); /* such as gpt-4o-2024 */
            for (p++; word && (isalnum((unsigned char)*p) || *p == '-' || *p == '_'); p++)
                ;
            continue;
        }
        uint64_t n = 0;
        for (; isdigit((unsigned char)*p) || (*p == ',' && isdigit((unsigned char)p[1])); p++)
            if (*p != ',' && n <= UINT32_MAX) /* 16,384 */
                n = n * 10 + (uint64_t)(*p - '0');
        if (n < asked && n > most)
            most = (uint32_t)n;
    }
    return most >= 256 ? most : 0;
}

static bool same_quirks(const struct remote_quirks *a, const struct remote_quirks *b)
{
    return a->legacy_max_tokens == b->legacy_max_tokens && a->most_tokens == b->most_tokens &&
           a->no_max_tokens == b->no_max_tokens && a->no_temperature == b->no_temperature &&
           a->no_stream_options == b->no_stream_options &&
           a->no_cache_control == b->no_cache_control && a->no_system == b->no_system;
}

/* Changes or drops the parameter that the error message names, for all later requests. Returns
 * false if it names none, or after too many changes. */
static bool adapt(struct author_call *c)
{
    struct remote *r = c->author->priv;
    struct remote_call *rc = c->priv;
    const char *m = rc->answer.error_text;
    struct remote_quirks before = r->quirks, *q = &r->quirks;
    if (rc->adapted++ >= MAX_ADAPT)
        return false;
    uint32_t most = token_limit_in(m, remote_max_tokens(c, q));
    if (most)
        q->most_tokens = most;
    else if (names(m, "max_completion_tokens") && !names(m, "instead") && !q->legacy_max_tokens)
        q->legacy_max_tokens = true;
    else if (names(m, "max_tokens") && names(m, "max_completion_tokens"))
        q->legacy_max_tokens = false;
    else if (names(m, "max_tokens") && q->legacy_max_tokens)
        q->no_max_tokens = true;
    else if (names(m, "temperature"))
        q->no_temperature = true;
    else if (names(m, "stream_options"))
        q->no_stream_options = true;
    else if (names(m, "cache_control"))
        q->no_cache_control = true;
    else if (names(m, "system") && names(m, "role"))
        q->no_system = true;
    if (same_quirks(&before, q))
        return false;
    author_note(c, "the server refuses a parameter (%.200s); asking %s", m,
                most ? "for fewer tokens" : "without it");
    rc->resume_ns = now_ns();
    return true;
}

static bool is_quota(const struct remote_answer *a)
{
    return names(a->error_type, "insufficient_quota") || names(a->error_type, "billing") ||
           names(a->error_text, "credit balance") ||
           names(a->error_text, "exceeded your current quota");
}

static void judge_status(struct author_call *c, int status)
{
    struct remote *r = c->author->priv;
    struct remote_call *rc = c->priv;
    struct remote_answer *a = &rc->answer;
    char why[512];
    snprintf(why, sizeof why, "HTTP %d%s%s", status, a->error_text[0] ? ": " : "", a->error_text);
    key_redact(why, strlen(why), r->key.buf);
    if (status == 401 || status == 403) {
        author_fail(c, ERR_ENV, "%s; the key in %s is wrong, expired or lacks permission", why,
                    r->p->key_env);
    } else if (status == 402 || is_quota(a)) {
        author_fail(c, ERR_ENV, "%s; the account has no credit left: waiting will not help", why);
    } else if (status == 404) {
        author_fail(c, ERR_ENV, "%s; check the model '%s' and %s", why, c->author->model,
                    r->p->base_env);
    } else if (status == 413 || names(a->error_type, "context_length") ||
               names(a->error_text, "context length") ||
               names(a->error_text, "prompt is too long")) {
        author_fail(c, ERR_LIMIT, "%s; the prompt is too long for this model", why);
    } else if (status == 400 || status == 422) {
        if (!adapt(c))
            author_fail(c, ERR_ENV, "%s; the server refuses the request", why);
    } else if (status >= 300 && status < 400) {
        author_fail(c, ERR_ENV,
                    "%s; redirects are not followed with a key: set %s to the final address", why,
                    r->p->base_env);
    } else if (status == 408 || status == 409 || status == 425 || status == 429 || status >= 500) {
        double asked = turn_retry_after(rc->t);
        pause_and_retry(c, why, asked);
        if (status == 429 || status == 503 || status == 529)
            share_pause(c, asked);
    } else {
        author_fail(c, ERR_ENV, "%s: Hone does not know such an answer", why);
    }
}

/* The stream ended with an error event. Keeps the text so far, unless a part of it is missing. */
static void judge_error_event(struct author_call *c)
{
    struct remote *r = c->author->priv;
    struct remote_call *rc = c->priv;
    struct remote_answer *a = &rc->answer;
    char why[448];
    snprintf(why, sizeof why, "the server ended the stream with an error: %s%s%s", a->error_type,
             a->error_text[0] ? ": " : "", a->error_text);
    key_redact(why, strlen(why), r->key.buf);
    bool got = a->text.len > 0 && !a->malformed && !rc->sse.dropped;
    take_answer(c, got);
    if (names(a->error_type, "authentication") || names(a->error_type, "permission") ||
        names(a->error_type, "invalid_api_key"))
        author_fail(c, ERR_ENV, "%s; the key in %s is wrong or expired", why, r->p->key_env);
    else if (is_quota(a))
        author_fail(c, ERR_ENV, "%s; the account has no credit left", why);
    else if (names(a->error_type, "invalid_request"))
        author_fail(c, ERR_ENV, "%s", why);
    else if (got)
        continue_reply(c, why);
    else
        pause_and_retry(c, why, -1);
}

static void judge_empty(struct author_call *c, const char *why)
{
    struct remote_call *rc = c->priv;
    if (c->reply.text.len && c->reply.continued) {
        author_note(c, "no more text came; the reply is taken as complete");
        author_succeed(c, "stop");
    } else if (++rc->empties > MAX_EMPTY) {
        author_fail(c, ERR_LIMIT, "%s, %u times", why, rc->empties);
    } else {
        pause_and_retry(c, why, -1);
    }
}

static void too_big(struct author_call *c)
{
    author_fail(c, ERR_LIMIT, "the reply is larger than %u bytes, too large for a kernel",
                AUTHOR_MAX_REPLY);
}

static void judge_text(struct author_call *c)
{
    struct remote_call *rc = c->priv;
    const char *finish = rc->answer.finish;
    if (c->reply.text.truncated)
        too_big(c);
    else if (str_eq(finish, "stop"))
        author_succeed(c, "stop");
    else if (str_eq(finish, "length"))
        continue_reply(c, "cut off at the token limit");
    else if (http_outcome(rc->t) == HTTP_COMPLETE)
        continue_reply(c, "the stream ended without its last event");
    else
        continue_reply(c, http_outcome_text(rc->t));
}

/* Judges an answer with status 200. All its events were read. */
static void judge_stream(struct author_call *c)
{
    struct remote_call *rc = c->priv;
    struct remote_answer *a = &rc->answer;
    enum http_outcome o = http_outcome(rc->t);
    uint32_t damaged = a->malformed + rc->sse.dropped;
    char why[400];
    if (a->error) {
        judge_error_event(c);
    } else if (a->text.truncated || o == HTTP_TOO_BIG) {
        take_answer(c, false);
        too_big(c);
    } else if (strcmp(a->finish, "refused") == 0) {
        take_answer(c, false);
        author_fail(c, ERR_LIMIT, "the model refused to answer (content filter or refusal)");
    } else if (damaged) {
        /* a piece may be missing, so we keep no text */
        take_answer(c, false);
        snprintf(why, sizeof why, "%u events of the stream could not be read", damaged);
        pause_and_retry(c, why, -1);
    } else if (!a->text.len) {
        take_answer(c, false);
        if (o == HTTP_COMPLETE && a->finish[0]) {
            judge_empty(c, strcmp(a->finish, "length") == 0
                               ? "the model spent its whole token limit without writing an answer"
                               : "the reply was empty");
        } else {
            snprintf(why, sizeof why, "the stream ended before any text%s%s",
                     o == HTTP_COMPLETE ? "" : ": ", http_outcome_text(rc->t));
            pause_and_retry(c, why, -1);
        }
    } else {
        take_answer(c, true);
        judge_text(c);
    }
}

/* Judges an answer with status 200 that is not an event stream. */
static void judge_plain(struct author_call *c)
{
    struct remote *r = c->author->priv;
    struct remote_call *rc = c->priv;
    char why[256];
    const struct strbuf *body = http_body(rc->t);
    json_t *j = strstr(http_content_type(rc->t), "json")
                    ? json_loadb(body->buf, body->len, JSON_ALLOW_NUL, NULL)
                    : NULL;
    if (json_is_object(j)) {
        const json_t *e = json_object_get(j, "error");
        if (e && !json_is_null(e))
            remote_set_error(&rc->answer, e);
        else
            r->p->whole(&rc->answer, j);
        json_decref(j);
        judge_stream(c);
        return;
    }
    json_decref(j);
    snprintf(why, sizeof why, "the answer is %s, not an event stream",
             http_content_type(rc->t)[0] ? http_content_type(rc->t) : "of no declared type");
    pause_and_retry(c, why, -1);
}

/* Servers send {"error": {...}}, {"message": "..."} or, with FastAPI, {"detail": "..."}. */
static void set_error_of_body(struct remote_answer *a, const json_t *j)
{
    const json_t *e = json_object_get(j, "error"), *detail = json_object_get(j, "detail");
    if (json_is_array(detail)) /* one entry for each wrong field */
        detail = json_object_get(json_array_get(detail, 0), "msg");
    if (e || detail)
        remote_set_error(a, e ? e : detail);
    else if (*remote_str(j, "message"))
        remote_set_error(a, j);
}

static void judge_answer(struct author_call *c)
{
    struct remote_call *rc = c->priv;
    int status = http_status(rc->t);
    enum http_outcome o = http_outcome(rc->t);
    char why[400];
    struct turn_used before = tokens_of(&c->reply);
    if (rc->streaming)
        sse_end(&rc->sse);
    if (status == 0 || o == HTTP_CONNECT) {
        snprintf(why, sizeof why, "no connection: %s", http_outcome_text(rc->t));
        pause_and_retry(c, why, -1);
    } else if (status != 200) {
        const struct strbuf *body = http_body(rc->t);
        json_t *j = json_loadb(body->buf, body->len, 0, NULL);
        set_error_of_body(&rc->answer, j);
        json_decref(j);
        judge_status(c, status);
    } else if (o == HTTP_BAD_ENCODING) {
        take_answer(c, false);
        snprintf(why, sizeof why, "the answer's encoding is broken: %s", http_outcome_text(rc->t));
        pause_and_retry(c, why, -1);
    } else if (rc->streaming) {
        judge_stream(c);
    } else if (o == HTTP_COMPLETE) {
        judge_plain(c);
    } else {
        snprintf(why, sizeof why, "no usable answer: %s", http_outcome_text(rc->t));
        pause_and_retry(c, why, -1);
    }
    http_transfer_free(rc->t);
    rc->t = NULL;
    give_turn_back(c, &before);
}

/* ---- the call ------------------------------------------------------------------------------- */

static int try_send(struct author_call *c, struct err *err)
{
    struct remote *r = c->author->priv;
    struct remote_call *rc = c->priv;
    struct strbuf why = STRBUF_INIT(sizeof c->waits_for - 1);
    const struct turn_rules rules = rules_of(c);
    if (!rc->prompt_bound)
        rc->prompt_bound = bound_prompt(c);
    uint32_t most = remote_max_tokens(c, &r->quirks), wish = most;
    enum turn_answer a = turn_take(&rc->turn, &rules, rc->prompt_bound, &most, &why);
    set_queued(c, a == TURN_WAIT);
    int sent = 0;
    if (most < wish) {
        author_note(c, "the budget pays for a reply of %u tokens", most);
        c->max_tokens = most;
    }
    if (a == TURN_GO) {
        c->waits_for[0] = '\0';
        rc->prompt_bound = 0;
        sent = send_request(c, err);
    } else if (a == TURN_WAIT) {
        snprintf(c->waits_for, sizeof c->waits_for, "%s", why.buf);
    } else if (a == TURN_OVER) {
        c->reply.over_budget = true;
        author_fail(c, ERR_LIMIT, "%s", why.buf);
    } else {
        author_fail(c, ERR_ENV,
                    "the call waits for %s, for longer than %.0f s: run `hone resume` "
                    "later",
                    why.buf, (double)rules.longest_wait_ns / 1e9);
    }
    strbuf_release(&why);
    return sent;
}

int remote_start(struct author_call *c, struct err *err)
{
    struct remote_call *rc = xcalloc(1, sizeof *rc);
    strbuf_init(&rc->answer.text, AUTHOR_MAX_REPLY);
    sse_init(&rc->sse, on_event, c);
    rc->turn = (struct turn)TURN_INIT;
    c->priv = rc;
    return try_send(c, err);
}

static void feed(struct author_call *c)
{
    struct remote_call *rc = c->priv;
    const struct strbuf *body = http_body(rc->t);
    const struct turn_rules rules = rules_of(c);
    if (http_headers_done(rc->t))
        turn_answered(&rc->turn, &rules, rc->t);
    if (http_status(rc->t) != 200)
        return;
    rc->streaming = str_starts(http_content_type(rc->t), "text/event-stream");
    if (rc->streaming && rc->seen < body->len) {
        size_t from = rc->seen;
        rc->seen = body->len;
        sse_feed(&rc->sse, body->buf + from, body->len - from);
    }
}

void remote_step(struct author_call *c)
{
    struct remote *r = c->author->priv;
    struct remote_call *rc = c->priv;
    struct err err = ERR_INIT;
    if (!rc->t) {
        if (now_ns() < rc->resume_ns)
            return;
        if (try_send(c, &err) < 0)
            author_fail(c, err.kind, "%s", err.msg);
        if (c->done || !rc->t)
            return;
    }
    http_wait(r->http, 0);
    feed(c);
    if (http_done(rc->t))
        judge_answer(c);
}

void remote_wait(struct author *a, uint64_t timeout_ns)
{
    struct remote *r = a->priv;
    http_wait(r->http, MIN(timeout_ns, r->queued ? 10000000u : 50000000u));
}

void remote_end(struct author_call *c)
{
    struct remote_call *rc = c->priv;
    const struct turn_rules rules = rules_of(c);
    http_transfer_free(rc->t);
    set_queued(c, false);
    turn_end(&rc->turn, &rules, NULL);
    sse_release(&rc->sse);
    strbuf_release(&rc->answer.text);
    free(rc);
    c->priv = NULL;
}
