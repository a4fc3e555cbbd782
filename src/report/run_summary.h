/*
 * run_summary.h - computes the numbers of one run from the store. A node is the record of a
 * candidate (store/store.h).
 */
#ifndef REPORT_RUN_SUMMARY_H
#define REPORT_RUN_SUMMARY_H

#include <jansson.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "store/store.h"
#include "verdict/verdict.h"

/* All moves of one kind in this run. A move is the change that made a candidate from its parent.
 * `gained` counts moves whose kernel was faster than the best earlier one. */
struct move_gain {
    char kind[24];
    unsigned tried, gained, failed;
    /* Geometric mean of parent's time / node's time, where both passed; 0 if there are none. */
    double geomean;
};

/* A kernel that passed and then failed its confirmation, a second evaluation. */
struct unconfirmed {
    const struct node_rec *node;
    const char *kind, *summary; /* of the second verdict */
};

struct run_summary {
    struct arena arena;
    struct run_rec run;
    struct node_rec_vec nodes;
    VEC(const char *) moves_shown; /* results of run_summary_move(), one for each node */
    struct idea_rec_vec ideas;
    struct call_rec_vec calls;
    struct event_rec_vec events;
    unsigned judged, passes, failures;
    /* Number of failures that are not repairs of earlier failures. Number of those that led,
     * through repairs, to a candidate that passes. */
    unsigned failures_entered, failures_repaired;
    unsigned regressions; /* candidates that pass, but are no improvement */
    unsigned refused;     /* failures of the kind no_code or rejected */
    unsigned drift;       /* in a replay: prompts that differ from the recording */
    bool estimated;
    bool usd_unknown;
    double usd;
    uint64_t in_tokens, cached_tokens, out_tokens, requests;
    const struct node_rec *first_pass, *best; /* or NULL */
    /* The candidate that is the file of --from, if no author had to rewrite it; else NULL. */
    const struct node_rec *given;
    /* The file's name, and the summary of its verdict; "" if `given` is NULL. */
    const char *given_name, *given_summary;
    const char *task_sha; /* hash of the task when the run began; "" if unknown */
    /* shapes in the geometric mean of the best kernel's time; 0 if unknown */
    unsigned timed_shapes;
    /* The baseline of the best kernel's speed-up; "" if unknown. */
    const char *speedup_over;
    /* Baselines of the best kernel that are wrong or failed. */
    VEC(struct verdict_baseline) no_ratio;
    VEC(const char *) warnings; /* of the best kernel's verdict */
    VEC(struct move_gain) moves;
    VEC(struct unconfirmed) unconfirmed;
    /* If has_with_torch is true, a verdict of the best kernel with PyTorch's times. `confirmed`
     * says that it is the confirmation. */
    bool has_with_torch, confirmed;
    struct verdict with_torch;
};

/* `which` names a run, as for store_run_find(). After an error there is nothing to release. */
int run_summary_load(struct run_summary *m, struct store *s, const char *which, struct err *err);
/* True if a person or a program writes the author's replies: then Hone cannot know the cost. */
bool author_price_is_unknown(const char *author);
/* Returns a node's move with the values of settings, in place of a label "[settings ...]". */
const char *run_summary_move(const struct run_summary *m, const struct node_rec *n);
void run_summary_release(struct run_summary *m);
/* Finds a candidate by its number, or by "best". Returns NULL with err set if there is none. */
const struct node_rec *run_summary_candidate(const struct run_summary *m, const char *which,
                                             struct err *err);
/* Returns an index of `nodes`; nodes.n if there is no candidate with this number. */
size_t run_summary_position(const struct run_summary *m, int64_t index);
/* Reads the verdict of a candidate or of its confirmation. Returns 1, 0 if there is none, or -1. */
int run_summary_verdict(const struct run_summary *m, struct store *s, const struct node_rec *n,
                        bool confirmation, struct verdict *out, struct err *err);
bool run_summary_price_is_unknown(const struct call_rec *c);
void run_summary_print(const struct run_summary *m, struct strbuf *out);
json_t *run_summary_json(const struct run_summary *m);

/* against_baselines.c: compares the best kernel with its baselines, shape by shape. Text and
 * Markdown are empty if PyTorch was not a baseline. */
int against_baselines_load(struct run_summary *m, struct store *s, struct err *err);
void against_baselines_print(const struct run_summary *m, struct strbuf *out);
void against_baselines_markdown(const struct run_summary *m, struct strbuf *out);
void against_baselines_json(const struct run_summary *m, json_t *out);

void lineage_print(const struct run_summary *m, struct strbuf *out);
/* Appends "12.3 us" or "12.3 us (model)"; "-" if ns is 0. */
void print_time(double ns, bool is_model, struct strbuf *out);
/* Appends "12.3 us", or "12.3 us (model, x0.80..x1.30)" with the range of the expected time. */
void print_verdict_time(const struct verdict_time *t, struct strbuf *out);

#endif
