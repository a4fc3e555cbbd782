/*
 * agent.h - a run of `hone optimize`. It asks authors (models, programs or people) for kernels, the
 * candidates. It has them judged, grows a tree of them and records everything.
 *
 *     struct agent *a;
 *     agent_open(&a, &(struct agent_setup){.store = s, .run = id, .task = t, ...}, err);
 *     int rc = agent_run(a, err);      0 finished, 1 stopped (a->stop says why), -1 error
 *     agent_close(a);
 *
 * A strategy is ordinary sequential code that calls four verbs: ask, judge, grow, note. It may
 * depend only on the configuration, the replies and the verdicts. So it reads no clock, and draws
 * random numbers only from the run's own generator.
 *
 * Therefore Hone can resume a run by starting its strategy from the beginning. Each author call has
 * a key (role and index), and each verdict has a key (index). If the store has a reply or verdict
 * under the key, the strategy gets it immediately, so Hone repeats nothing that it has recorded. A
 * replay gives the strategy the recorded replies and verdicts of an earlier run, so the strategy
 * makes the same candidates again.
 *
 *      strategy ──ask(role, prompt)──> store has (role, i)? ──yes──> its reply
 *                                            │no
 *                                            └─> budget left? ─> record the prompt, ask the
 *                                                author, record the reply
 *
 * When the strategy is done, the run confirms the best kernel (confirm.h); no strategy sees the
 * confirmation. Before each new call or evaluation, the run checks its budgets, the clock and
 * Ctrl-C. While it waits for replies, it checks only the clock and Ctrl-C. If the clock or Ctrl-C
 * ends a call early, the store has no reply to the call. A resumed run continues the call or makes
 * it again.
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

/* One candidate of the run's tree, with its verdict and its fate: what the run did with it. */
struct node {
    uint64_t index;
    int64_t parent; /* the index of the parent; -1 for a root */
    char *source;
    char source_sha[STORE_SHA];
    struct verdict verdict;
    bool judged;           /* `verdict` is set */
    bool recorded;         /* the verdict was in the store when the run was resumed */
    int64_t verdict_index; /* the key of the node's verdict; -1 if it has none yet */
    /* `role`, `stage` and `fate` point to static strings. `role` is the role that wrote the source,
     * `stage` names the part of the strategy that asked for it. */
    const char *role, *stage;
    char move[160], kind[24]; /* the move (the change from the parent) in words, and its kind */
    const char *fate;         /* "open", "best", "kept", "regression", "failed", "pruned", ... */
    bool pruned;              /* the strategy "search" does not select this node again */
    unsigned children, failed_children;
    unsigned depth; /* distance from the root of its tree */
    char *author;   /* who wrote the node's source; NULL if the user gave it */
};

/* An idea is a move with its outcome. The ledger is the list of all ideas of a run. */
struct idea {
    uint64_t of; /* the index of the candidate to which the move led */
    /* The index of the candidate that gives the outcome: `of`, or a repair of that candidate. */
    int64_t node;
    char kind[24], text[160];
    /* A static string: "gain", "regression", "no change" or "failed"; "" if not known yet. */
    const char *outcome;
    double gain; /* the parent's time divided by the candidate's; 0 if not known */
};

/* Callbacks that let a command show progress; each may be NULL. */
struct agent_watch {
    void (*asking)(void *ctx, const struct agent *a, const char *role);
    /* Called again and again while the run waits for a call that began `ns` ago. `what` is the
     * text of author_call_waits_for(). */
    void (*waiting)(void *ctx, const struct agent *a, const char *role, const char *what,
                    uint64_t ns);
    /* Called if a reply cannot be used. If `again` is true, the author is asked once more. */
    void (*refused)(void *ctx, const struct agent *a, const char *role, uint64_t index,
                    const char *why, bool again);
    /* Called again and again while `n` candidates are judged. `what` says what the judge does for
     * the first of them at the moment, such as "compiling" or "running". It is "" if that is not
     * known. */
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
    /* The author of each role. NULL if the role has no author of its own: then the author of the
     * role "code" plays it. */
    struct author *authors[AUTHOR_ROLES];
    struct judge *judge;
    const struct prices *prices;
    struct agent_watch watch;
    uint64_t prior_wall_ns; /* the wall time that the run had spent before `hone resume` */
};

struct agent {
    struct agent_setup in;
    const struct run_config *cfg;
    /* The task to use: in.task, or `extended` if that is not NULL. */
    const struct task *task;
    /* The task with the shapes that the tester proposed; NULL if there are none. */
    struct task *extended;
    VEC(struct node *) nodes;
    VEC(struct idea) ideas;
    struct node *best; /* the fastest node that passes; NULL if there is none */
    /* The first node that passed on a GPU in an evaluation with all baselines, PyTorch included;
     * NULL if there is none. */
    struct node *with_torch;
    struct shown_files shown; /* the file that the last prompt of each role showed */
    struct rng rng;
    struct spent spent;
    /* When this process started the run, and when it last wrote the wall time to the store. */
    uint64_t started_ns, saved_ns;
    VEC(struct {
        char role[24];
        uint64_t next; /* the index of the role's next call */
    })
    roles;
    uint64_t next_verdict; /* the index of the next verdict */
    struct strbuf stop;    /* why the run stopped; "" if it has not stopped */
    /* The run stopped because the author or the judge failed, not because a budget was used up. */
    bool failed;
    /* Why the best kernel has no confirmation (confirm.h). "" if it has one or needs none. */
    struct strbuf unconfirmed;
    uint64_t recorded; /* how many replies and verdicts were taken from the store */
    /* The number of the current step. Progress messages and profile_allowed() use it. */
    uint32_t step;
    uint64_t events; /* how many events the run has noted; also the key of the next one */
    json_t *memory;  /* the lessons of earlier runs (cfg->memory) as JSON; NULL if there are none */
};

struct strategy {
    const char *name, *about;
    /* Returns 0 when the strategy is done, 1 if the run stopped, -1 on an error. */
    int (*run)(struct agent *a, struct err *err);
};
extern const struct strategy strategy_refine, strategy_team, strategy_search, strategy_sample,
    strategy_reflect;
extern const struct strategy *const strategy_table[]; /* NULL-terminated */
const struct strategy *strategy_find(const char *name);

/* Opens a run. Everything that *in points to is borrowed and must outlive the run. Fails if there
 * is no author of role "code". */
int agent_open(struct agent **out, const struct agent_setup *in, struct err *err);
void agent_close(struct agent *a);
int agent_run(struct agent *a, struct err *err);

/* ---- for strategies ------------------------------------------------------------------------- */

struct ask {
    enum author_role author; /* which of the run's authors to ask */
    const char *role; /* "code", "plan", ...; role and index are the call's key in the store */
    struct prompt prompt;
    json_t *facts;      /* facts about the task for authors that are programs; owned */
    double temperature; /* negative means the provider's default */
    const char *parent; /* the source that the author should change, or NULL; borrowed */
    /* agent_ask() sets the following members. */
    bool ok;         /* there is a reply that can be used */
    char *reply;     /* "" if `ok` is false */
    char *by;        /* the author that wrote the reply; a resumed run may use another author now */
    char error[400]; /* why `ok` is false */
    uint64_t index;  /* the index of the call among those with the same role */
};
void ask_release(struct ask *q);

/* Makes all `n` author calls at the same time. Returns 0, 1 if the run must stop, or -1 on an
 * error. If a reply cannot be used, for example because it is empty, the ask's `ok` is false, and
 * the run goes on. */
int agent_ask(struct agent *a, struct ask *asks, size_t n, struct err *err);

/* Returns the author that is asked for this role. */
struct author *agent_author(const struct agent *a, enum author_role r);

/* Adds a node to the tree and returns it. The run owns the node, which is not yet judged and not
 * yet stored. */
struct node *agent_grow(struct agent *a, struct node *parent, const char *source, const char *role,
                        const char *stage, const char *kind, const char *move);
/* Has all `n` nodes judged at the same time, and stores them with their verdicts. Returns 0, 1 if
 * the run must stop, or -1 on an error. */
int agent_judge(struct agent *a, struct node **nodes, size_t n, struct err *err);
/* Sets ns[i] to the modelled time of sources[i], or to 0 if that source does not pass. Modelled
 * times come from the emulator's cost model. Adds no nodes to the tree, but stores the verdicts.
 * Returns 0, 1 if the run must stop, or -1 on an error. */
int agent_estimate(struct agent *a, const char *const *sources, size_t n, double *ns,
                   struct err *err);
/* Gives a node the verdict no_code or rejected, with a reason, without asking the judge. */
int agent_refuse(struct agent *a, struct node *n, enum verdict_kind kind, const char *detector,
                 const char *reason, struct err *err);
int agent_set_fate(struct agent *a, struct node *n, const char *fate, struct err *err);
/* Adds the move of candidate `n` to the ledger as an idea. `result` is `n` or a repair of `n`. If
 * `result` does not pass, the outcome is "failed". Otherwise the outcome and the gain compare its
 * time with the time of `against`. If `against` is NULL, or one of the two times is missing, the
 * outcome is "". If the ledger already has the idea, a better outcome replaces the old one. */
int agent_add_idea(struct agent *a, const struct node *n, const struct node *result,
                   const struct node *against, struct err *err);
/* Records an event of this kind in the store. */
int agent_note(struct agent *a, const char *kind, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Keeps the reason why the run stops, unless the run has a reason already. Returns 1. */
int agent_stop(struct agent *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* These are for confirm.h. They get the second verdict of a node that passed.
 * agent_recorded_confirmation() looks in the store and returns 1 if it finds that verdict, else 0.
 * agent_judge_confirmation() asks the judge, with all baselines. It returns 1, or 0 with the reason
 * in `why` if no verdict came. Both return -1 if the store fails. */
int agent_recorded_confirmation(struct agent *a, const struct node *n, struct verdict *out,
                                struct err *err);
int agent_judge_confirmation(struct agent *a, const struct node *n, struct verdict *out,
                             struct strbuf *why, struct err *err);

bool node_passes(const struct node *n);
/* Compares two nodes by the kind of their verdicts, then by their times. Returns a negative number
 * if `a` is the worse one, a positive number if `a` is the better one, 0 if they are equal. */
int node_cmp(const struct node *a, const struct node *b);
/* True if the prompts of this step may show the profiler's counters. */
bool profile_allowed(const struct agent *a, uint32_t step);
/* If the goal is reached, stops the run and returns true. The goal is a kernel that takes at most
 * cfg->stop_ns, or one that reaches cfg->stop_pct percent of the roofline. In a run without times
 * (--smoke) the goal is any kernel that passes. */
bool goal_reached(struct agent *a);

#endif
