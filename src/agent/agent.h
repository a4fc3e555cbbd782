/*
 * agent.h - a run of `hone optimize`. It asks authors (models, programs or people) for kernels, has
 * these candidates judged, grows a tree of them and records everything.
 *
 *     struct agent *a;
 *     agent_open(&a, &(struct agent_setup){.store = s, .run = id, .task = t, ...}, err);
 *     int rc = agent_run(a, err);      0 finished, 1 stopped (a->stop says why), -1 error
 *     agent_close(a);
 *
 * A strategy is sequential code that calls agent_ask(), agent_judge(), agent_grow() and
 * agent_note(). It depends only on the configuration, the replies and the verdicts. So it reads no
 * clock, and its random numbers come from agent.rng.
 *
 * This makes runs repeatable: a resumed run starts its strategy from the beginning. Each reply and
 * each verdict has a key. If the store holds that key, the strategy gets the stored one.
 *
 * When the strategy is done, the run confirms the best kernel (confirm.h).
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/config.h"
#include "agent/judge.h"
#include "agent/shown_file.h"
#include "author/author.h"
#include "author/budget.h"
#include "base/err.h"
#include "base/rng.h"
#include "prompt/prompt.h"
#include "store/store.h"
#include "task/task.h"
#include "verdict/verdict.h"

struct agent;

/* One candidate of the run's tree. */
struct node {
    uint64_t index;
    int64_t parent; /* an index; -1 for a root */
    char *source;
    char source_sha[STORE_SHA];
    struct verdict verdict;
    bool judged;
    bool recorded;         /* the verdict came from the store */
    int64_t verdict_index; /* its key in the store; -1 if none yet */
    /* Static: the role that wrote the source, and the strategy's stage that asked for it. */
    const char *role, *stage;
    char move[160], kind[24]; /* the change from the parent, in words; its kind */
    const char *fate;         /* "open", "best", "kept", "regression", "failed", "pruned", ... */
    bool pruned;              /* "search" does not select it again */
    unsigned children, failed_children;
    unsigned depth;
    char *author; /* NULL if the user gave the source */
};

/* A move, the change from a parent to a candidate, and its outcome. All ideas are the ledger. */
struct idea {
    uint64_t of; /* index of the candidate */
    /* Index of the candidate that gave the outcome: `of`, or a repair of it. */
    int64_t node;
    char kind[24], text[160];
    /* Static: "gain", "regression", "no change" or "failed"; "" if not known yet. */
    const char *outcome;
    double gain; /* parent's time / candidate's time; 0 if not known */
};

/* Callbacks that show progress; each may be NULL. */
struct agent_watch {
    void (*asking)(void *ctx, const struct agent *a, const char *role);
    /* Called repeatedly. The call began `ns` ago; `what` comes from author_call_waits_for(). */
    void (*waiting)(void *ctx, const struct agent *a, const char *role, const char *what,
                    uint64_t ns);
    /* A reply cannot be used. `again`: the author is asked once more. */
    void (*refused)(void *ctx, const struct agent *a, const char *role, uint64_t index,
                    const char *why, bool again);
    /* Called repeatedly. `what` is the judge's work on the first candidate, such as "compiling". */
    void (*judging)(void *ctx, const struct agent *a, size_t n, const char *what);
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
    /* NULL: the author of "code" plays the role. */
    struct author *authors[AUTHOR_ROLES];
    struct judge *judge;
    const struct prices *prices;
    struct agent_watch watch;
    uint64_t prior_wall_ns; /* wall time before `hone resume` */
};

struct agent {
    struct agent_setup in;
    const struct run_config *cfg;
    /* in.task or `extended`. */
    const struct task *task;
    /* The task plus the tester's shapes; NULL if there are none. */
    struct task *extended;
    VEC(struct node *) nodes;
    VEC(struct idea) ideas;
    struct node *best; /* the fastest that passes, or NULL */
    /* The first node that passed and was timed beside PyTorch, or NULL. */
    struct node *with_torch;
    struct shown_files shown;
    struct rng rng;
    struct spent spent;
    /* `saved_ns`: when the wall time was last stored. */
    uint64_t started_ns, saved_ns;
    VEC(struct {
        char role[24];
        uint64_t next;
    })
    roles;
    uint64_t next_verdict;
    struct strbuf stop; /* why the run stopped; "" if it did not */
    /* The author or the judge failed. */
    bool failed;
    /* Why the best kernel has no confirmation. "" if it has one or needs none. */
    struct strbuf unconfirmed;
    uint64_t recorded; /* replies and verdicts from the store */
    uint32_t step;
    uint64_t events; /* number so far; also the next event's key */
    json_t *memory;  /* lessons of earlier runs (cfg->memory), or NULL */
};

struct strategy {
    const char *name, *about;
    int (*run)(struct agent *a, struct err *err); /* returns as agent_run() */
};
extern const struct strategy strategy_refine, strategy_team, strategy_search, strategy_sample,
    strategy_reflect;
extern const struct strategy *const strategy_table[]; /* NULL-terminated */
const struct strategy *strategy_find(const char *name);

/* The run borrows everything in *in. Fails without an author for "code". */
int agent_open(struct agent **out, const struct agent_setup *in, struct err *err);
void agent_close(struct agent *a);
int agent_run(struct agent *a, struct err *err);

/* ---- for strategies ------------------------------------------------------------------------- */
/* If nothing else is said, an int is 0, 1 if the run must stop, or -1 on an error. */

struct ask {
    enum author_role author;
    const char *role; /* "code", "plan", ... */
    struct prompt prompt;
    json_t *facts;      /* the prompt's content for programs; owned */
    double temperature; /* negative means the provider's default */
    const char *parent; /* the source to change, borrowed; or NULL */
    /* Set by agent_ask(): */
    bool ok;
    char *reply;     /* "" if `ok` is false */
    char *by;        /* the author that wrote the reply */
    char error[400]; /* why `ok` is false */
    uint64_t index;  /* counts the calls of this role */
};
void ask_release(struct ask *q);

/* Makes all `n` author calls at the same time. A useless reply only sets its `ok` to false. */
int agent_ask(struct agent *a, struct ask *asks, size_t n, struct err *err);

struct author *agent_author(const struct agent *a, enum author_role r);

/* The run owns the new node, which is neither judged nor stored yet. */
struct node *agent_grow(struct agent *a, struct node *parent, const char *source, const char *role,
                        const char *stage, const char *kind, const char *move);
/* Judges all `n` nodes at the same time and stores them. */
int agent_judge(struct agent *a, struct node **nodes, size_t n, struct err *err);
/* Sets ns[i] to the time of sources[i] in the cost model, or to 0 if it fails. Adds no nodes. */
int agent_estimate(struct agent *a, const char *const *sources, size_t n, double *ns,
                   struct err *err);
/* Sets the verdict without the judge. */
int agent_refuse(struct agent *a, struct node *n, enum verdict_kind kind, const char *detector,
                 const char *reason, struct err *err);
int agent_set_fate(struct agent *a, struct node *n, const char *fate, struct err *err);
/* Adds the move of `n` to the ledger, or replaces its result there by a better one. `result` is `n`
 * or a repair of `n`. If it passes, its time is compared with that of `against`; the outcome is ""
 * if a time is missing. */
int agent_add_idea(struct agent *a, const struct node *n, const struct node *result,
                   const struct node *against, struct err *err);
int agent_note(struct agent *a, const char *kind, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Keeps only the first reason. Returns 1. */
int agent_stop(struct agent *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Both get the second verdict of a node that passed, and return -1 if the store fails. The first
 * looks in the store and returns 1 if the verdict is there, else 0. The second asks the judge. It
 * returns 1, or 0 with the reason in `why` if no verdict came. */
int agent_recorded_confirmation(struct agent *a, const struct node *n, struct verdict *out,
                                struct err *err);
int agent_judge_confirmation(struct agent *a, const struct node *n, struct verdict *out,
                             struct strbuf *why, struct err *err);

bool node_passes(const struct node *n);
/* Compares verdicts, then times. Returns a negative number if `a` is worse. */
int node_cmp(const struct node *a, const struct node *b);
/* True if prompts may show the profiler's counters. */
bool profile_allowed(const struct agent *a, uint32_t step);
/* If the goal is reached, stops the run and returns true. The goal is cfg->stop_ns, cfg->stop_pct,
 * or with --smoke any right kernel. */
bool goal_reached(struct agent *a);

#endif
