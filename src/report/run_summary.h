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

/* All moves of one kind, such as "tiling". `gained` counts the moves whose kernel was faster than
 * the best kernel before it. */
struct move_gain {
    char kind[24];
    unsigned tried, gained, failed;
    /* Geometric mean of (parent's time / node's time) over the moves whose parent and node both
     * passed; 0 if there is no such move. */
    double geomean;
};

/* A candidate that passed its first evaluation, but failed the confirmation (the second one). */
struct unconfirmed {
    const struct node_rec *node;
    const char *kind, *summary; /* kind and summary of the second verdict */
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
    /* How many failed candidates are not repairs, and how many of these a later repair mended. */
    unsigned failures_entered, failures_repaired;
    unsigned regressions; /* candidates that pass, with the fate "regression" or "on trial" */
    unsigned refused;     /* failures of the kind no_code or rejected */
    unsigned drift;       /* in a replay: prompts that differ from the recorded ones */
    bool estimated;
    bool usd_unknown;
    double usd;
    uint64_t in_tokens, cached_tokens, out_tokens, requests;
    const struct node_rec *first_pass, *best;
    /* The node with the file of --from, if no author had to rewrite the file; else NULL. */
    const struct node_rec *given;
    /* The file's name, and the summary of its verdict. Both are "" if `given` is NULL. */
    const char *given_name, *given_summary;
    const char *task_sha;
    /* How many shapes were timed; 0 = unknown. */
    unsigned timed_shapes;
    /* The baseline to which the best kernel's speed-up refers; "" = unknown. */
    const char *speedup_over;
    /* Baselines that give no ratio, because they are wrong or failed. */
    VEC(struct verdict_baseline) no_ratio;
    VEC(const char *) warnings;
    VEC(struct move_gain) moves;
    VEC(struct unconfirmed) unconfirmed;
    /* If has_with_torch, with_torch is a verdict of the best kernel that has PyTorch as a baseline.
     * `confirmed`: it is the verdict of the confirmation. */
    bool has_with_torch, confirmed;
    struct verdict with_torch;
};

/* Loads the run that `which` names, as in store_run_find(). After an error there is nothing to
 * release. */
int run_summary_load(struct run_summary *m, struct store *s, const char *which, struct err *err);
/* Returns true if the author is a mailbox or a program, because Hone cannot know their cost. */
bool author_price_is_unknown(const char *author);
/* Returns n->move, with the values of the settings in place of a label "[settings ...]". */
const char *run_summary_move(const struct run_summary *m, const struct node_rec *n);
void run_summary_release(struct run_summary *m);
/* Returns the candidate that `which` names: its number, or "best". Returns NULL and an error if
 * there is none. */
const struct node_rec *run_summary_candidate(const struct run_summary *m, const char *which,
                                             struct err *err);
/* Returns the position in `nodes` of the candidate with this number, or nodes.n if there is
 * none. */
size_t run_summary_position(const struct run_summary *m, int64_t index);
/* Reads the verdict of candidate n, or of its confirmation. Returns 1, 0 if there is no such
 * verdict, or -1 on an error. */
int run_summary_verdict(const struct run_summary *m, struct store *s, const struct node_rec *n,
                        bool confirmation, struct verdict *out, struct err *err);
bool run_summary_price_is_unknown(const struct call_rec *c);
void run_summary_print(const struct run_summary *m, struct strbuf *out);
json_t *run_summary_json(const struct run_summary *m);

/* against_baselines.c compares the best kernel with its baselines, shape by shape. _print() and
 * _markdown() append nothing if no verdict of the best kernel has PyTorch as a baseline. */
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
