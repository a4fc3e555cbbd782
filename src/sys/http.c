/*
 * http.c - HTTP requests through libcurl's multi interface.
 *
 * The declarations below are the part of libcurl's stable ABI that this file uses. So Hone builds
 * without curl's headers. dlopen() loads the library; if it is missing, Hone runs without HTTP.
 */
#include "sys/http.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum {
    OPT_WRITEDATA = 10001,
    OPT_URL = 10002,
    OPT_ERRORBUFFER = 10010,
    OPT_POSTFIELDS = 10015,
    OPT_USERAGENT = 10018,
    OPT_HTTPHEADER = 10023,
    OPT_HEADERDATA = 10029,
    OPT_ACCEPT_ENCODING = 10102,
    OPT_PRIVATE = 10103,
    OPT_WRITEFUNCTION = 20011,
    OPT_HEADERFUNCTION = 20079,
    OPT_POSTFIELDSIZE_LARGE = 30120,
    OPT_POST = 47,
    OPT_FOLLOWLOCATION = 52,
    OPT_NOSIGNAL = 99,
    OPT_CONNECTTIMEOUT_MS = 156,
    OPT_PROTOCOLS = 181,
    INFO_PRIVATE = 0x100000 + 21,
    INFO_RESPONSE_CODE = 0x200000 + 2,
    PROTO_HTTP_AND_HTTPS = 1 | 2,
    MSG_DONE = 1,
};

enum {
    E_UNSUPPORTED_PROTOCOL = 1,
    E_URL_MALFORMAT = 3,
    E_RESOLVE_PROXY = 5,
    E_RESOLVE_HOST = 6,
    E_COULDNT_CONNECT = 7,
    E_WRITE_ERROR = 23,
    E_OPERATION_TIMEDOUT = 28,
    E_SSL_CONNECT = 35,
    E_PEER_VERIFICATION = 60,
    E_BAD_CONTENT_ENCODING = 61,
};

struct curl_msg {
    int msg;
    void *easy;
    union {
        void *whatever;
        int result;
    } data;
};

struct curl_api {
    int (*global_init)(long);
    void *(*easy_init)(void);
    void (*easy_cleanup)(void *);
    int (*easy_setopt)(void *, int, ...);
    int (*easy_getinfo)(void *, int, ...);
    const char *(*easy_strerror)(int);
    void *(*slist_append)(void *, const char *);
    void (*slist_free_all)(void *);
    void *(*multi_init)(void);
    int (*multi_cleanup)(void *);
    int (*multi_add_handle)(void *, void *);
    int (*multi_remove_handle)(void *, void *);
    int (*multi_perform)(void *, int *);
    int (*multi_poll)(void *, void *, unsigned, int, int *);
    struct curl_msg *(*multi_info_read)(void *, int *);
};

#define MAX_HEADERS (64u << 10) /* bytes of an answer's headers */

struct http {
    void *lib;
    struct curl_api c;
    void *multi;
    struct http_transfer *first;
};

struct http_transfer {
    struct http *h;
    struct http_transfer *next, *prev;
    void *easy;
    void *headers;
    bool added; /* libcurl works on it; false = done */
    enum http_outcome outcome;
    char text[320]; /* for http_outcome_text() */
    char curl_error[256];
    char content_type[128];
    bool headers_done;
    struct strbuf answer_headers; /* of the newest answer; each line ends with \n */
    char *request_body;
    struct strbuf body;
    size_t max_bytes;
    uint64_t started_ns, last_byte_ns;
    uint64_t total_ns, stall_ns;
};

static const char *const library_names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"};

static int load_symbols(struct http *h, struct err *err)
{
    const struct {
        const char *name;
        void **slot;
    } symbols[] = {
        {"curl_global_init", (void **)&h->c.global_init},
        {"curl_easy_init", (void **)&h->c.easy_init},
        {"curl_easy_cleanup", (void **)&h->c.easy_cleanup},
        {"curl_easy_setopt", (void **)&h->c.easy_setopt},
        {"curl_easy_getinfo", (void **)&h->c.easy_getinfo},
        {"curl_easy_strerror", (void **)&h->c.easy_strerror},
        {"curl_slist_append", (void **)&h->c.slist_append},
        {"curl_slist_free_all", (void **)&h->c.slist_free_all},
        {"curl_multi_init", (void **)&h->c.multi_init},
        {"curl_multi_cleanup", (void **)&h->c.multi_cleanup},
        {"curl_multi_add_handle", (void **)&h->c.multi_add_handle},
        {"curl_multi_remove_handle", (void **)&h->c.multi_remove_handle},
        {"curl_multi_perform", (void **)&h->c.multi_perform},
        {"curl_multi_poll", (void **)&h->c.multi_poll},
        {"curl_multi_info_read", (void **)&h->c.multi_info_read},
    };
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        *symbols[i].slot = dlsym(h->lib, symbols[i].name);
        if (!*symbols[i].slot)
            return err_set(err, ERR_ENV, "libcurl lacks %s: version 7.66 or later is needed",
                           symbols[i].name);
    }
    return 0;
}

int http_open(struct http **out, struct err *err)
{
    struct http *h = xcalloc(1, sizeof *h);
    for (size_t i = 0; i < ARRAY_LEN(library_names) && !h->lib; i++)
        h->lib = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
    if (!h->lib) {
        err_set(err, ERR_ENV,
                "libcurl is not on this machine, so no model can be reached over HTTP; install "
                "libcurl4, or use an author without HTTP (playbook, exec:, mailbox:, replay:)");
        goto fail;
    }
    if (load_symbols(h, err) < 0)
        goto fail;
    if (h->c.global_init(3) != 0 || !(h->multi = h->c.multi_init())) {
        err_set(err, ERR_ENV, "libcurl does not start");
        goto fail;
    }
    *out = h;
    return 0;
fail:
    free(h); /* libcurl stays loaded: it may have threads */
    return -1;
}

void http_close(struct http *h)
{
    if (!h)
        return;
    for (struct http_transfer *t = h->first, *next; t; t = next) {
        next = t->next;
        http_transfer_free(t);
    }
    h->c.multi_cleanup(h->multi);
    free(h);
}

static size_t on_data(char *data, size_t size, size_t n, void *ctx)
{
    struct http_transfer *t = ctx;
    size_t bytes = size * n;
    t->last_byte_ns = now_ns();
    if (bytes > t->max_bytes - t->body.len) {
        t->outcome = HTTP_TOO_BIG;
        return 0;
    }
    strbuf_add(&t->body, data, bytes);
    return bytes;
}

/* If `line` is the header `name`, copies its value to `out`, without the spaces around it, and
 * returns true. If `lower` is true, the copy is in lower case. */
static bool take_header(const char *line, size_t n, const char *name, char *out, size_t size,
                        bool lower)
{
    size_t len = strlen(name);
    if (n <= len || strncasecmp(line, name, len) != 0 || line[len] != ':')
        return false;
    const char *p = line + len + 1, *end = line + n;
    while (p < end && isspace((unsigned char)*p))
        p++;
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    size_t k = MIN((size_t)(end - p), size - 1);
    for (size_t i = 0; i < k; i++) {
        unsigned char ch = (unsigned char)p[i];
        out[i] = (char)(!isprint(ch) ? '?' : lower ? tolower(ch) : ch);
    }
    out[k] = '\0';
    return true;
}

static size_t on_header(char *line, size_t size, size_t n, void *ctx)
{
    struct http_transfer *t = ctx;
    size_t bytes = size * n;
    t->last_byte_ns = now_ns();
    if (bytes > 5 && memcmp(line, "HTTP/", 5) == 0) {
        t->content_type[0] = '\0';
        strbuf_clear(&t->answer_headers);
        t->headers_done = false;
    }
    if (*line == '\r' || *line == '\n')
        t->headers_done = http_status(t) >= 200;
    take_header(line, bytes, "content-type", t->content_type, sizeof t->content_type, true);
    strbuf_add(&t->answer_headers, line, bytes);
    return bytes;
}

int http_start(struct http *h, const struct http_request *rq, struct http_transfer **out,
               struct err *err)
{
    if (!str_starts(rq->url, "https://") && !str_starts(rq->url, "http://"))
        return err_set(err, ERR_INPUT, "'%s' is not an http:// or https:// address", rq->url);
    struct http_transfer *t = xcalloc(1, sizeof *t);
    t->h = h;
    t->easy = h->c.easy_init();
    if (!t->easy) {
        free(t);
        return err_set(err, ERR_SYSTEM, "libcurl could not create a handle");
    }
    t->max_bytes = rq->max_bytes ? rq->max_bytes : 64u << 20;
    strbuf_init(&t->body, t->max_bytes);
    strbuf_init(&t->answer_headers, MAX_HEADERS);
    t->started_ns = t->last_byte_ns = now_ns();
    t->total_ns = rq->total_ns ? rq->total_ns : 900000000000ull;
    t->stall_ns = rq->stall_ns ? rq->stall_ns : 120000000000ull;
    uint64_t connect_ns = rq->connect_ns ? rq->connect_ns : 20000000000ull;

    const struct curl_api *c = &h->c;
    c->easy_setopt(t->easy, OPT_URL, rq->url);
    c->easy_setopt(t->easy, OPT_PRIVATE, t);
    c->easy_setopt(t->easy, OPT_NOSIGNAL, 1L);
    c->easy_setopt(t->easy, OPT_FOLLOWLOCATION, 0L);
    c->easy_setopt(t->easy, OPT_PROTOCOLS, (long)PROTO_HTTP_AND_HTTPS);
    c->easy_setopt(t->easy, OPT_USERAGENT, "hone");
    c->easy_setopt(t->easy, OPT_ACCEPT_ENCODING, "");
    c->easy_setopt(t->easy, OPT_CONNECTTIMEOUT_MS, (long)(connect_ns / 1000000 + 1));
    c->easy_setopt(t->easy, OPT_ERRORBUFFER, t->curl_error);
    c->easy_setopt(t->easy, OPT_WRITEFUNCTION, on_data);
    c->easy_setopt(t->easy, OPT_WRITEDATA, t);
    c->easy_setopt(t->easy, OPT_HEADERFUNCTION, on_header);
    c->easy_setopt(t->easy, OPT_HEADERDATA, t);
    for (const char *const *p = rq->headers; p && *p; p++)
        t->headers = c->slist_append(t->headers, *p);
    t->headers = c->slist_append(t->headers, "Expect:");
    c->easy_setopt(t->easy, OPT_HTTPHEADER, t->headers);
    if (rq->body) {
        t->request_body = xmalloc(rq->body_len + 1);
        memcpy(t->request_body, rq->body, rq->body_len);
        t->request_body[rq->body_len] = '\0';
        c->easy_setopt(t->easy, OPT_POST, 1L);
        c->easy_setopt(t->easy, OPT_POSTFIELDSIZE_LARGE, (int64_t)rq->body_len);
        c->easy_setopt(t->easy, OPT_POSTFIELDS, t->request_body);
    }
    c->multi_add_handle(h->multi, t->easy);
    t->added = true;
    t->next = h->first;
    if (h->first)
        h->first->prev = t;
    h->first = t;
    *out = t;
    return 0;
}

static void finish(struct http_transfer *t, enum http_outcome outcome, const char *text)
{
    t->outcome = outcome;
    snprintf(t->text, sizeof t->text, "%s", text);
    if (t->added) {
        t->h->c.multi_remove_handle(t->h->multi, t->easy);
        t->added = false;
    }
}

static void finish_curl(struct http_transfer *t, int code)
{
    const char *text = t->curl_error[0] ? t->curl_error : t->h->c.easy_strerror(code);
    switch (code) {
    case 0:
        finish(t, HTTP_COMPLETE, "");
        return;
    case E_UNSUPPORTED_PROTOCOL:
    case E_URL_MALFORMAT:
    case E_RESOLVE_PROXY:
    case E_RESOLVE_HOST:
    case E_COULDNT_CONNECT:
    case E_SSL_CONNECT:
    case E_PEER_VERIFICATION:
        finish(t, HTTP_CONNECT, text);
        return;
    case E_OPERATION_TIMEDOUT:
        finish(t, http_status(t) ? HTTP_TIMEOUT : HTTP_CONNECT, text);
        return;
    case E_BAD_CONTENT_ENCODING:
        finish(t, HTTP_BAD_ENCODING, text);
        return;
    case E_WRITE_ERROR:
        if (t->outcome == HTTP_TOO_BIG) {
            char msg[96];
            snprintf(msg, sizeof msg, "the answer is larger than %zu bytes", t->max_bytes);
            finish(t, HTTP_TOO_BIG, msg);
        } else {
            /* Some versions of libcurl report a broken gzip stream as a write error. */
            finish(t, HTTP_BAD_ENCODING, text);
        }
        return;
    default:
        finish(t, http_status(t) ? HTTP_BROKEN : HTTP_CONNECT, text);
    }
}

static void check_clocks(struct http *h)
{
    uint64_t now = now_ns();
    for (struct http_transfer *t = h->first; t; t = t->next) {
        char msg[96];
        if (!t->added)
            continue;
        if (now - t->started_ns > t->total_ns) {
            snprintf(msg, sizeof msg, "no complete answer within %.1f s",
                     (double)t->total_ns / 1e9);
            finish(t, HTTP_TIMEOUT, msg);
        } else if (now - t->last_byte_ns > t->stall_ns) {
            snprintf(msg, sizeof msg, "nothing arrived for %.1f s", (double)t->stall_ns / 1e9);
            finish(t, HTTP_STALLED, msg);
        }
    }
}

void http_wait(struct http *h, uint64_t timeout_ns)
{
    int running = 0, left = 0;
    uint64_t wait_ns = timeout_ns, now = now_ns();
    h->c.multi_perform(h->multi, &running);
    for (struct http_transfer *t = h->first; t; t = t->next) {
        if (!t->added)
            continue;
        uint64_t due = MIN(t->started_ns + t->total_ns, t->last_byte_ns + t->stall_ns);
        wait_ns = MIN(wait_ns, due > now ? due - now + 1000000 : 0);
    }
    h->c.multi_poll(h->multi, NULL, 0, (int)MIN(wait_ns / 1000000, 60000), NULL);
    h->c.multi_perform(h->multi, &running);
    for (struct curl_msg *m; (m = h->c.multi_info_read(h->multi, &left));) {
        struct http_transfer *t = NULL;
        if (m->msg != MSG_DONE)
            continue;
        int code = m->data.result;
        h->c.easy_getinfo(m->easy, INFO_PRIVATE, &t);
        if (t && t->added)
            finish_curl(t, code);
    }
    check_clocks(h);
}

bool http_done(const struct http_transfer *t)
{
    return !t->added;
}

enum http_outcome http_outcome(const struct http_transfer *t)
{
    return t->added ? HTTP_RUNNING : t->outcome;
}

const char *http_outcome_text(const struct http_transfer *t)
{
    return t->text;
}

int http_status(const struct http_transfer *t)
{
    long status = 0;
    t->h->c.easy_getinfo(t->easy, INFO_RESPONSE_CODE, &status);
    return (int)status;
}

const char *http_content_type(const struct http_transfer *t)
{
    return t->content_type;
}

bool http_headers_done(const struct http_transfer *t)
{
    return t->headers_done;
}

bool http_header(const struct http_transfer *t, const char *name, char *out, size_t size)
{
    const char *line = t->answer_headers.buf, *end = line + t->answer_headers.len, *eol;
    for (; line < end && (eol = memchr(line, '\n', (size_t)(end - line))); line = eol + 1)
        if (take_header(line, (size_t)(eol - line), name, out, size, false))
            return true;
    return false;
}

const struct strbuf *http_body(const struct http_transfer *t)
{
    return &t->body;
}

void http_transfer_free(struct http_transfer *t)
{
    if (!t)
        return;
    if (t->added)
        t->h->c.multi_remove_handle(t->h->multi, t->easy);
    t->h->c.easy_cleanup(t->easy);
    t->h->c.slist_free_all(t->headers);
    if (t->next)
        t->next->prev = t->prev;
    if (t->prev)
        t->prev->next = t->next;
    else
        t->h->first = t->next;
    strbuf_release(&t->body);
    strbuf_release(&t->answer_headers);
    free(t->request_body);
    free(t);
}
