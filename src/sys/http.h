/*
 * http.h - HTTP requests, several at once, with a limit on everything that a server controls.
 *
 *     struct http *h;
 *     if (http_open(&h, err) < 0) ...                     loads libcurl at run time
 *     struct http_transfer *t;
 *     http_start(h, &(struct http_request){.url = url, .body = json, .body_len = n}, &t, err);
 *     while (!http_done(t)) {
 *         http_wait(h, 1000000000);
 *         consume(http_body(t)->buf + seen, http_body(t)->len - seen);   the bytes so far
 *     }
 *     http_transfer_free(t);
 *
 * Without libcurl, http_open() fails with ERR_ENV. A header may hold an API key, so http.c logs no
 * headers and no bodies, and follows no redirects.
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
    uint64_t stall_ns;   /* longest time without a byte; 0 = 120 s */
    size_t max_bytes;    /* cap on the answer; 0 = 64 MiB */
};

enum http_outcome {
    HTTP_RUNNING,
    HTTP_COMPLETE, /* the whole answer arrived, with any HTTP status */
    HTTP_CONNECT,  /* unknown name, no route, refused, or TLS failed */
    HTTP_BROKEN,   /* the connection ended in the middle of the answer */
    HTTP_STALLED,
    HTTP_TIMEOUT,
    HTTP_TOO_BIG,
    HTTP_BAD_ENCODING, /* the answer does not fit its declared encoding */
    HTTP_OTHER
};

int http_open(struct http **out, struct err *err);
void http_close(struct http *h); /* also frees the transfers */

int http_start(struct http *h, const struct http_request *rq, struct http_transfer **out,
               struct err *err);
/* Serves all transfers until something happens, or for timeout_ns. */
void http_wait(struct http *h, uint64_t timeout_ns);
bool http_done(const struct http_transfer *t);
enum http_outcome http_outcome(const struct http_transfer *t);
/* what went wrong, in one sentence without secrets; "" if nothing did */
const char *http_outcome_text(const struct http_transfer *t);
int http_status(const struct http_transfer *t);               /* 0 = no answer yet */
const char *http_content_type(const struct http_transfer *t); /* lower case; "" = none */
bool http_headers_done(const struct http_transfer *t);
/* Copies the value of the answer's header `name` to `out`. Cuts a value that does not fit into
 * `size` bytes. Returns false if there is no such header. */
bool http_header(const struct http_transfer *t, const char *name, char *out, size_t size);
const struct strbuf *http_body(const struct http_transfer *t);
void http_transfer_free(struct http_transfer *t); /* cancels it if it still runs */

#endif
