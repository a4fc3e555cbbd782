/*
 * live.h - server-sent events: tells each open page which runs have changed.
 *
 * A listener is a connection that gets events. Two threads use a `struct live`. The server's thread
 * adds listeners and writes their events:
 *
 *     event: change
 *     data: {"runs":[{"run":"softmax-refine-b879","candidates":7,"state":"running"}],
 *            "training":false}
 *
 * The thread that called live_new() calls live_look() about four times a second. live_look() looks
 * at the newest 100 runs, and at the training runs beside the store ("training"). A listener
 * without news is suspended until live_look() wakes it. live.lock guards the listeners and the
 * table of runs.
 *
 * Hone queues no events, so a slow listener costs no memory. It gets the newest state of each run
 * that changed since its last event. After 15 s without news a listener gets a comment, so that the
 * server notices clients that are gone.
 */
#ifndef SERVE_LIVE_H
#define SERVE_LIVE_H

#include "base/err.h"
#include "serve/mhd.h"
#include "store/store.h"

struct live;

/* `s` must be a second handle of the store: live_look() runs in another thread than the server. */
struct live *live_new(const struct mhd *m, struct store *s, unsigned max_listeners);
void live_free(struct live *l);

/* Returns NULL if there are too many listeners. */
struct MHD_Response *live_listen(struct live *l, struct MHD_Connection *c);
/* Reads the store if it has changed. Wakes the listeners that must get an event or a comment. */
int live_look(struct live *l, struct err *err);
/* Call this before the server stops: libmicrohttpd cannot stop while streams are suspended. */
void live_close(struct live *l);

#endif
