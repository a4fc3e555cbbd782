/*
 * request.h - decides what an HTTP request asks for and whether its sender may ask. The functions
 * only look at texts, so that a fuzzer can test them (t/fuzz/serve.c).
 *
 * Invariants:
 *  1. No part of a request becomes a path of a file. An asset is found by its whole name in the
 *     table of embedded files.
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
    char token[ACCESS_SECRET]; /* only for ROUTE_LOGIN */
    const struct asset *asset; /* only for ROUTE_ASSET */
    struct view_query query;   /* only for ROUTE_API */
};

/* `target` is as the client sent it, such as "/api/run?run=x". */
void request_parse(struct request *r, const char *target);

/* The two secrets of a server, and its address. `hone serve` prints a link with the token. A
 * browser that opens the link gets the cookie, and sends it with every later request. */
struct access {
    char token[ACCESS_SECRET], cookie[ACCESS_SECRET];
    char cookie_name[32]; /* has the port in it: browsers send a cookie to all ports of a host */
    char address[64];     /* the address that the server listens on */
    unsigned port;
    bool loopback;
};

/* Draws the secrets. Call access_set_port() when the server listens. */
int access_init(struct access *a, const char *address, struct err *err);
void access_set_port(struct access *a, unsigned port);
bool access_token_ok(const struct access *a, const char *token);
/* `header` is the Cookie header; NULL if there is none. */
bool access_cookie_ok(const struct access *a, const char *header);
/* Does the Host header name this server? Another site can make its host name resolve to 127.0.0.1,
 * so that its pages reach this server. The browser then sends that name as Host, and we refuse. If
 * the server listens on more than loopback, this machine's name and all numeric addresses are
 * accepted too. */
bool access_host_ok(const struct access *a, const char *host);
/* Is the Origin header absent (NULL), or does it name this server? */
bool access_origin_ok(const struct access *a, const char *origin);

#endif
