/*
 * summary.h - the numbers of one run, computed from the store alone: for the end of `hone
 * optimize`, `hone show`, the report and comparisons of strategies.
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
    double geomean; /* of parent's time / own time, where both passed; 0 = none */
};

/* A kernel that passed and then failed its confirmation (confirm.h). */
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
    bool has_beside, confirmed; /* confirmed: `beside` is the verdict of the confirmation */
    struct verdict beside;      /* if has_beside: the best kernel's, with PyTorch's times */
};

int summary_load(struct summary *m, struct store *s, const char *which, struct err *err);
void summary_release(struct summary *m);
/* Finds a candidate by its number, or "best"; NULL and an error if there is none. A run that was
 * killed may lack a number in the middle until it is resumed. */
const struct node_rec *summary_candidate(const struct summary *m, const char *which,
                                         struct err *err);
void summary_print(const struct summary *m, struct strbuf *out);
json_t *summary_json(const struct summary *m);

/* against_baselines.c: compares the best kernel with every baseline, shape by shape; empty if
 * PyTorch did not run. summary_load, the end of `hone optimize`, `hone show`, the report and
 * summary_json use these. */
int beside_load(struct summary *m, struct store *s, struct err *err);
void beside_print(const struct summary *m, struct strbuf *out);
void beside_markdown(const struct summary *m, struct strbuf *out);
void beside_json(const struct summary *m, json_t *out);

/* The lineage as a tree of lines, best marked. */
void lineage_print(const struct summary *m, struct strbuf *out);
/* "12.3 us"; "-" for none. */
void print_time(double ns, bool is_model, struct strbuf *out);

#endif
