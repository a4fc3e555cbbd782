/*
 * serve.h - the web server of `hone serve`, which shows a store in a browser and never changes it.
 *
 *     struct server *v;
 *     if (server_start(&v, &(struct server_config){.store = "hone-out/hone.db", ...}, err) < 0) ...
 *     printf("%s\n", server_link(v));
 *     while (!interrupted())
 *         server_wait(v, err);
 *     server_stop(v);
 *
 * One thread of libmicrohttpd answers all requests from a read-only handle of the store. The thread
 * that calls server_wait() looks for changes through a second handle (live.h).
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define SERVE_PORT 4663 /* HONE on a telephone's keys */

struct server;

struct server_config {
    const char *store;   /* path */
    const char *address; /* NULL = 127.0.0.1 */
    uint16_t port;       /* 0 = any free port */
};

int server_start(struct server **out, const struct server_config *c, struct err *err);
/* Returns the address with the secret token. Show it only to the user. Do not put it on a command
 * line, where other users of the machine could read it. */
const char *server_link(const struct server *v);
/* Returns the address without the token. */
const char *server_address(const struct server *v);
unsigned server_port(const struct server *v);
bool server_is_loopback(const struct server *v);
/* Waits a quarter of a second or until an interrupt, then looks once at the store. Returns -1 if
 * the store cannot be read. */
int server_wait(struct server *v, struct err *err);
void server_stop(struct server *v);

#endif
