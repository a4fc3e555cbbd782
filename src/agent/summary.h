/*
 * summary.h - what a run came to, computed from the store alone: for the end of `hone optimize`,
 * `hone show`, the report and comparisons of strategies.
 */
#ifndef AGENT_SUMMARY_H
#define AGENT_SUMMARY_H

#include <jansson.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "store/store.h"

struct move_gain {
    char kind[24];
    unsigned tried, gained, failed;
    double geomean; /* of parent's time / its time where both passed; 0 = none */
};

struct summary {
    struct arena arena;
    struct run_rec run;
    struct node_vec nodes;
    struct idea_vec ideas;
    struct call_vec calls;
    struct event_vec events;
    unsigned judged, passes, failures, failures_entered, failures_repaired, regressions, refused;
    unsigned drift;
    bool estimated, usd_unknown;
    double usd;
    uint64_t in_tokens, cached_tokens, out_tokens, requests;
    const struct node_rec *first_pass, *best; /* NULL = none */
    VEC(struct move_gain) moves;
};

int summary_load(struct summary *m, struct store *s, const char *which, struct err *err);
void summary_release(struct summary *m);
/* By its number, or "best"; NULL and an error if there is none. A run that was killed may lack a
 * number in the middle until it is carried on. */
const struct node_rec *summary_candidate(const struct summary *m, const char *which,
                                         struct err *err);
void summary_print(const struct summary *m, struct strbuf *out);
json_t *summary_json(const struct summary *m);

/* The lineage as a tree of lines, best marked. */
void lineage_print(const struct summary *m, struct strbuf *out);
/* "12.3 us"; "-" for none. */
void print_time(double ns, bool is_model, struct strbuf *out);

#endif
