/*
 * answers.h - keeps the newest answers of the server, so that many open pages of one run cost one
 * query of the store.
 *
 * An answer is kept until the store or a training run changes, but at most two seconds: it also
 * says whether the process of a run lives, and the store does not change when that process dies.
 * Only the server's thread uses a `struct answers`.
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
/* The answer belongs to `a` and lasts until the next call. Returns NULL and an error if there is
 * none. */
struct MHD_Response *answers_get(struct answers *a, const struct view_query *q, struct err *err);

#endif
