/*
 * answers.h - keeps the newest answers, so that many pages that look at one run cost one query.
 *
 * An answer is kept until the store changes, and at most two seconds, because the lock of a running
 * process is not a part of the store. Only the server's thread uses it.
 */
#ifndef SERVE_ANSWERS_H
#define SERVE_ANSWERS_H

#include "base/err.h"
#include "serve/mhd.h"
#include "store/store.h"
#include "view/view.h"

struct answers;

struct answers *answers_new(const struct mhd *m, struct store *s);
void answers_free(struct answers *a);
/* Returns the answer to a query. It belongs to `a` and lasts until the next call. NULL and an error
 * if there is none. */
struct MHD_Response *answers_get(struct answers *a, const struct view_query *q, struct err *err);

#endif
