/*
 * view.h - turns rows of the store into the JSON that the web page shows.
 *
 * `hone serve` answers /api/QUERY with it, and `hone report --html` writes some answers to a file
 * (html.h).
 *
 *     struct view_query q;
 *     if (view_query_parse(&q, "candidate?run=softmax-refine-b879&n=3") < 0) ...
 *     json_t *j = view_json(s, &q, err);     NULL and ERR_INPUT if there is no such run, ...
 *
 * The queries and their answers:
 *
 *     runs?before=N               runs, the newest first: those with a number below N; 0 = all
 *     run?run=NAME                a run's summary
 *     points?run=NAME&from=N      a row for each candidate from number N on
 *     candidate?run=NAME&n=N      a candidate's source and verdict
 *     call?run=NAME&role=R&n=N    an author call: its prompt and its reply
 *     campaigns?before=N          campaigns of `hone bench`, the newest first; N as for runs
 *     campaign?name=NAME          a campaign's table and means
 *     trainings?from=N            training runs of hone-gnn, the newest first, without the first N
 *     training?name=NAME          a training run: its epochs and its time line
 *
 * Long lists come in pages and long texts are cut, so that no answer exceeds VIEW_MAX_BYTES. Texts
 * in the answers come from outside, so the page shows them as text, never as markup.
 */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "store/store.h"

#define VIEW_MAX_BYTES (1u << 20)
#define VIEW_MAX_QUERY 256

enum view_kind {
    VIEW_RUNS,
    VIEW_RUN,
    VIEW_POINTS,
    VIEW_CANDIDATE,
    VIEW_CALL,
    VIEW_CAMPAIGNS,
    VIEW_CAMPAIGN,
    VIEW_TRAININGS,
    VIEW_TRAINING
};

struct view_query {
    enum view_kind kind;
    char run[128], role[32]; /* `run` also holds the name of a campaign or a training run */
    uint64_t n;              /* the number after before=, from= or n= */
};

/* Accepts exactly the forms above: names of letters, digits, '_', '-' and '.', decimal numbers, no
 * escapes. Returns 0 or -1. */
int view_query_parse(struct view_query *q, const char *text);
/* Appends the query as text, which view_query_parse() can read. */
void view_query_text(const struct view_query *q, struct strbuf *out);

json_t *view_json(struct store *s, const struct view_query *q, struct err *err);
/* Appends compact JSON. Fails if it exceeds VIEW_MAX_BYTES. */
int view_text(struct store *s, const struct view_query *q, struct strbuf *out, struct err *err);
/* Training runs are files beside the store. Returns a number that changes when they change. */
int64_t view_training_version(struct store *s);

#endif
