/*
 * summary.h - what a run came to, computed from the store alone: for the end of `hone optimize`,
 * `hone show`, the report and comparisons of strategies.
 */
#ifndef REPORT_SUMMARY_H
#define REPORT_SUMMARY_H

#include <jansson.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "store/store.h"
#include "verdict/verdict.h"

struct move_gain {
    char kind[24];
    unsigned tried, gained, failed;
    double geomean; /* of parent's time / its time where both passed; 0 = none */
};

/* A kernel that passed and failed when it was judged again (confirm.h). */
struct unconfirmed {
    const struct node_rec *node;
    const char *kind, *summary;
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
    VEC(struct unconfirmed) unconfirmed;
    bool has_beside, confirmed; /* confirmed: judged once more for it, at the end of the run */
    struct verdict beside;      /* of the best kernel, with PyTorch's baselines; if has_beside */
};

int summary_load(struct summary *m, struct store *s, const char *which, struct err *err);
void summary_release(struct summary *m);
/* By its number, or "best"; NULL and an error if there is none. A run that was killed may lack a
 * number in the middle until it is carried on. */
const struct node_rec *summary_candidate(const struct summary *m, const char *which,
                                         struct err *err);
void summary_print(const struct summary *m, struct strbuf *out);
json_t *summary_json(const struct summary *m);

/* against_baselines.c: how the best kernel stands to every baseline, shape by shape; nothing where
 * PyTorch did not run. Part of summary_load, of the end of `hone optimize` and of `hone show`, of
 * the report, of summary_json. */
int beside_load(struct summary *m, struct store *s, struct err *err);
void beside_print(const struct summary *m, struct strbuf *out);
void beside_markdown(const struct summary *m, struct strbuf *out);
void beside_json(const struct summary *m, json_t *out);

/* The lineage as a tree of lines, best marked. */
void lineage_print(const struct summary *m, struct strbuf *out);
/* "12.3 us"; "-" for none. */
void print_time(double ns, bool is_model, struct strbuf *out);

#endif
