/*
 * run_summary.h - computes the numbers of one run from the store. `hone optimize` prints them at
 * its end; `hone show`, the report and comparisons of strategies use them too. A node is the record
 * of a candidate (store/store.h).
 */
#ifndef REPORT_RUN_SUMMARY_H
#define REPORT_RUN_SUMMARY_H

#include <jansson.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "store/store.h"
#include "verdict/verdict.h"

/* The effects of all moves of one kind in this run. A move is the change that made a candidate from
 * its parent. `gained` counts the moves that gave a kernel faster than the best earlier kernel. */
struct move_gain {
    char kind[24];
    unsigned tried, gained, failed;
    /* The geometric mean of (parent's time / node's time), over the nodes that passed and have a
     * parent that passed; 0 if there are none. */
    double geomean;
};

/* A kernel that passed and then failed its confirmation, a second evaluation. */
struct unconfirmed {
    const struct node_rec *node;
    const char *kind, *summary; /* the kind and the summary of the second verdict */
};

struct run_summary {
    struct arena arena;
    struct run_rec run;
    struct node_rec_vec nodes;
    VEC(const char *) moves_shown; /* for each node, the result of run_summary_move() */
    struct idea_rec_vec ideas;
    struct call_rec_vec calls;
    struct event_rec_vec events;
    /* How many candidates there are, how many of them pass, and how many fail. */
    unsigned judged, passes, failures;
    /* `failures_entered` counts the failures that are not repairs of earlier failures.
     * `failures_repaired` counts how many of these led, through one or more repairs, to a candidate
     * that passes. */
    unsigned failures_entered, failures_repaired;
    unsigned regressions; /* how many candidates pass, but are no improvement */
    unsigned refused;     /* how many failures have the kind no_code or rejected */
    unsigned drift;       /* in a replay: how many prompts differ from those of the recording */
    bool estimated;       /* some token counts are estimates */
    bool usd_unknown;     /* some calls have no known price */
    double usd;
    uint64_t in_tokens, cached_tokens, out_tokens, requests;
    const struct node_rec *first_pass, *best; /* NULL if there is none */
    /* The candidate that is the file of --from. NULL if there is no such file, or if an author had
     * to rewrite it first (role "port"). */
    const struct node_rec *given;
    /* The name of the file of --from, and the summary of its verdict; "" if `given` is NULL. */
    const char *given_name, *given_summary;
    const char *task_sha; /* the task hash when the run began; "" if it is not known */
    /* The best kernel's time is the geometric mean over this many shapes; 0 if that is not
     * known. */
    unsigned timed_shapes;
    /* The best kernel's speed-up is the speed-up over this baseline; "" if that is not known. */
    const char *speedup_over;
    /* The baselines in the best kernel's verdict that are wrong or failed, so that the kernel is
     * not compared with them. */
    VEC(struct verdict_baseline) no_ratio;
    VEC(const char *) warnings; /* the warnings of the best kernel's verdict */
    VEC(struct move_gain) moves;
    VEC(struct unconfirmed) unconfirmed;
    /* If has_with_torch is true, `with_torch` is a verdict of the best kernel with PyTorch's times.
     * If `confirmed` is also true, that verdict is the confirmation. */
    bool has_with_torch, confirmed;
    struct verdict with_torch;
};

/* Loads the run that `which` names, as for store_run_find(). After an error there is nothing to
 * release. */
int run_summary_load(struct run_summary *m, struct store *s, const char *which, struct err *err);
/* Returns true if a person or a program writes the author's replies, so that Hone cannot know what
 * they cost. */
bool author_price_is_unknown(const char *author);
/* Returns a node's move as people should see it. If the move has a label "[settings ...]", the
 * values of the settings replace the label. */
const char *run_summary_move(const struct run_summary *m, const struct node_rec *n);
void run_summary_release(struct run_summary *m);
/* Finds a candidate by its number, or by "best". Returns NULL with err set if there is none. In a
 * run that was killed, some numbers may be missing until the run is resumed. */
const struct node_rec *run_summary_candidate(const struct run_summary *m, const char *which,
                                             struct err *err);
/* Returns the position in `nodes` of the candidate with this number; nodes.n if there is none. */
size_t run_summary_position(const struct run_summary *m, int64_t index);
/* Reads the verdict of a candidate, or of its confirmation. Returns 1 if there is one, 0 if there
 * is none, -1 on an error. */
int run_summary_verdict(const struct run_summary *m, struct store *s, const struct node_rec *n,
                        bool confirmation, struct verdict *out, struct err *err);
/* True if the call has ended and its price is unknown. The authors mailbox: and exec: give no
 * price. */
bool run_summary_price_is_unknown(const struct call_rec *c);
void run_summary_print(const struct run_summary *m, struct strbuf *out);
json_t *run_summary_json(const struct run_summary *m);

/* The functions of against_baselines.c compare the best kernel with its baselines, shape by shape.
 * run_summary_load() calls against_baselines_load(); the others write the comparison as text,
 * Markdown or JSON. If PyTorch was not a baseline, the text and the Markdown are empty. */
int against_baselines_load(struct run_summary *m, struct store *s, struct err *err);
void against_baselines_print(const struct run_summary *m, struct strbuf *out);
void against_baselines_markdown(const struct run_summary *m, struct strbuf *out);
void against_baselines_json(const struct run_summary *m, json_t *out);

/* Appends the tree of candidates, one line for each, with the best kernel marked. */
void lineage_print(const struct run_summary *m, struct strbuf *out);
/* Appends "12.3 us" or "12.3 us (model)"; "-" if ns is 0. */
void print_time(double ns, bool is_model, struct strbuf *out);
/* Appends a time of a verdict. A modelled time is followed by the range in which we expect the
 * measured time: "12.3 us (model, x0.80..x1.30)". */
void print_verdict_time(const struct verdict_time *t, struct strbuf *out);

#endif
