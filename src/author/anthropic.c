/*
 * anthropic.c - the author that uses Anthropic's messages API. The stable part of a prompt (struct
 * author_request) is the system text, marked for the provider's cache. Newer models refuse a
 * conversation that ends with the assistant. So to continue a reply that was cut off, we send the
 * partial reply and then a message of the user.
 */
#include <stdio.h>
#include <string.h>

#include "author/remote.h"
#include "base/util.h"
#include "sys/json.h"

static void headers(const char *key, char *const lines[4], size_t n)
{
    snprintf(lines[0], n, "x-api-key: %s", key);
    snprintf(lines[1], n, "anthropic-version: 2023-06-01");
}

static json_t *body(const struct author_call *c, const struct remote_quirks *q, const char *partial)
{
    json_t *messages = json_array();
    remote_add_message(messages, "user", *c->turn ? c->turn : "Go on.");
    if (partial) {
        /* The API refuses an assistant's text that ends in white space. */
        size_t n = strlen(partial);
        while (n && strchr(" \n\r\t", partial[n - 1]))
            n--;
        char *trimmed = xstrndup(partial, n);
        remote_add_message(messages, "assistant", trimmed);
        free(trimmed);
        remote_add_message(messages, "user", REMOTE_GO_ON);
    }
    json_t *j = json_pack("{s:s, s:i, s:o, s:b}", "model", c->author->model, "max_tokens",
                          (int)remote_max_tokens(c, q), "messages", messages, "stream", 1);
    if (!j)
        return NULL;
    if (*c->stable) {
        json_t *block = json_pack("{s:s, s:o}", "type", "text", "text", json_text(c->stable));
        if (!q->no_cache_control)
            json_object_set_new(block, "cache_control", json_pack("{s:s}", "type", "ephemeral"));
        json_object_set_new(j, "system", json_pack("[o]", block));
    }
    if (c->temperature >= 0 && !q->no_temperature)
        json_object_set_new(j, "temperature", json_real(c->temperature));
    return j;
}

/* Reads the token counts of an answer. The API's input_tokens leave out the tokens that its cache
 * served or stored, so we add those. */
static void usage(struct remote_answer *a, const json_t *u)
{
    uint64_t plain = 0, read = a->cached_tokens, written = a->cache_write_tokens;
    if (!json_is_object(u))
        return;
    remote_uint(u, "cache_read_input_tokens", &read);
    remote_uint(u, "cache_creation_input_tokens", &written);
    if (remote_uint(u, "input_tokens", &plain)) {
        a->in_tokens = plain + read + written;
        a->cached_tokens = read;
        a->cache_write_tokens = written;
    }
    if (remote_uint(u, "output_tokens", &a->out_tokens))
        a->have_usage = true;
}

static void stop_reason(struct remote_answer *a, const char *reason)
{
    const char *f = str_eq(reason, "end_turn") || str_eq(reason, "stop_sequence") ? "stop"
                    : str_eq(reason, "max_tokens") || str_eq(reason, "pause_turn") ||
                            str_eq(reason, "model_context_window_exceeded")
                        ? "length"
                    : str_eq(reason, "refusal") ? "refused"
                                                : "";
    if (*f)
        snprintf(a->finish, sizeof a->finish, "%s", f);
}

static void delta(struct remote_answer *a, const json_t *d)
{
    const char *type = remote_str(d, "type");
    const json_t *text = json_object_get(d, "text");
    if (str_eq(type, "text_delta") && json_is_string(text))
        strbuf_add(&a->text, json_string_value(text), json_string_length(text));
    else if (!*type || str_eq(type, "text_delta"))
        a->malformed++;
    /* Deltas of thinking and of signatures are no part of the answer. */
}

static void event(struct remote_answer *a, const char *name, const json_t *j)
{
    const char *type = remote_str(j, "type");
    if (str_eq(type, "message_start")) {
        const json_t *m = json_object_get(j, "message");
        if (*remote_str(m, "model"))
            snprintf(a->model, sizeof a->model, "%s", remote_str(m, "model"));
        usage(a, json_object_get(m, "usage"));
        /* This output count is preliminary; message_delta brings the final one. */
        a->have_usage = false;
    } else if (str_eq(type, "content_block_delta")) {
        if (!a->finish[0])
            delta(a, json_object_get(j, "delta"));
    } else if (str_eq(type, "message_delta")) {
        stop_reason(a, remote_str(json_object_get(j, "delta"), "stop_reason"));
        usage(a, json_object_get(j, "usage"));
    } else if (str_eq(type, "error")) {
        remote_set_error(a, json_object_get(j, "error"));
    } else if (!*type) {
        a->malformed++;
    }
    /* Other events are ignored: ping, content_block_start, and future ones. */
}

static void whole(struct remote_answer *a, const json_t *j)
{
    size_t i;
    json_t *block;
    snprintf(a->model, sizeof a->model, "%s", remote_str(j, "model"));
    usage(a, json_object_get(j, "usage"));
    json_array_foreach(json_object_get(j, "content"), i,
                       block) if (str_eq(remote_str(block, "type"), "text"))
        strbuf_adds(&a->text, remote_str(block, "text"));
    stop_reason(a, remote_str(j, "stop_reason"));
}

const struct remote_protocol remote_anthropic = {
    .key_env = "ANTHROPIC_API_KEY",
    .base_env = "ANTHROPIC_BASE_URL",
    .default_base = "https://api.anthropic.com",
    .path = "/v1/messages",
    .headers = headers,
    .body = body,
    .event = event,
    .whole = whole,
};

static int open_anthropic(struct author *a, const char *arg, struct err *err)
{
    return remote_open(a, arg, &remote_anthropic, err);
}

const struct author_ops author_anthropic = {
    .scheme = "anthropic",
    .usage = "anthropic:MODEL",
    .about = "the Anthropic messages API",
    .open = open_anthropic,
    .close = remote_close,
    .start = remote_start,
    .step = remote_step,
    .wait = remote_wait,
    .end = remote_end,
    .reserves = true,
};
