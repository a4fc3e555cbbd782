/*
 * live.h - server-sent events: tells each open page which runs have changed.
 *
 * A listener is a connection to which the server streams events. Two threads use a `struct live`.
 * The server's thread adds listeners and writes the events that they get:
 *
 *     event: change
 *     data: {"runs":[{"run":"softmax-refine-b879","candidates":7,"state":"running"}],
 *            "training":false}
 *
 * The thread that called live_new() calls live_look() about four times a second. It looks for
 * changes of the newest 100 runs and of the training runs beside the store ("training"). A listener
 * without news is suspended, and live_look() wakes it. live.lock guards the listeners and the table
 * of runs.
 *
 * Hone queues no events. A listener that has missed several changes gets the newest state of each
 * run that changed. So a slow reader costs no memory. After 15 s without news a listener gets a
 * comment. Writing it shows whether the client is still there; the server drops clients that read
 * nothing for a while.
 */
#ifndef SERVE_LIVE_H
#define SERVE_LIVE_H

#include "base/err.h"
#include "serve/mhd.h"
#include "store/store.h"

struct live;

/* Makes a `struct live` without listeners. `s` must be a second handle of the store, not the handle
 * of the server's thread, because live_look runs in another thread. */
struct live *live_new(const struct mhd *m, struct store *s, unsigned max_listeners);
void live_free(struct live *l);

/* Makes the response that streams events to the connection. Returns NULL if there are too many
 * listeners. */
struct MHD_Response *live_listen(struct live *l, struct MHD_Connection *c);
/* Reads the store if it has changed, and wakes the listeners that must get an event or a
 * comment. */
int live_look(struct live *l, struct err *err);
/* Ends all streams. Call it before the server stops: libmicrohttpd cannot stop while streams are
 * suspended. */
void live_close(struct live *l);

#endif
