/*
 * agent.h - a run of `hone optimize`. A run asks authors for candidates, has them judged, grows a
 * tree of them and records everything.
 *
 *     struct agent *a;
 *     agent_open(&a, &(struct agent_setup){.store = s, .run = id, .task = t, ...}, err);
 *     int rc = agent_run(a, err);      0 finished, 1 stopped (a->stop says why), -1 error
 *     agent_close(a);
 *
 * A strategy calls agent_ask(), agent_judge(), agent_grow() and agent_note(). It depends only on
 * the configuration, the replies and the verdicts: it reads no clock, and its random numbers come
 * from agent.rng. So a resumed run can start the strategy again: with the stored replies and
 * verdicts, it takes the same decisions.
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

struct node {
    uint64_t index;
    int64_t parent; /* -1 for a root */
    char *source;
    char source_sha[STORE_SHA];
    struct verdict verdict;
    bool judged;
    bool recorded;         /* the verdict came from the store */
    int64_t verdict_index; /* the verdict's key in the store, or -1 */
    /* Static strings: the role that wrote the source, and the strategy's stage. */
    const char *role, *stage;
    char move[160], kind[24]; /* the change from the parent, and its kind */
    const char *fate;         /* "open", "best", "kept", "regression", "failed", "pruned", ... */
    bool pruned;              /* "search" does not select it again */
    unsigned children, failed_children;
    unsigned depth;
    char *author; /* NULL if the user gave the source */
};

/* One line of the ledger. */
struct idea {
    uint64_t of;  /* index of the candidate that made the move */
    int64_t node; /* `of`, or the index of the repair that gave the outcome */
    char kind[24], text[160];
    /* A static string: "gain", "regression", "no change", "failed", or "" if not known. */
    const char *outcome;
    double gain; /* parent's time / candidate's time; 0 if not known */
};

/* Callbacks that report progress; each may be NULL. */
struct agent_watch {
    void (*asking)(void *ctx, const struct agent *a, const char *role);
    /* Called repeatedly. The call began `ns` ago; `what` is author_call_waits_for(). */
    void (*waiting)(void *ctx, const struct agent *a, const char *role, const char *what,
                    uint64_t ns);
    /* A reply cannot be used. `again`: the author is asked once more. */
    void (*refused)(void *ctx, const struct agent *a, const char *role, uint64_t index,
                    const char *why, bool again);
    /* Called repeatedly. `what` says what the first of n candidates waits for: "compiling". */
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
    /* NULL means the author of "code". */
    struct author *authors[AUTHOR_ROLES];
    struct judge *judge;
    const struct prices *prices;
    struct agent_watch watch;
    uint64_t prior_wall_ns;
};

/* The reason why a run stops may be long: the built-in author lists all playbooks, says why each of
 * them does not fit the task, and says what to do. */
#define AGENT_STOP_MAX 8192

struct agent {
    struct agent_setup in;
    const struct run_config *cfg;
    const struct task *task; /* in.task or `extended` */
    struct task *extended;   /* the task with the tester's shapes added, or NULL */
    VEC(struct node *) nodes;
    VEC(struct idea) ideas;
    struct node *best; /* the fastest node that passes, or NULL */
    /* The first node that passed when PyTorch was to be timed beside it, or NULL. */
    struct node *with_torch;
    struct shown_files shown;
    struct rng rng;
    struct spent spent;
    uint64_t started_ns, saved_ns; /* saved_ns: when the wall time was last stored */
    VEC(struct {
        char role[24];
        uint64_t next;
    })
    roles;
    uint64_t next_verdict;
    struct strbuf stop;        /* why the run stopped, at most AGENT_STOP_MAX bytes, or "" */
    bool failed;               /* the author or the judge failed */
    struct strbuf unconfirmed; /* why the best kernel has no confirmation, or "" */
    uint64_t recorded;         /* number of replies and verdicts that came from the store */
    uint32_t step;
    uint64_t events; /* number of events so far; the key of the next event */
    json_t *memory;  /* lessons of earlier runs, or NULL */
};

struct strategy {
    const char *name, *about;
    int (*run)(struct agent *a, struct err *err);
};
extern const struct strategy strategy_refine, strategy_team, strategy_search, strategy_sample,
    strategy_reflect;
extern const struct strategy *const strategy_table[]; /* NULL-terminated */
const struct strategy *strategy_find(const char *name);

/* Borrows everything in *in. Fails without an author for "code". */
int agent_open(struct agent **out, const struct agent_setup *in, struct err *err);
void agent_close(struct agent *a);
int agent_run(struct agent *a, struct err *err);

/* ---- for strategies ------------------------------------------------------------------------- */
/* Unless noted, an int function returns 0, 1 if the run must stop, or -1 on an error. */

struct ask {
    enum author_role author;
    const char *role;
    struct prompt prompt;
    json_t *facts;      /* the prompt's content for programs; owned */
    double temperature; /* negative means the provider's default */
    const char *parent; /* source to change, borrowed; or NULL */
    /* Set by agent_ask(): */
    bool ok;
    char *reply; /* "" if `ok` is false */
    char *by;
    char error[400];
    uint64_t index; /* number of the call among those of this role, from 0 */
};
void ask_release(struct ask *q);

/* Makes the `n` author calls at the same time. A useless reply is no error: its `ok` is false. */
int agent_ask(struct agent *a, struct ask *asks, size_t n, struct err *err);

struct author *agent_author(const struct agent *a, enum author_role r);

struct node *agent_grow(struct agent *a, struct node *parent, const char *source, const char *role,
                        const char *stage, const char *kind, const char *move);
int agent_judge(struct agent *a, struct node **nodes, size_t n, struct err *err);
/* ns[i] becomes the modelled time of sources[i], or 0 if the source does not pass. */
int agent_estimate(struct agent *a, const char *const *sources, size_t n, double *ns,
                   struct err *err);
/* Gives the node this verdict without asking the judge. */
int agent_refuse(struct agent *a, struct node *n, enum verdict_kind kind, const char *detector,
                 const char *reason, struct err *err);
int agent_set_fate(struct agent *a, struct node *n, const char *fate, struct err *err);
/* Puts the move of `n` and its outcome into the ledger. The outcome comes from `result`, which is
 * `n` or a repair of `n`: its time is compared with the time of `against`. If the ledger has the
 * move already, changes the outcome only if `result` is better than the earlier result. */
int agent_add_idea(struct agent *a, const struct node *n, const struct node *result,
                   const struct node *against, struct err *err);
int agent_note(struct agent *a, const char *kind, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Sets a->stop, the reason why the run stops, unless an earlier call has set it. Returns 1. */
int agent_stop(struct agent *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Looks in the store for the verdict of the node's confirmation (confirm.h). Returns 1 if it is
 * there, 0 if not. */
int agent_recorded_confirmation(struct agent *a, const struct node *n, struct verdict *out,
                                struct err *err);
/* Asks the judge for the verdict of the node's confirmation, and stores it. Returns 1 with the
 * verdict, or 0 with the reason in `why` if there is none. */
int agent_judge_confirmation(struct agent *a, const struct node *n, struct verdict *out,
                             struct strbuf *why, struct err *err);

bool node_passes(const struct node *n);
/* Compares times if both pass, else scores. Negative if `a` is worse. */
int node_cmp(const struct node *a, const struct node *b);
bool profile_allowed(const struct agent *a, uint32_t step);
/* Stops the run and returns true if the best kernel reaches cfg->stop_ns or cfg->stop_pct. With
 * --smoke, any kernel that passes is enough. */
bool goal_reached(struct agent *a);

#endif
