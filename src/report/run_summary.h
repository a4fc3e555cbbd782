/*
 * run_summary.h - computes the numbers of one run from the store.
 */
#ifndef REPORT_RUN_SUMMARY_H
#define REPORT_RUN_SUMMARY_H

#include <jansson.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "store/store.h"
#include "verdict/verdict.h"

/* All moves of one kind. `gained` counts moves whose kernel was faster than the best earlier
 * one. */
struct move_gain {
    char kind[24];
    unsigned tried, gained, failed;
    /* Geometric mean of parent's time / node's time; 0 if they never both passed. */
    double geomean;
};

/* A candidate that passed, but failed its confirmation (the second evaluation). */
struct unconfirmed {
    const struct node_rec *node;
    const char *kind, *summary; /* of the second verdict */
};

struct run_summary {
    struct arena arena;
    struct run_rec run;
    struct node_rec_vec nodes;
    VEC(const char *) moves_shown; /* run_summary_move() of each node */
    struct idea_rec_vec ideas;
    struct call_rec_vec calls;
    struct event_rec_vec events;
    unsigned judged, passes, failures;
    /* Failures that are not repairs, and those of them that later repairs turned into a pass. */
    unsigned failures_entered, failures_repaired;
    unsigned regressions; /* candidates that pass but are not faster */
    unsigned refused;     /* failures of the kind no_code or rejected */
    unsigned drift;       /* in a replay: prompts that differ */
    bool estimated;
    bool usd_unknown;
    double usd;
    uint64_t in_tokens, cached_tokens, out_tokens, requests;
    const struct node_rec *first_pass, *best;
    /* The node with the file of --from, if no author had to rewrite the file; else NULL. */
    const struct node_rec *given;
    /* "" if `given` is NULL */
    const char *given_name, *given_summary;
    const char *task_sha;
    /* 0 = unknown */
    unsigned timed_shapes;
    /* The baseline of the best kernel's speed-up; "" = unknown. */
    const char *speedup_over;
    /* Baselines that are wrong or failed. */
    VEC(struct verdict_baseline) no_ratio;
    VEC(const char *) warnings;
    VEC(struct move_gain) moves;
    VEC(struct unconfirmed) unconfirmed;
    /* If has_with_torch, with_torch is a verdict of the best kernel that has PyTorch as a baseline.
     * `confirmed`: it is the verdict of the confirmation. */
    bool has_with_torch, confirmed;
    struct verdict with_torch;
};

/* `which`: as for store_run_find(). After an error there is nothing to release. */
int run_summary_load(struct run_summary *m, struct store *s, const char *which, struct err *err);
/* True for a mailbox or a program, because Hone cannot know their cost. */
bool author_price_is_unknown(const char *author);
/* Returns n->move, with the values of the settings in place of a label "[settings ...]". */
const char *run_summary_move(const struct run_summary *m, const struct node_rec *n);
void run_summary_release(struct run_summary *m);
/* `which` is a number or "best". */
const struct node_rec *run_summary_candidate(const struct run_summary *m, const char *which,
                                             struct err *err);
/* Returns an index of `nodes`, or nodes.n if there is no such candidate. */
size_t run_summary_position(const struct run_summary *m, int64_t index);
/* Returns 1, 0 if there is no such verdict, or -1. */
int run_summary_verdict(const struct run_summary *m, struct store *s, const struct node_rec *n,
                        bool confirmation, struct verdict *out, struct err *err);
bool run_summary_price_is_unknown(const struct call_rec *c);
void run_summary_print(const struct run_summary *m, struct strbuf *out);
json_t *run_summary_json(const struct run_summary *m);

/* against_baselines.c: the best kernel against its baselines, shape by shape. Text and Markdown are
 * empty if PyTorch was not a baseline. */
int against_baselines_load(struct run_summary *m, struct store *s, struct err *err);
void against_baselines_print(const struct run_summary *m, struct strbuf *out);
void against_baselines_markdown(const struct run_summary *m, struct strbuf *out);
void against_baselines_json(const struct run_summary *m, json_t *out);

void lineage_print(const struct run_summary *m, struct strbuf *out);
/* Appends "12.3 us" or "12.3 us (model)"; "-" if ns is 0. */
void print_time(double ns, bool is_model, struct strbuf *out);
/* As print_time(), but with the range where we expect the true time: "(model, x0.80..x1.30)". */
void print_verdict_time(const struct verdict_time *t, struct strbuf *out);

#endif
