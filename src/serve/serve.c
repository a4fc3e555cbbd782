/* serve.c - the HTTP server: starts, stops, and answers or refuses each request. See serve.h. */
#include "serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "serve/answers.h"
#include "serve/live.h"
#include "serve/request.h"
#include "serve/respond.h"
#include "sys/asset.h"
#include "sys/interrupt.h"

enum {
    MAX_CONNECTIONS = 512,
    MAX_LISTENERS = 256,
    IDLE_S = 20,              /* a connection that is idle for so long is closed */
    CONNECTION_BYTES = 16384, /* for the request's headers and for the output */
    MAX_TARGET = 512,
    LOOK_MS = 250,
};

struct server {
    struct mhd mhd;
    struct MHD_Daemon *daemon;
    struct store *store, *watch; /* one handle for each thread: see serve.h */
    struct answers *answers;
    struct live *live;
    struct access access;
    char *link, *address;
};

/* ---- requests ------------------------------------------------------------------------------- */

static const struct {
    const char *suffix, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
};

static enum MHD_Result send_asset(struct server *v, struct MHD_Connection *c, const struct asset *a)
{
    const char *type = "application/octet-stream";
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_ends(a->path, types[i].suffix))
            type = types[i].type;
    struct MHD_Response *r = respond_make(&v->mhd, type, a->data, a->len);
    enum MHD_Result rc = r ? v->mhd.queue_response(c, MHD_HTTP_OK, r) : MHD_NO;
    if (r)
        v->mhd.destroy_response(r);
    return rc;
}

static enum MHD_Result send_api(struct server *v, struct MHD_Connection *c,
                                const struct view_query *q)
{
    struct err err = ERR_INIT;
    struct MHD_Response *r = answers_get(v->answers, q, &err);
    if (r)
        return v->mhd.queue_response(c, MHD_HTTP_OK, r);
    if (err.kind == ERR_INPUT)
        return respond_error(&v->mhd, c, MHD_HTTP_NOT_FOUND, err.msg);
    /* The message may hold paths of this machine, so only the terminal gets it. */
    log_warn("serve", "%s", err.msg);
    return respond_error(&v->mhd, c, MHD_HTTP_INTERNAL_SERVER_ERROR,
                         "Hone cannot answer this; the terminal of `hone serve` says why");
}

static enum MHD_Result send_events(struct server *v, struct MHD_Connection *c)
{
    struct MHD_Response *r = live_listen(v->live, c);
    if (!r)
        return respond_error(&v->mhd, c, MHD_HTTP_SERVICE_UNAVAILABLE,
                             "too many pages are open: close some");
    v->mhd.add_header(r, "Content-Type", "text/event-stream");
    respond_secure(&v->mhd, r);
    enum MHD_Result rc = v->mhd.queue_response(c, MHD_HTTP_OK, r);
    v->mhd.destroy_response(r);
    return rc;
}

/* Sets the cookie and sends a page that loads "/". A redirect to "/" would not work: if a link on
 * another site led here, the browser would not send a SameSite=Strict cookie after the redirect. */
static enum MHD_Result send_login(struct server *v, struct MHD_Connection *c)
{
    const struct asset *a = asset_find("web/login.html");
    struct MHD_Response *r = respond_make(&v->mhd, types[0].type, a->data, a->len);
    char cookie[256];
    if (!r)
        return MHD_NO;
    snprintf(cookie, sizeof cookie, "%s=%s; HttpOnly; SameSite=Strict; Path=/",
             v->access.cookie_name, v->access.cookie);
    v->mhd.add_header(r, "Set-Cookie", cookie);
    enum MHD_Result rc = v->mhd.queue_response(c, MHD_HTTP_OK, r);
    v->mhd.destroy_response(r);
    return rc;
}

static const char *header(struct server *v, struct MHD_Connection *c, const char *name)
{
    return v->mhd.lookup(c, MHD_HEADER_KIND, name);
}

/* How many Host and Cookie headers a request has. */
struct header_counts {
    unsigned host, cookie;
};

static enum MHD_Result count_header(void *cls, enum MHD_ValueKind kind, const char *key,
                                    const char *value)
{
    struct header_counts *n = cls;
    n->host += strcasecmp(key, "Host") == 0;
    n->cookie += strcasecmp(key, "Cookie") == 0;
    return MHD_YES;
}

/* Returns 0, or the HTTP status of a refusal with the reason in *why. */
static unsigned refuse(struct server *v, struct MHD_Connection *c, const char *method,
                       const struct request *r, const char **why)
{
    const char *site = header(v, c, "Sec-Fetch-Site");
    struct header_counts n = {0};
    v->mhd.get_values(c, MHD_HEADER_KIND, count_header, &n);
    if (!str_eq(method, "GET") && !str_eq(method, "HEAD")) {
        *why = "the method must be GET or HEAD\n";
        return MHD_HTTP_METHOD_NOT_ALLOWED;
    }
    if (n.host > 1 || n.cookie > 1 || !access_host_ok(&v->access, header(v, c, "Host"))) {
        *why = "a request must have one Host header, which must name this server, and at most one "
               "Cookie header\n";
        return MHD_HTTP_MISDIRECTED_REQUEST;
    }
    if (!access_origin_ok(&v->access, header(v, c, "Origin")) ||
        (site && r->route != ROUTE_LOGIN && r->route != ROUTE_PAGE &&
         !str_eq(site, "same-origin") && !str_eq(site, "none"))) {
        *why = "the request must come from a page of this server, not of another site\n";
        return MHD_HTTP_FORBIDDEN;
    }
    if (r->route == ROUTE_LOGIN ? !access_token_ok(&v->access, r->token)
                                : !access_cookie_ok(&v->access, header(v, c, "Cookie"))) {
        *why = "Open the link that `hone serve` printed: it has the token in it.\n";
        return MHD_HTTP_UNAUTHORIZED;
    }
    return 0;
}

/* A request, from its first line until its answer is sent. */
struct asked {
    char target[MAX_TARGET]; /* as the client sent it; "" if too long */
    bool headers_read;
};

/* libmicrohttpd calls this before it decodes the escapes in the target. */
static void *begin_request(void *cls, const char *target, struct MHD_Connection *c)
{
    struct asked *q = xcalloc(1, sizeof *q);
    if (strlen(target) < sizeof q->target)
        snprintf(q->target, sizeof q->target, "%s", target);
    return q;
}

static void end_request(void *cls, struct MHD_Connection *c, void **asked,
                        enum MHD_RequestTerminationCode how)
{
    free(*asked);
    *asked = NULL;
}

static bool has_body(struct server *v, struct MHD_Connection *c)
{
    const char *length = header(v, c, "Content-Length");
    return header(v, c, "Transfer-Encoding") || (length && !str_eq(length, "0"));
}

static enum MHD_Result answer_request(struct server *v, struct MHD_Connection *c,
                                      const char *method, const char *target)
{
    struct request r;
    const char *why = NULL;
    request_parse(&r, target);
    unsigned status = refuse(v, c, method, &r, &why);
    if (status)
        return respond_text(&v->mhd, c, status, why);
    switch (r.route) {
    case ROUTE_NONE:
        break;
    case ROUTE_PAGE:
        return send_asset(v, c, asset_find("web/index.html"));
    case ROUTE_LOGIN:
        return send_login(v, c);
    case ROUTE_ASSET:
        return send_asset(v, c, r.asset);
    case ROUTE_API:
        return send_api(v, c, &r.query);
    case ROUTE_EVENTS:
        return send_events(v, c);
    }
    return respond_error(&v->mhd, c, MHD_HTTP_NOT_FOUND, "there is no such page");
}

/*
 * libmicrohttpd calls this twice for a request: after its headers, and at its end. An answer in the
 * first call closes the connection; an answer in the second keeps it open. In the first call we
 * refuse requests with a body, or with a method other than GET and HEAD, so we never read the rest
 * of them.
 */
static enum MHD_Result answer(void *cls, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *body,
                              size_t *body_len, void **asked)
{
    struct server *v = cls;
    struct asked *q = *asked;
    bool plain = str_eq(method, "GET") || str_eq(method, "HEAD");
    if (!q)
        return MHD_NO;
    if (plain && has_body(v, c))
        return respond_text(&v->mhd, c, MHD_HTTP_CONTENT_TOO_LARGE, "requests must have no body\n");
    if (plain && !q->headers_read) {
        q->headers_read = true;
        return MHD_YES;
    }
    return answer_request(v, c, method, q->target);
}

/* ---- the server ----------------------------------------------------------------------------- */

static int resolve(const char *address, uint16_t port, struct sockaddr_storage *out,
                   struct err *err)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char service[16];
    snprintf(service, sizeof service, "%u", port);
    int rc = getaddrinfo(address, service, &hints, &found);
    if (rc != 0)
        return err_set(err, ERR_USAGE,
                       "the address must be numeric, such as 127.0.0.1 or ::1, and not '%s'",
                       address);
    memcpy(out, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

static int listen_on(struct server *v, const struct server_config *c, struct err *err)
{
    struct sockaddr_storage at = {0};
    if (resolve(v->access.address, c->port, &at, err) < 0)
        return -1;
    unsigned flags = MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                     (at.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0);
    errno = 0;
    v->daemon = v->mhd.start_daemon(flags, c->port, NULL, NULL, answer, v, MHD_OPTION_SOCK_ADDR,
                                    &at, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS,
                                    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
                                    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
                                    MHD_OPTION_URI_LOG_CALLBACK, begin_request, v,
                                    MHD_OPTION_NOTIFY_COMPLETED, end_request, v, MHD_OPTION_END);
    if (!v->daemon)
        return errno == EADDRINUSE
                   ? err_set(err, ERR_ENV, "port %u is in use; --port 0 takes a free one", c->port)
                   : err_set(err, ERR_ENV, "cannot listen on %s port %u: %s", v->access.address,
                             c->port, errno ? strerror(errno) : "libmicrohttpd refused");
    const union MHD_DaemonInfo *port = v->mhd.get_daemon_info(v->daemon, MHD_DAEMON_INFO_BIND_PORT);
    access_set_port(&v->access, port && port->port ? port->port : c->port);
    return 0;
}

int server_start(struct server **out, const struct server_config *c, struct err *err)
{
    struct server *v = xcalloc(1, sizeof *v);
    *out = v;
    if (mhd_load(&v->mhd, err) < 0 || store_open_read(&v->store, c->store, err) < 0 ||
        store_open_read(&v->watch, c->store, err) < 0 ||
        access_init(&v->access, c->address ? c->address : "127.0.0.1", err) < 0)
        goto fail;
    v->answers = answers_new(&v->mhd, v->store);
    v->live = live_new(&v->mhd, v->watch, MAX_LISTENERS);
    if (live_look(v->live, err) < 0 || listen_on(v, c, err) < 0)
        goto fail;
    bool six = strchr(v->access.address, ':') != NULL;
    v->address = xasprintf("http://%s%s%s:%u/", six ? "[" : "", v->access.address, six ? "]" : "",
                           v->access.port);
    v->link = xasprintf("%slogin?token=%s", v->address, v->access.token);
    return 0;
fail:
    server_stop(v);
    *out = NULL;
    return -1;
}

const char *server_link(const struct server *v)
{
    return v->link;
}

const char *server_address(const struct server *v)
{
    return v->address;
}

unsigned server_port(const struct server *v)
{
    return v->access.port;
}

bool server_is_loopback(const struct server *v)
{
    return v->access.loopback;
}

int server_wait(struct server *v, struct err *err)
{
    struct pollfd stop = {.fd = interrupt_fd(), .events = POLLIN};
    poll(&stop, stop.fd >= 0, LOOK_MS);
    return live_look(v->live, err);
}

void server_stop(struct server *v)
{
    if (!v)
        return;
    if (v->daemon) {
        live_close(v->live);
        v->mhd.stop_daemon(v->daemon);
    }
    if (v->answers)
        answers_free(v->answers);
    live_free(v->live);
    store_close(v->store);
    store_close(v->watch);
    mhd_unload(&v->mhd);
    free(v->link);
    free(v->address);
    free(v);
}
