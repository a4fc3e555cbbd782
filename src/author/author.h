/*
 * author.h - an author replies to prompts. It is a model behind an API, a program, a person who
 * answers through files (a mailbox), a recorded run, or the built-in author.
 *
 *     struct author *a;
 *     author_open(&a, "anthropic:claude-sonnet-4-5", &cfg, err);
 *     struct author_call *c;
 *     author_start(a, &(struct author_request){.role = "code", .stable = s, .turn = t}, &c, err);
 *     while (!author_poll(c))
 *         author_wait(a, 1000000000);
 *     const struct author_reply *r = author_reply(c);      r->ok, r->text, r->out_tokens, ...
 *     author_call_free(c);
 *
 * Several calls may be under way at once. docs/authors.md shows how to add an author.
 */
#ifndef AUTHOR_AUTHOR_H
#define AUTHOR_AUTHOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "author/budget.h"
#include "base/err.h"
#include "base/strbuf.h"

#define AUTHOR_MAX_REPLY (4u << 20)

struct author;
struct author_call;
struct author_ops;
struct budget_pool; /* author/limits/pool.h */

/* 0 means the default in brackets. */
struct author_config {
    uint64_t total_ns;       /* longest time of a request; for "exec", of a command [15 min] */
    uint64_t stall_ns;       /* longest wait for the next byte [120 s] */
    uint64_t wait_ns;        /* longest wait for a reply in a mailbox [7 days] */
    uint64_t backoff_ns;     /* pause before the first retry; doubles each time [1 s] */
    uint64_t backoff_max_ns; /* longest pause before a retry [60 s] */
    /* Longest Retry-After that we obey; after a longer one, the call fails [10 min]. */
    uint64_t retry_after_max_ns;
    uint32_t retries;     /* failures in a row that are retried [6] */
    uint32_t continues;   /* requests for the rest of a cut-off reply [6] */
    uint32_t max_tokens;  /* the most tokens of a reply [32000] */
    uint64_t jitter_seed; /* for the random part of pauses [from the clock] */
    uint64_t minute_ns;   /* the provider's "minute" in its limits [60 s] */
};

struct author_request {
    const char *run; /* shown in a mailbox; may be "" */
    const char *role;
    uint64_t index; /* number of the call among the run's calls of this role, from 0 */
    /* The first part of the prompt. A role's calls share it, so that providers can cache it. */
    const char *stable;
    const char *turn;
    double temperature;  /* negative means the provider's default */
    uint32_t max_tokens; /* 0 means author_config.max_tokens */
    const json_t *facts; /* the prompt's content for programs; borrowed, or NULL */
    /* To continue a call that an earlier process began: the text of author_call_handle(), or "?" if
     * that text is not known. For a new call, NULL. */
    const char *handle;
};

struct author_reply {
    bool ok;
    struct strbuf text;
    struct err err;   /* if `ok` is false: why, in one line */
    bool over_budget; /* the call failed because the pool of author_set_budget() has too little */
    char model[128];
    char finish[32]; /* "stop", ...; "failed" if `ok` is false */
    /* in_tokens is the whole prompt: cached_tokens of it came from the provider's cache, and
     * cache_write_tokens went into that cache. */
    uint64_t in_tokens, cached_tokens, cache_write_tokens, out_tokens;
    bool estimated; /* Hone estimated some token counts */
    uint32_t requests;
    uint32_t continued; /* requests for the rest of the reply */
    bool drift;         /* a replay's prompt differs from the recorded one */
    uint64_t latency_ns;
    struct strbuf notes; /* retries and other trouble, in lines */
};

const struct author_ops *author_nth(size_t i);
bool author_is_known(const char *spec);
/* `spec` is "SCHEME:ARGUMENT", such as "openai:gpt-5". `cfg` may be NULL. */
int author_open(struct author **out, const char *spec, const struct author_config *cfg,
                struct err *err);
void author_close(struct author *a);
const char *author_spec(const struct author *a);
const char *author_scheme(const struct author *a);
bool author_is_built_in(const struct author *a);
/* Returns the name of the model, for prices_find() (budget.h). */
const char *author_model(const struct author *a);
/* From now on each HTTP call first reserves the most that it may cost. If the pool has too little,
 * the call waits or fails. Calls of other authors are charged at their end. The pool must outlive
 * the author. */
void author_set_budget(struct author *a, struct budget_pool *pool, const struct price *price);

/* Copies the request. Free the call before you close the author. */
int author_start(struct author *a, const struct author_request *rq, struct author_call **out,
                 struct err *err);
/* Returns the text with which a later process can continue the call, such as "0007" in a mailbox.
 * Returns "" if no other process can. */
const char *author_call_handle(const struct author_call *c);
/* Names the thing that the call waits for, such as "the file box/0007.reply.md"; "" for the
 * author's reply. */
const char *author_call_waits_for(const struct author_call *c);
/* Never waits. Returns true when the call has ended. */
bool author_poll(struct author_call *c);
void author_wait(struct author *a, uint64_t timeout_ns);
const struct author_reply *author_reply(const struct author_call *c);
/* Cancels the call if it has not ended. */
void author_call_free(struct author_call *c);

/* ---- for authors ---------------------------------------------------------------------------- */

struct author {
    const struct author_ops *ops;
    char *spec;
    char *model;
    struct author_config cfg;
    struct budget_pool *pool; /* borrowed, or NULL */
    struct price price;
    void *priv;
};

struct author_call {
    struct author *author;
    char *run, *role, *stable, *turn;
    char *resume;
    uint64_t index;
    double temperature;
    uint32_t max_tokens;
    json_t *facts;
    char handle[64];
    char waits_for[400];
    bool done;
    uint64_t started_ns;
    struct author_reply reply;
    void *priv;
};

struct author_ops {
    const char *scheme, *usage, *about;
    int (*open)(struct author *a, const char *arg, struct err *err);
    void (*close)(struct author *a);
    int (*start)(struct author_call *c, struct err *err);
    /* Never waits. Ends the call with author_succeed() or author_fail(). */
    void (*step)(struct author_call *c);
    void (*wait)(struct author *a, uint64_t timeout_ns);
    void (*end)(struct author_call *c);
    bool reserves; /* start() and step() reserve from the pool themselves */
    bool built_in;
};

extern const struct author_ops author_openai, author_anthropic, author_exec, author_mailbox,
    author_replay, author_playbook, author_noisy;

void author_succeed(struct author_call *c, const char *finish);
void author_fail(struct author_call *c, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void author_note(struct author_call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
