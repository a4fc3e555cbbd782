/*
 * queries.h - the functions that answer the queries of view.h, and their helpers.
 *
 * They read without a transaction, so an answer may mix two states of the store. When the store
 * changes, the browser asks again. Returned JSON values are new references.
 */
#ifndef VIEW_QUERIES_H
#define VIEW_QUERIES_H

#include <jansson.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "report/run_summary.h"
#include "store/store.h"
#include "verdict/verdict.h"

enum {
    VIEW_RUNS_PAGE = 100,      /* runs or campaigns */
    VIEW_POINTS_PAGE = 2000,   /* candidates */
    VIEW_MAX_TEXT = 240 << 10, /* bytes in JSON, with escapes */
    VIEW_MAX_MOVE = 120,       /* bytes, in the list of candidates */
};

json_t *view_campaigns(struct store *s, int64_t before, struct err *err);
json_t *view_campaign(struct store *s, const char *name, struct err *err);
/* Skips the first `from` training runs. */
json_t *view_trainings(struct store *s, uint64_t from);
json_t *view_training(struct store *s, const char *name, struct err *err);
json_t *view_runs(struct store *s, int64_t before, struct err *err);
json_t *view_run(struct store *s, const char *run, struct err *err);
json_t *view_points(struct store *s, const char *run, uint64_t from, struct err *err);
json_t *view_candidate(struct store *s, const char *run, uint64_t n, struct err *err);
json_t *view_call(struct store *s, const char *run, const char *role, uint64_t n, struct err *err);

/* Finds a run by its whole name. The counts in *r stay 0. */
int view_find_run(struct store *s, const char *name, struct run_rec *r, struct arena *a,
                  struct err *err);
/* Returns 0 if there is no verdict that this Hone can read, else 1. */
int view_verdict(struct store *s, int64_t run, int64_t index, struct verdict *out);
json_t *view_run_row(struct store *s, const struct run_rec *r);
/* Returns the flops, bytes and ceilings of the timed shapes, for a plot. Returns JSON null if they
 * are unknown. */
json_t *view_roofline(struct store *s, const struct run_summary *m);
/* Returns the author call that wrote the candidate, as "role" and "index", or JSON null. */
json_t *view_author_call(struct store *s, const struct run_rec *r, const struct node_rec *n);

/* Sets a key of j to a text of len bytes. If the text takes more than `max` bytes in JSON, cuts it.
 * Then a second key, such as "reply_bytes" for "reply", gets len. */
void view_set_text(json_t *j, const char *key, const char *text, size_t len, size_t max);
/* Sets a key of j to the text of a blob, or to "" if the store has no such blob. */
void view_set_blob(json_t *j, struct store *s, const char *key, const char *sha);
/* Returns the text as a JSON string, with shortened paths (sys/short_paths.h). The text must not be
 * code. */
json_t *view_short_text(const char *text);
/* Returns a copy with shortened paths in all strings. */
json_t *view_short_json(const json_t *j);
/* Like view_short_json(), but for answers that leave this machine. Here the strings may be code. */
json_t *view_without_paths(const json_t *j);
/* Appends compact JSON. Real numbers get six digits. */
void view_dump(const json_t *j, struct strbuf *out);

#endif
