/*
 * config.h - everything that decides what a run does. It is written into the store when the run
 * begins and read back by `hone resume`, so a run carried on is the run that was begun.
 */
#ifndef AGENT_CONFIG_H
#define AGENT_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "author/budget.h"
#include "base/arena.h"
#include "base/err.h"
#include "task/task.h"

enum profile_mode { PROFILE_NEVER, PROFILE_ALWAYS, PROFILE_DELAYED, PROFILE_MODES };
enum context_mode { CONTEXT_FLAT, CONTEXT_DYNAMIC, CONTEXT_MODES };
enum select_mode { SELECT_GREEDY, SELECT_EPS, SELECT_MODES };
enum dialect { DIALECT_CUTE, DIALECT_CUDA, DIALECTS };
extern const char *const profile_names[PROFILE_MODES];
extern const char *const context_names[CONTEXT_MODES];
extern const char *const select_names[SELECT_MODES];
extern const char *const dialect_names[DIALECTS];

/* The roles that may have an author of their own; "code" is the default of all. */
enum author_role {
    AUTHOR_CODE,
    AUTHOR_PLAN,
    AUTHOR_DEBUG, /* diagnosis and repair */
    AUTHOR_TEST,
    AUTHOR_PROFILE,
    AUTHOR_PORT,
    AUTHOR_ROLES
};

struct run_config {
    const char *strategy;
    const char *task;                  /* a name, or a path; in full once the run is stored */
    const char *arch;                  /* "sm_90a" */
    const char *gpu;                   /* "h200": whose roofline */
    const char *device;                /* "emu", "cuda"; "" = a GPU if there is one */
    const char *on;                    /* "local", "spool:DIR" */
    const char *compiler;              /* "nvrtc", "nvcc"; "" = what there is */
    const char *authors[AUTHOR_ROLES]; /* specs; NULL = the coder's */
    enum dialect dialect;
    enum profile_mode profile;
    enum context_mode context;
    enum select_mode select;
    bool class_prompts, anchors, zero_shot, rejudge, baselines;
    uint64_t seed;
    uint32_t steps;         /* refine, reflect: steps; team: rounds; search, sample: nodes */
    int32_t repairs;        /* per failed step; -1 = the strategy's */
    uint32_t tries;         /* fresh starts of the first kernel */
    int32_t profile_delay;  /* step from which counters may be told; -1 = the class's */
    double regress_allow;   /* a structural step may be slower by this factor ... */
    uint32_t regress_steps; /* ... for so many steps */
    double stop_pct;        /* of the roofline; 0 = never */
    double eps;
    uint32_t proposals; /* refine: moves asked for a step, of which the model picks one */
    uint32_t n_root, n_child, leaders, wave;
    struct budget budget;
    const char *from;      /* source to start from; "" = none */
    const char *from_name; /* where it came from */
};

void run_config_init(struct run_config *c); /* defaults of `refine` */
/* Switches one of the papers' ideas, "KEY=VALUE", for studies. ABLATIONS lists them. */
int run_config_ablate(struct run_config *c, const char *setting, struct err *err);
#define ABLATIONS                                                           \
    "for studies, may be given several times:\n"                            \
    "profile=never|always|delayed   when counters reach the prompts\n"      \
    "profile-delay=STEP             the first step that may have them\n"    \
    "class-prompts=off              no menu of the task's class\n"          \
    "example=off                    no example kernel in the prompts\n"     \
    "anchors=off                    search: plans in words, not in spans\n" \
    "context=flat                   search: every role sees every node\n"   \
    "select=greedy                  search: always expand the best node"
/* Fills in what a strategy wants and the user left open. */
void run_config_settle(struct run_config *c, const struct task *t);
json_t *run_config_to_json(const struct run_config *c);
/* The same as text; to be freed. */
char *run_config_text(const struct run_config *c, struct err *err);
int run_config_from_json(struct run_config *c, const json_t *j, struct arena *a, struct err *err);

#endif
