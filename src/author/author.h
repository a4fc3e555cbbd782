/*
 * author.h - an author replies to prompts, for example with a kernel. It is a model behind an API,
 * a program, a person who answers through files (a mailbox), a recording of an earlier run, or the
 * built-in author, which uses playbooks.
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
 * Several calls may be under way at the same time. A call never falls back to another author; it
 * ends with a text, or with an error that says what happened and what to do. docs/authors.md shows
 * how to add an author: a `const struct author_ops` and a row in the table of author.c.
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

#define AUTHOR_MAX_REPLY (4u << 20) /* bytes */

struct author;
struct author_call;
struct author_ops;
struct budget_pool; /* author/limits/pool.h */

/* Limits of calls. 0 means the default, which is in brackets here. */
struct author_config {
    /* How long one request may take [15 min]. For the author "exec", how long the whole command may
     * take. */
    uint64_t total_ns;
    uint64_t stall_ns;       /* how long a request may wait for the next byte [120 s] */
    uint64_t wait_ns;        /* how long a reply in a mailbox may take [7 days] */
    uint64_t backoff_ns;     /* the pause before the first retry [1 s]; it doubles each time */
    uint64_t backoff_max_ns; /* the longest pause before a retry [60 s] */
    /* The longest pause that a provider may ask for with the header Retry-After [10 min]. If it
     * asks for more, the call fails. */
    uint64_t retry_after_max_ns;
    uint32_t retries;     /* how many failures in a row are retried [6] */
    uint32_t continues;   /* how often to ask for the rest of a cut-off reply [6] */
    uint32_t max_tokens;  /* the most tokens of a reply, if the request sets none [32000] */
    uint64_t jitter_seed; /* the seed for random changes of the pauses [from the clock] */
    uint64_t minute_ns; /* the length of the "minute" in limits such as tokens per minute [60 s] */
};

struct author_request {
    const char *run;  /* the run's name, for people who read a mailbox; may be "" */
    const char *role; /* what the author is asked for: "code", "plan", ... */
    uint64_t index;   /* the number of the call among the calls of this role in this run */
    /* The part of the prompt that stays the same in the role's next calls, so that providers can
     * cache it. */
    const char *stable;
    const char *turn;    /* the rest of the prompt */
    double temperature;  /* negative means the provider's default */
    uint32_t max_tokens; /* the most tokens of the reply; 0 means author_config.max_tokens */
    const json_t *facts; /* the prompt's content, for programs; borrowed, may be NULL */
    /* NULL for a new call. If an earlier process began this call, `handle` is the text that
     * author_call_handle() returned there, or "?" if that text is not known. */
    const char *handle;
};

struct author_reply {
    bool ok;            /* the call ended with a text */
    struct strbuf text; /* always UTF-8 */
    struct err err;     /* the error, in one line, if `ok` is false */
    bool over_budget;   /* the call failed because the budget of author_set_budget() is used up */
    char model[128];    /* the name that the provider reports */
    char finish[32];    /* why the reply ended, such as "stop"; "failed" if `ok` is false */
    /* in_tokens counts all tokens of the prompt, also those that the provider read from its cache
     * (cached_tokens) or wrote to it (cache_write_tokens). */
    uint64_t in_tokens, cached_tokens, cache_write_tokens, out_tokens;
    bool estimated;     /* some token counts are Hone's estimates, not the provider's */
    uint32_t requests;  /* how many requests were sent over the network */
    uint32_t continued; /* how often Hone asked for the rest of a cut-off reply */
    bool drift;         /* in a replay, the prompt differs from the recorded one */
    uint64_t latency_ns;
    struct strbuf notes; /* retries and other trouble, one line each */
};

/* Returns entry i (from 0) of the table of authors; NULL after the last. */
const struct author_ops *author_nth(size_t i);
/* Whether there is an author with the scheme of this spec, such as "openai:MODEL". */
bool author_is_known(const char *spec);
/* Opens an author. `spec` is "SCHEME:ARGUMENT", such as "openai:gpt-5". If `cfg` is NULL, all
 * limits have their defaults. Fails if there is no such author, or if it cannot be used, for
 * example because there is no key. */
int author_open(struct author **out, const char *spec, const struct author_config *cfg,
                struct err *err);
void author_close(struct author *a);
const char *author_spec(const struct author *a);
const char *author_scheme(const struct author *a); /* "openai", "playbook", ... */
/* Whether the author needs no model and replies immediately. */
bool author_is_built_in(const struct author *a);
/* The name by which prices.json finds the model. */
const char *author_model(const struct author *a);
/* From now on each call of this author first reserves an amount in the pool: the most that the call
 * may cost. If the pool has too little, the call waits or fails. Only an author behind HTTP can
 * know the cost before the call; for other authors, the pool only counts what their calls have
 * used. The pool must outlive the author. */
void author_set_budget(struct author *a, struct budget_pool *pool, const struct price *price);

/* Begins a call and copies the request. Free the call with author_call_free() before you close the
 * author. */
int author_start(struct author *a, const struct author_request *rq, struct author_call **out,
                 struct err *err);
/* Returns the handle of the call: a text with which a later process can continue it, such as "0007"
 * in a mailbox. Returns "" if this author's calls cannot be continued. */
const char *author_call_handle(const struct author_call *c);
/* Returns a text for the user that says what the call waits for, such as "the file
 * box/0007.reply.md", or "429 Too Many Requests; trying again in 4 s (2 of 6)". Returns "" if the
 * call waits only for the author's reply. */
const char *author_call_waits_for(const struct author_call *c);
/* Does the next part of the call without waiting. Returns true when the call has ended. */
bool author_poll(struct author_call *c);
/* Sleeps until author_poll may find something new, at most timeout_ns. */
void author_wait(struct author *a, uint64_t timeout_ns);
const struct author_reply *author_reply(const struct author_call *c);
/* Frees the call. If it has not ended, cancels it first. */
void author_call_free(struct author_call *c);

/* ---- for authors ---------------------------------------------------------------------------- */

struct author {
    const struct author_ops *ops;
    char *spec;  /* such as "openai:gpt-5" */
    char *model; /* the text after the scheme, such as "gpt-5" */
    struct author_config cfg;
    struct budget_pool *pool; /* borrowed; NULL if there is no budget */
    struct price price;
    void *priv;
};

struct author_call {
    struct author *author;
    char *run, *role, *stable, *turn; /* as in struct author_request */
    char *resume;                     /* the request's `handle`; NULL for a new call */
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
    /* Does the next part of a call without waiting. Ends the call with author_succeed() or
     * author_fail(). */
    void (*step)(struct author_call *c);
    void (*wait)(struct author *a, uint64_t timeout_ns);
    void (*end)(struct author_call *c); /* frees c->priv */
    bool reserves; /* the author's own code reserves from the pool for each call */
    bool built_in; /* the author needs no model, and replies immediately */
};

extern const struct author_ops author_openai, author_anthropic, author_exec, author_mailbox,
    author_replay, author_playbook, author_noisy;

void author_succeed(struct author_call *c, const char *finish);
void author_fail(struct author_call *c, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void author_note(struct author_call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
