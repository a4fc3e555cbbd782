/*
 * remote.h - the common part of the HTTP authors: a call sends requests until its text is complete.
 *
 *      start ──> REQUEST ──answer──> judge the answer
 *                   ^                  │ complete text ................... done
 *                   │                  │ cut off, or the stream broke .... continue (keep the text)
 *                   │                  │ 429, 5xx, stall, empty, garbage . PAUSE, then again
 *                   └──── PAUSE <──────┤ a parameter this model refuses .. again without it
 *                                      └ key, model, quota, refusal ...... fail, saying what to do
 *
 * struct remote_protocol builds requests and reads events; only remote.c retries.
 */
#ifndef AUTHOR_REMOTE_H
#define AUTHOR_REMOTE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "author/author.h"
#include "base/strbuf.h"

/* How later requests must differ, because the server refused or limited a parameter. */
struct remote_quirks {
    bool legacy_max_tokens; /* openai: max_tokens instead of max_completion_tokens */
    uint32_t most_tokens;   /* the model's cap on one reply; 0 if not known */
    bool no_max_tokens;
    bool no_temperature;
    bool no_stream_options;
    bool no_cache_control;
    /* The stable part of the prompt (author.h) goes into the user's message. */
    bool no_system;
};

/* One answer. Events set token counts and never add to them, so a repeated event is harmless. */
struct remote_answer {
    struct strbuf text;
    uint64_t in_tokens, cached_tokens, cache_write_tokens, out_tokens;
    bool have_usage; /* the provider told the token counts */
    char finish[32]; /* "stop", "length", "refused", or "" */
    char model[128];
    bool error;
    char error_type[64];
    char error_text[320];
    uint32_t malformed; /* events that broke the protocol */
};

struct remote_protocol {
    /* Environment variables of the key and of the server's address, the default address, and the
     * path after it. */
    const char *key_env, *base_env, *default_base, *path;
    bool legacy_elsewhere; /* legacy_max_tokens for all servers except default_base */
    /* Writes at most 4 HTTP headers, one with the key. */
    void (*headers)(const char *key, char *const lines[4], size_t line_size);
    /* `partial`: the reply so far, if it was cut off, or NULL. */
    json_t *(*body)(const struct author_call *c, const struct remote_quirks *q,
                    const char *partial);
    void (*event)(struct remote_answer *a, const char *event, const json_t *j);
    void (*whole)(struct remote_answer *a, const json_t *j); /* an answer that was not streamed */
};

extern const struct remote_protocol remote_openai, remote_anthropic;

int remote_open(struct author *a, const char *model, const struct remote_protocol *p,
                struct err *err);
void remote_close(struct author *a);
int remote_start(struct author_call *c, struct err *err);
void remote_step(struct author_call *c);
void remote_wait(struct author *a, uint64_t timeout_ns);
void remote_end(struct author_call *c);

#define REMOTE_GO_ON                                                                        \
    "Your reply was cut off. Go on exactly where it stopped, repeating nothing and adding " \
    "no remark."

/* Appends a message of `role` to `messages`. Replaces bytes of `text` that are not UTF-8. */
void remote_add_message(json_t *messages, const char *role, const char *text);
/* Returns the limit that the call asks for, or the model's limit if that is lower. */
uint32_t remote_max_tokens(const struct author_call *c, const struct remote_quirks *q);
/* These read the value of a key. `obj` may be NULL. */
const char *remote_str(const json_t *obj, const char *key); /* "" if absent or not a string */
bool remote_uint(const json_t *obj, const char *key, uint64_t *out);
void remote_set_error(struct remote_answer *a, const json_t *error_object);

#endif
