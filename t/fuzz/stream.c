/* Answers of a provider, streamed in pieces or whole, through both protocols. */
#include <stdint.h>
#include <string.h>

#include "author/remote.h"
#include "author/sse.h"
#include "base/util.h"

struct reader {
    const struct remote_protocol *p;
    struct remote_answer answer;
};

static void on_event(void *ctx, const char *event, const char *data, size_t len)
{
    struct reader *r = ctx;
    json_t *j = json_loadb(data, len, JSON_DECODE_ANY, NULL);
    if (j)
        r->p->event(&r->answer, event, j);
    json_decref(j);
}

static void check(const struct remote_answer *a)
{
    if (strlen(a->finish) >= sizeof a->finish || strlen(a->model) >= sizeof a->model ||
        strlen(a->error_type) >= sizeof a->error_type ||
        strlen(a->error_text) >= sizeof a->error_text)
        BUG("a text without an end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct remote_protocol *const protocols[] = {&remote_openai, &remote_anthropic};
    for (size_t i = 0; i < 2; i++) {
        struct reader r = {protocols[i], {.text = STRBUF_INIT(1 << 20)}};
        struct sse p;
        size_t piece = size ? data[0] % 7 + 1 : 1;
        sse_init(&p, on_event, &r);
        for (size_t at = 0; at < size; at += piece)
            sse_feed(&p, (const char *)data + at, MIN(piece, size - at));
        sse_end(&p);
        sse_release(&p);
        check(&r.answer);
        json_t *j = json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);
        if (j)
            r.p->whole(&r.answer, j);
        json_decref(j);
        check(&r.answer);
        strbuf_release(&r.answer.text);
    }
    return 0;
}
