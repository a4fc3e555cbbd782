/* reply.c - whatever an author may send: extraction, edits, anchors, event streams, folding. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/anchors.h"
#include "agent/extract.h"
#include "author/sse.h"
#include "base/util.h"
#include "prompt/fold.h"
#include "source/dialect.h"

static void on_event(void *ctx, const char *event, const char *data, size_t len)
{
    *(size_t *)ctx += len + strlen(event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char parent[] = "/* hone-plan\n{}\n*/\nint a;\n}\n}\n__global__ void k();\n";
    struct extract x;
    struct anchor_vec anchors = VEC_INIT;
    const struct line_range_vec hidden = VEC_INIT;
    struct strbuf sb = STRBUF_INIT(1 << 20);
    struct sse p;
    size_t total = 0;
    char *text = xstrndup((const char *)data, size);
    size_t n = strlen(text);
    extract_reply(&x, text, n, parent);
    const char *from[3];
    size_t moves = reply_moves(text, from, 3);
    for (size_t i = 0; i < moves; i++) /* each begins inside the reply, after the move before it */
        if (from[i] < (i ? from[i - 1] + 1 : text) || from[i] > text + n)
            abort();
    dialect_is_cute(text, n, &sb);
    if (anchors_parse(text, parent, &anchors, &sb)) {
        anchors_check(parent, x.ok ? x.source.buf : text, &anchors, &sb);
        anchors_mark(parent, &anchors, &hidden, &sb);
    }
    fold_text(text, n, 50, &sb);
    sse_init(&p, on_event, &total);
    sse_feed(&p, (const char *)data, size / 2);
    sse_feed(&p, (const char *)data + size / 2, size - size / 2);
    sse_end(&p);
    sse_release(&p);
    extract_release(&x);
    vec_release(&anchors);
    strbuf_release(&sb);
    free(text);
    return 0;
}
