/*
 * openai.c - the author that uses the chat completions API of OpenAI, or of a compatible server.
 *
 * Settings: OPENAI_BASE_URL (default https://api.openai.com/v1) and OPENAI_API_KEY. Reasoning
 * models take max_completion_tokens and no temperature. Some other servers (Ollama, transformers
 * serve) ignore max_completion_tokens silently, and then a reply has no limit. So only OpenAI gets
 * max_completion_tokens; other servers get max_tokens. If a server's error message names a
 * parameter, later requests leave the parameter out. If the message names one of these two limits,
 * later requests use the other one.
 */
#include <stdio.h>
#include <string.h>

#include "author/remote.h"
#include "base/util.h"

static void headers(const char *key, char *const lines[4], size_t n)
{
    snprintf(lines[0], n, "Authorization: Bearer %s", key);
}

static bool is_reasoning(const char *model)
{
    return (model[0] == 'o' && model[1] >= '1' && model[1] <= '9') || str_starts(model, "gpt-5");
}

static json_t *body(const struct author_call *c, const struct remote_quirks *q, const char *partial)
{
    json_t *messages = json_array();
    if (q->no_system || !*c->stable) {
        char *both = xasprintf("%s%s", c->stable, c->turn);
        remote_add_message(messages, "user", both);
        free(both);
    } else {
        remote_add_message(messages, "system", c->stable);
        remote_add_message(messages, "user", c->turn);
    }
    if (partial) {
        remote_add_message(messages, "assistant", partial);
        remote_add_message(messages, "user", REMOTE_GO_ON);
    }
    json_t *j =
        json_pack("{s:s, s:o, s:b}", "model", c->author->model, "messages", messages, "stream", 1);
    if (!j)
        return NULL;
    if (!q->no_max_tokens)
        json_object_set_new(j, q->legacy_max_tokens ? "max_tokens" : "max_completion_tokens",
                            json_integer(remote_max_tokens(c, q)));
    if (!q->no_stream_options)
        json_object_set_new(j, "stream_options", json_pack("{s:b}", "include_usage", 1));
    if (c->temperature >= 0 && !q->no_temperature && !is_reasoning(c->author->model))
        json_object_set_new(j, "temperature", json_real(c->temperature));
    return j;
}

static void usage(struct remote_answer *a, const json_t *u)
{
    if (!json_is_object(u))
        return;
    bool in = remote_uint(u, "prompt_tokens", &a->in_tokens);
    bool out = remote_uint(u, "completion_tokens", &a->out_tokens);
    a->have_usage |= in && out;
    remote_uint(json_object_get(u, "prompt_tokens_details"), "cached_tokens", &a->cached_tokens);
}

static void finish_reason(struct remote_answer *a, const char *reason)
{
    const char *f = str_eq(reason, "stop") || str_eq(reason, "eos")            ? "stop"
                    : str_eq(reason, "length") || str_eq(reason, "max_tokens") ? "length"
                    : str_eq(reason, "content_filter")                         ? "refused"
                                                                               : "";
    if (*f)
        snprintf(a->finish, sizeof a->finish, "%s", f);
}

static void choice(struct remote_answer *a, const json_t *j, const char *part)
{
    const json_t *choices = json_object_get(j, "choices");
    const json_t *c = json_array_get(choices, 0);
    if (!choices || !json_is_array(choices)) {
        a->malformed++;
        return;
    }
    if (!c)
        return; /* the last chunk carries only usage */
    const json_t *content = json_object_get(json_object_get(c, part), "content");
    if (json_is_string(content))
        strbuf_add(&a->text, json_string_value(content), json_string_length(content));
    else if (content && !json_is_null(content))
        a->malformed++;
    finish_reason(a, remote_str(c, "finish_reason"));
}

static void event(struct remote_answer *a, const char *name, const json_t *j)
{
    const json_t *e = json_object_get(j, "error");
    if (e && !json_is_null(e)) {
        remote_set_error(a, e);
        return;
    }
    if (*remote_str(j, "model"))
        snprintf(a->model, sizeof a->model, "%s", remote_str(j, "model"));
    usage(a, json_object_get(j, "usage"));
    if (!a->finish[0]) /* text after the finish reason repeats earlier text */
        choice(a, j, "delta");
}

static void whole(struct remote_answer *a, const json_t *j)
{
    snprintf(a->model, sizeof a->model, "%s", remote_str(j, "model"));
    usage(a, json_object_get(j, "usage"));
    choice(a, j, "message");
}

const struct remote_protocol remote_openai = {
    .key_env = "OPENAI_API_KEY",
    .base_env = "OPENAI_BASE_URL",
    .default_base = "https://api.openai.com/v1",
    .path = "/chat/completions",
    .legacy_elsewhere = true,
    .headers = headers,
    .body = body,
    .event = event,
    .whole = whole,
};

static int open_openai(struct author *a, const char *arg, struct err *err)
{
    return remote_open(a, arg, &remote_openai, err);
}

const struct author_ops author_openai = {
    .scheme = "openai",
    .usage = "openai:MODEL",
    .about = "chat completions of any OpenAI-compatible server",
    .open = open_openai,
    .close = remote_close,
    .start = remote_start,
    .step = remote_step,
    .wait = remote_wait,
    .end = remote_end,
    .reserves = true,
};
