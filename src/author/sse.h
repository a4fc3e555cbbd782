/*
 * sse.h - reads server-sent events in pieces of any size. The server may send anything.
 *
 *     struct sse p;
 *     sse_init(&p, on_event, ctx);
 *     sse_feed(&p, bytes, n);      for each piece that arrives
 *     sse_end(&p);                 the stream is over: an unfinished event is dropped
 *     sse_release(&p);
 *
 * Lines end in LF, CRLF or CR. The parser drops and counts events of more than SSE_MAX_EVENT bytes,
 * and duplicates: events with the id of the event before.
 */
#ifndef AUTHOR_SSE_H
#define AUTHOR_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define SSE_MAX_EVENT (8u << 20)

typedef void (*sse_event_fn)(void *ctx, const char *event, const char *data, size_t len);

struct sse {
    sse_event_fn on_event;
    void *ctx;
    struct strbuf line, data; /* the line and the event that are being read */
    char event[64];
    char id[128], last_id[128]; /* the id of this event, and of the event before */
    /* has_data: the event has a data line. saw_cr: the last byte was a CR. started: the first line
     * was read. */
    bool has_data, saw_cr, started, line_too_long;
    /* events that were too long, were repeated, or had no end */
    uint32_t dropped, duplicates, unfinished;
};

void sse_init(struct sse *p, sse_event_fn fn, void *ctx);
void sse_feed(struct sse *p, const char *bytes, size_t n);
void sse_end(struct sse *p);
void sse_release(struct sse *p);

#endif
