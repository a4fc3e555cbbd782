/*
 * live.h - server-sent events: tells each open page which runs have changed.
 *
 * Two threads use a `struct live`. The server's thread adds listeners and reads events for them.
 * The thread that called live_new looks at the store with live_look, about four times a second. A
 * listener without news is suspended; live_look wakes it. `lock` guards the listeners and the table
 * of changes.
 *
 *     event: change
 *     data: {"runs":[{"run":"softmax-refine-b879","candidates":7,"state":"running"}]}
 *
 * Hone queues no events. A listener that has missed changes gets the newest state of every run that
 * changed. So a slow reader costs no memory. Every 15 s a listener without news gets a comment,
 * which shows whether the client is still there; the server drops clients that read nothing for a
 * while.
 */
#ifndef SERVE_LIVE_H
#define SERVE_LIVE_H

#include "base/err.h"
#include "serve/mhd.h"
#include "store/store.h"

struct live;

/* `s` must be a second handle of the store, not the handle of the server's thread, because
 * live_look runs in another thread. */
struct live *live_new(const struct mhd *m, struct store *s, unsigned max_listeners);
void live_free(struct live *l);

/* Makes the response that streams events to the connection; NULL if there are too many listeners.
 */
struct MHD_Response *live_listen(struct live *l, struct MHD_Connection *c);
/* Reads the store if it has changed, and wakes the listeners that have news. */
int live_look(struct live *l, struct err *err);
/* Ends all streams. Call it before the server stops: libmicrohttpd cannot stop while streams are
 * suspended. */
void live_close(struct live *l);

#endif
