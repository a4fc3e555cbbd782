/* sse.c - the parser of server-sent events (sse.h). */
#include "author/sse.h"

#include <string.h>

#include "base/util.h"

void sse_init(struct sse *p, sse_event_fn fn, void *ctx)
{
    memset(p, 0, sizeof *p);
    p->on_event = fn;
    p->ctx = ctx;
    strbuf_init(&p->line, SSE_MAX_EVENT);
    strbuf_init(&p->data, SSE_MAX_EVENT);
}

void sse_release(struct sse *p)
{
    strbuf_release(&p->line);
    strbuf_release(&p->data);
}

static void dispatch(struct sse *p)
{
    bool duplicate = p->id[0] && strcmp(p->id, p->last_id) == 0;
    if (p->has_data && (p->data.truncated || p->line_too_long))
        p->dropped++;
    else if (p->has_data && duplicate)
        p->duplicates++;
    else if (p->has_data)
        p->on_event(p->ctx, p->event, p->data.buf, p->data.len);
    memcpy(p->last_id, p->id, sizeof p->id);
    strbuf_clear(&p->data);
    p->event[0] = p->id[0] = '\0';
    p->has_data = p->line_too_long = false;
}

static void field(struct sse *p, const char *name, size_t nlen, const char *value, size_t vlen)
{
    if (nlen == 4 && memcmp(name, "data", 4) == 0) {
        if (p->has_data)
            strbuf_addc(&p->data, '\n');
        strbuf_add(&p->data, value, vlen);
        p->has_data = true;
    } else if (nlen == 5 && memcmp(name, "event", 5) == 0) {
        snprintf(p->event, sizeof p->event, "%.*s", (int)MIN(vlen, 63), value);
    } else if (nlen == 2 && memcmp(name, "id", 2) == 0 && !memchr(value, '\0', vlen)) {
        snprintf(p->id, sizeof p->id, "%.*s", (int)MIN(vlen, 127), value);
    }
}

static void end_line(struct sse *p)
{
    const char *s = p->line.buf;
    size_t n = p->line.len;
    p->line_too_long |= p->line.truncated;
    if (!p->started && n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0) {
        s += 3;
        n -= 3;
    }
    p->started = true;
    if (n == 0) {
        dispatch(p);
    } else if (s[0] != ':') {
        const char *colon = memchr(s, ':', n);
        size_t nlen = colon ? (size_t)(colon - s) : n;
        const char *value = colon ? colon + 1 : s + n;
        size_t vlen = (size_t)(s + n - value);
        if (vlen && value[0] == ' ') {
            value++;
            vlen--;
        }
        field(p, s, nlen, value, vlen);
    }
    strbuf_clear(&p->line);
}

void sse_feed(struct sse *p, const char *bytes, size_t n)
{
    size_t start = 0;
    for (size_t i = 0; i < n; i++) {
        char ch = bytes[i];
        if (ch == '\n' && p->saw_cr && i == start) {
            p->saw_cr = false; /* the second half of CRLF */
            start = i + 1;
            continue;
        }
        p->saw_cr = false;
        if (ch != '\n' && ch != '\r')
            continue;
        strbuf_add(&p->line, bytes + start, i - start);
        p->saw_cr = ch == '\r';
        start = i + 1;
        end_line(p);
    }
    if (start < n) {
        strbuf_add(&p->line, bytes + start, n - start);
        p->saw_cr = false;
    }
}

void sse_end(struct sse *p)
{
    if (p->line.len || p->has_data)
        p->unfinished++;
    strbuf_clear(&p->line);
    strbuf_clear(&p->data);
}
