/*
 * agent.h - a run: authors asked, candidates judged, a tree grown, everything recorded.
 *
 *     struct agent *a;
 *     agent_open(&a, &(struct agent_setup){.store = s, .run = id, .task = t, ...}, err);
 *     int rc = agent_run(a, err);      0 finished, 1 stopped (a->stop says why), -1
 *     agent_close(a);
 *
 * A strategy is ordinary sequential code over four verbs: ask, judge, grow, note. It must be a
 * function of the configuration, the replies and the verdicts alone: no clock, no randomness but
 * the run's own generator. Then a run is carried on by doing it again: every ask and every judging
 * has a key (role and index, index), and what the store already has under that key is returned
 * instead of being done. Nothing recorded is ever repeated, and a replayed run is the same run.
 *
 *      strategy ──ask(role, prompt)──> store has (role, i)? ──yes──> its reply
 *                                            │no
 *                                            └─> budget left? ─> record, ask the author, record
 *
 * When the strategy is done the best kernel is confirmed (confirm.h); no strategy sees that.
 * Budgets, the wall clock and Ctrl-C are looked at before something new is done, and while a reply
 * is waited for: Ctrl-C always, the clock where a later process can take the call up.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/config.h"
#include "agent/judge.h"
#include "author/author.h"
#include "author/budget.h"
#include "base/err.h"
#include "base/rng.h"
#include "prompt/prompt.h"
#include "store/store.h"
#include "task/task.h"
#include "verdict/verdict.h"

struct agent;

/* One candidate and what became of it. */
struct node {
    uint64_t index;
    int64_t parent; /* -1 = a root */
    char *source;
    char source_sha[STORE_SHA];
    struct verdict verdict;
    bool judged;
    int64_t verdict_index;    /* -1: refused before the judge saw it */
    const char *role, *stage; /* static strings */
    char move[160], kind[24];
    const char *fate; /* static: "open", "best", "kept", "regression", "failed", "pruned", ... */
    bool pruned;      /* search: not selected again */
    unsigned children, failed_children;
    unsigned depth; /* from its root */
    char *advice;   /* the plan or diagnosis it was written from; may be NULL */
};

struct idea {
    int64_t node;
    char kind[24], text[160];
    const char *outcome; /* static: "", "gain", "regression", "no change", "failed" */
    double gain;
};

/* What the command shows; each may be NULL. */
struct agent_watch {
    void (*asking)(void *ctx, const struct agent *a, const char *role);
    void (*judging)(void *ctx, const struct agent *a, size_t n);
    void (*judged)(void *ctx, const struct agent *a, const struct node *n);
    void (*confirming)(void *ctx, const struct agent *a, const struct node *n);
    void (*confirmed)(void *ctx, const struct agent *a, const struct node *n,
                      const struct verdict *again);
    void *ctx;
};

struct agent_setup {
    struct store *store;
    int64_t run;
    const char *run_name;
    const struct task *task;
    const struct run_config *config;
    struct author *authors[AUTHOR_ROLES]; /* NULL = the coder's */
    struct judge *judge;
    const struct prices *prices;
    struct agent_watch watch;
    uint64_t prior_wall_ns; /* spent before a resume */
};

struct agent {
    struct agent_setup in;
    const struct run_config *cfg;
    const struct task *task; /* the tester may extend it */
    struct task *extended;
    VEC(struct node *) nodes;
    VEC(struct idea) ideas;
    struct node *best;   /* the fastest that passes, or NULL */
    struct node *beside; /* the first that passed on a GPU beside all baselines, or NULL */
    struct rng rng;
    struct spent spent;
    uint64_t started_ns;
    VEC(struct {
        char role[24];
        uint64_t next;
    })
    roles;
    uint64_t next_verdict;
    struct strbuf stop;        /* why it stopped; "" = it has not */
    bool failed;               /* stopped by a failure rather than by its budget */
    struct strbuf unconfirmed; /* why the best kernel was not confirmed (confirm.h); "" = it was */
    uint64_t recorded;         /* asks and judgings answered from the store */
    uint32_t step;             /* for the live line and the profile's delay */
    uint64_t events;
};

struct strategy {
    const char *name, *about;
    int (*run)(struct agent *a, struct err *err); /* 0 done, 1 stopped, -1 */
};
extern const struct strategy strategy_refine, strategy_team, strategy_search, strategy_sample,
    strategy_reflect;
extern const struct strategy *const strategy_table[]; /* NULL-terminated */
const struct strategy *strategy_find(const char *name);

int agent_open(struct agent **out, const struct agent_setup *in, struct err *err);
void agent_close(struct agent *a);
int agent_run(struct agent *a, struct err *err);

/* ---- for strategies ------------------------------------------------------------------------- */

struct ask {
    enum author_role author;
    const char *role; /* the key: "code", "plan", "diagnose", ... */
    struct prompt prompt;
    json_t *facts; /* owned */
    double temperature;
    const char *parent; /* the source the reply will be made from, or NULL; borrowed */
    /* out */
    bool ok;
    char *reply; /* "" when !ok */
    char error[400];
    uint64_t index;
};
void ask_release(struct ask *q);

/* Asks all of them at once; returns 0, 1 (stop) or -1. An answer that is unusable (cut off for
 * ever, empty, refused) is !ok and the run goes on. */
int agent_ask(struct agent *a, struct ask *asks, size_t n, struct err *err);

/* Adds a node to the tree (not yet judged, not yet stored). */
struct node *agent_grow(struct agent *a, struct node *parent, const char *source, const char *role,
                        const char *stage, const char *kind, const char *move);
/* Judges all of them at once, and stores them with their verdicts. */
int agent_judge(struct agent *a, struct node **nodes, size_t n, struct err *err);
/* Modelled times of sources that may never become nodes: which of them is worth judging? 0 = it
 * does not pass. Recorded like verdicts. */
int agent_estimate(struct agent *a, const char *const *sources, size_t n, double *ns,
                   struct err *err);
/* Gives a node a verdict the judge never saw: no_code or rejected, with its reason. */
int agent_refuse(struct agent *a, struct node *n, enum verdict_kind kind, const char *detector,
                 const char *reason, struct err *err);
int agent_set_fate(struct agent *a, struct node *n, const char *fate, struct err *err);
/* An entry of the tried-ideas ledger: what became of an idea, in the node it led to. */
int agent_ledger(struct agent *a, const struct node *n, const struct node *against,
                 const char *kind, const char *text, struct err *err);
int agent_note(struct agent *a, const char *kind, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int agent_stop(struct agent *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* For confirm.h: a second verdict of a node that passed, from the store (1 or 0) and from the
 * judge, with all baselines beside it (1; 0 if there is none to be had, `why` says so). */
int agent_again_recorded(struct agent *a, const struct node *n, struct verdict *out,
                         struct err *err);
int agent_judge_again(struct agent *a, const struct node *n, struct verdict *out,
                      struct strbuf *why, struct err *err);

bool node_passes(const struct node *n);
/* The graded order: <0 if a is worth less than b. */
int node_cmp(const struct node *a, const struct node *b);
/* May counters be told at this step? */
bool profile_allowed(const struct agent *a, uint32_t step);
/* Is the best kernel so near the roofline that more steps are waste? Stops the run then. */
bool near_roofline(struct agent *a);

#endif
