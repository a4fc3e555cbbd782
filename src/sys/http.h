/*
 * http.h - HTTP requests, several at once, with every limit an outside server can test.
 *
 *     struct http *h;
 *     if (http_open(&h, err) < 0) ...                     libcurl is loaded here, at run time
 *     struct http_transfer *t;
 *     http_start(h, &(struct http_request){.url = url, .body = json, .body_len = n}, &t, err);
 *     while (!http_done(t)) {
 *         http_wait(h, 1000000000);
 *         consume(http_body(t)->buf + seen, http_body(t)->len - seen);   what has arrived so far
 *     }
 *     http_transfer_free(t);
 *
 * libcurl is never linked: a machine without it gets an ERR_ENV that says so. Nothing here writes
 * a header or a body to a log, so a key in a header stays where it is. Redirects are not followed:
 * a key must not travel to a place its owner did not name.
 */
#ifndef SYS_HTTP_H
#define SYS_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

struct http;
struct http_transfer;

struct http_request {
    const char *url;
    const char *const *headers; /* "Name: value", NULL-terminated; NULL = none */
    const char *body;           /* NULL = GET */
    size_t body_len;
    uint64_t connect_ns; /* 0 = 20 s */
    uint64_t total_ns;   /* 0 = 15 min */
    uint64_t stall_ns;   /* no byte for this long ends the transfer; 0 = 120 s */
    size_t max_bytes;    /* of the answer; 0 = 64 MiB */
};

enum http_outcome {
    HTTP_RUNNING,
    HTTP_COMPLETE, /* an answer came and ended as it should, whatever its status */
    HTTP_CONNECT,  /* no connection: name, route, refused, TLS */
    HTTP_BROKEN,   /* the connection ended in the middle of the answer */
    HTTP_STALLED,
    HTTP_TIMEOUT,
    HTTP_TOO_BIG,
    HTTP_BAD_ENCODING, /* the answer's content encoding is not what it says */
    HTTP_OTHER
};

int http_open(struct http **out, struct err *err);
void http_close(struct http *h); /* transfers must be freed before */

int http_start(struct http *h, const struct http_request *rq, struct http_transfer **out,
               struct err *err);
/* Moves every transfer on; returns when something happened or the time is over. */
void http_wait(struct http *h, uint64_t timeout_ns);
bool http_done(const struct http_transfer *t);
enum http_outcome http_outcome(const struct http_transfer *t);
const char *http_outcome_text(const struct http_transfer *t); /* one sentence, without secrets */
int http_status(const struct http_transfer *t);               /* 0 = no answer yet */
const char *http_content_type(const struct http_transfer *t); /* lower case; "" = none */
const char *http_header_retry_after(const struct http_transfer *t); /* "" = none */
const struct strbuf *http_body(const struct http_transfer *t);
void http_transfer_free(struct http_transfer *t); /* cancels it if it still runs */

#endif
