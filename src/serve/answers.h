/*
 * answers.h - keeps the newest answers of the server, so that many open pages of one run cost one
 * query of the store.
 *
 * An answer is kept until the store or a training run changes, but at most two seconds. The limit
 * is needed because an answer also says whether the process of a run lives. If that process dies,
 * the store does not change. Only the server's thread uses a `struct answers`.
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
