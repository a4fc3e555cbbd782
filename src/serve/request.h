/*
 * request.h - decides what an HTTP request asks for and whether its sender may ask. The functions
 * only look at texts, so a fuzzer can test them.
 *
 * Invariants:
 *  1. No part of a request becomes a path of a file. An asset's name must be in the table of
 *     embedded files.
 *  2. Names in a query (view.h) consist of letters, digits, '_', '-' and '.'. There are no escapes.
 *  3. Only ROUTE_LOGIN works without the cookie.
 */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "view/view.h"

#define ACCESS_SECRET 65 /* 64 hex digits and the NUL */

enum route { ROUTE_NONE, ROUTE_PAGE, ROUTE_LOGIN, ROUTE_ASSET, ROUTE_API, ROUTE_EVENTS };

struct request {
    enum route route;
    char token[ACCESS_SECRET]; /* for ROUTE_LOGIN */
    const struct asset *asset; /* for ROUTE_ASSET */
    struct view_query query;   /* for ROUTE_API */
};

/* `target` is what the client sent: "/api/run?run=x". */
void request_parse(struct request *r, const char *target);

/* The secrets of a server. `hone serve` prints a link with the token. A browser that opens the link
 * gets the cookie, and sends it with every later request. */
struct access {
    char token[ACCESS_SECRET], cookie[ACCESS_SECRET];
    char cookie_name[32]; /* contains the port, because browsers send a cookie to all ports */
    char address[64];     /* on which the server listens */
    unsigned port;
    bool loopback;
};

/* Draws the secrets. Call access_set_port() as soon as the server listens. */
int access_init(struct access *a, const char *address, struct err *err);
void access_set_port(struct access *a, unsigned port);
bool access_token_ok(const struct access *a, const char *token);
/* Does the Cookie header (`header`; NULL if there is none) contain the cookie? */
bool access_cookie_ok(const struct access *a, const char *header);
/* Does the Host header name this server? Another site can make its own host name resolve to
 * 127.0.0.1. The browser then sends that name as Host, and we refuse. A server on more than
 * loopback also accepts this machine's name and all numeric addresses. */
bool access_host_ok(const struct access *a, const char *host);
/* Does the Origin header name this server? Returns true also if the request has no such header
 * (NULL). */
bool access_origin_ok(const struct access *a, const char *origin);

#endif
