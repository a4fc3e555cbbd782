/*
 * run_summary.h - computes the numbers of one run from the store. `hone optimize` prints them at
 * its end; `hone show`, the report and comparisons of strategies use them too.
 */
#ifndef REPORT_RUN_SUMMARY_H
#define REPORT_RUN_SUMMARY_H

#include <jansson.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "store/store.h"
#include "verdict/verdict.h"

/* The gains of the moves of one kind in this run. `gained` counts the moves that gave a kernel
 * faster than the best earlier kernel. */
struct move_gain {
    char kind[24];
    unsigned tried, gained, failed;
    /* Geometric mean of (parent's time / node's time) over the nodes that passed and whose parent
     * passed; 0 = there are none. */
    double geomean;
};

/* A kernel that passed and then failed its confirmation (confirm.h). */
struct unconfirmed {
    const struct node_rec *node;
    const char *kind, *summary;
};

struct run_summary {
    struct arena arena;
    struct run_rec run;
    struct node_rec_vec nodes;
    VEC(const char *) moves_shown; /* for each node, the result of run_summary_move() */
    struct idea_rec_vec ideas;
    struct call_rec_vec calls;
    struct event_rec_vec events;
    unsigned judged, passes, failures; /* candidates: all, those that pass, those that do not */
    /* failures that are not repairs of earlier failures; how many of these led, through one or more
     * repairs, to a candidate that passes */
    unsigned failures_entered, failures_repaired;
    unsigned regressions; /* candidates that pass but are no improvement */
    unsigned refused;     /* the failures whose kind is no_code or rejected */
    unsigned drift;       /* prompts that differ from the recording's */
    bool estimated;       /* some token counts are estimates */
    bool usd_unknown;     /* some calls have no known price */
    double usd;
    uint64_t in_tokens, cached_tokens, out_tokens, requests;
    const struct node_rec *first_pass, *best; /* NULL = none */
    const struct node_rec *given; /* the file of --from; NULL = none, or it was ported first */
    /* the name of this file, and the summary of its verdict */
    const char *given_name, *given_summary;
    const char *task_sha; /* hash of the task that the run was begun with; "" = unknown */
    /* The best kernel's time is the geometric mean over this many shapes; 0 = unknown. */
    unsigned timed_shapes;
    /* The baseline of the best kernel's speed-up; "" = unknown. */
    const char *speedup_over;
    /* The baselines in the best kernel's verdict that are wrong or failed. */
    VEC(struct verdict_baseline) no_ratio;
    VEC(const char *) warnings; /* the warnings of the best kernel's verdict */
    VEC(struct move_gain) moves;
    VEC(struct unconfirmed) unconfirmed;
    bool has_with_torch, confirmed; /* confirmed: `with_torch` is the confirmation */
    /* If has_with_torch: the best kernel's verdict with PyTorch's times. */
    struct verdict with_torch;
};

/* Loads the run that `which` names, as for store_run_find(). After an error there is nothing to
 * release. */
int run_summary_load(struct run_summary *m, struct store *s, const char *which, struct err *err);
/* Whether Hone cannot know what the author's replies cost, because a person or a program writes
 * them. */
bool author_price_is_unknown(const char *author);
/* Returns a node's move as people should see it. If the move has a label "[settings ...]", the
 * values of the settings replace the label. */
const char *run_summary_move(const struct run_summary *m, const struct node_rec *n);
void run_summary_release(struct run_summary *m);
/* Finds a candidate by its number, or "best"; NULL and an error if there is none. The numbers of a
 * run that was killed may have gaps until it is resumed. */
const struct node_rec *run_summary_candidate(const struct run_summary *m, const char *which,
                                             struct err *err);
/* Reads the verdict of a candidate, or of its confirmation. Returns 1 if there is one, 0 if there
 * is none, -1 on an error. */
int run_summary_verdict(const struct run_summary *m, struct store *s, const struct node_rec *n,
                        bool confirmation, struct verdict *out, struct err *err);
/* True if the call has ended and its price is unknown. The authors mailbox: and exec: give no
 * price. */
bool run_summary_price_is_unknown(const struct call_rec *c);
void run_summary_print(const struct run_summary *m, struct strbuf *out);
json_t *run_summary_json(const struct run_summary *m);

/* In against_baselines.c: compare the best kernel with its baselines, shape by shape.
 * run_summary_load() calls against_baselines_load(). If PyTorch was not a baseline, _print and
 * _markdown append nothing. */
int against_baselines_load(struct run_summary *m, struct store *s, struct err *err);
void against_baselines_print(const struct run_summary *m, struct strbuf *out);
void against_baselines_markdown(const struct run_summary *m, struct strbuf *out);
void against_baselines_json(const struct run_summary *m, json_t *out);

/* Prints the lineage as a tree of lines, with the best kernel marked. */
void lineage_print(const struct run_summary *m, struct strbuf *out);
/* Appends "12.3 us" or "12.3 us (model)"; "-" if ns is 0. */
void print_time(double ns, bool is_model, struct strbuf *out);
/* Prints a time of a verdict. A modelled time is printed with the error to expect. */
void print_verdict_time(const struct verdict_time *t, struct strbuf *out);

#endif
