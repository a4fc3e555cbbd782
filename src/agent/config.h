/*
 * config.h - the configuration of a run. A run writes its configuration into the store when it
 * begins, and `hone resume` reads it back, so that a resumed run keeps its configuration.
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

/* ABLATIONS, below, explains the first three enums. `enum dialect` says in which language kernels
 * are written: CuTe or plain CUDA. */
enum profile_mode { PROFILE_NEVER, PROFILE_ALWAYS, PROFILE_DELAYED, PROFILE_MODES };
enum context_mode { CONTEXT_FLAT, CONTEXT_DYNAMIC, CONTEXT_MODES };
enum select_mode { SELECT_GREEDY, SELECT_EPS, SELECT_MODES };
enum dialect { DIALECT_CUTE, DIALECT_CUDA, DIALECTS };
extern const char *const profile_names[PROFILE_MODES];
extern const char *const context_names[CONTEXT_MODES];
extern const char *const select_names[SELECT_MODES];
extern const char *const dialect_names[DIALECTS];

/* The largest values that the command line takes. */
enum {
    RUN_MAX_STEPS = 100000,
    RUN_MAX_REPAIRS = 1000,
    RUN_MAX_TRIES = 1000,
    RUN_MAX_WAVE = 64,
    RUN_MAX_PROPOSALS = 64,
    RUN_MAX_MOVES = 8
};

/* The roles that may have an author of their own. Without one, a role uses the author of "code". */
enum author_role {
    AUTHOR_CODE,
    AUTHOR_PLAN,
    AUTHOR_DEBUG, /* diagnosis and repair */
    AUTHOR_TEST,
    AUTHOR_PROFILE,
    AUTHOR_PORT,
    AUTHOR_ROLES
};

/* Which dialect the run asks for: plain CUDA, or CuTe. `hone resume` may change the rule. A reply
 * that was read before the change keeps the rule under which it was read, so that the resumed run
 * makes the same candidates. */
struct dialect_rule {
    enum dialect dialect;
    bool strict; /* if true, a kernel in another dialect is rejected; else it is only reported */
    /* The rule applies to a reply if at most this many author calls have ended when it is read. */
    uint64_t until;
};
enum { MAX_DIALECT_RULES = 8 };

struct run_config {
    const char *strategy;
    /* The name of a built-in task, or the path of a task. In the store the path is absolute. */
    const char *task;
    /* The hash of the task when the run began; "" if it is not known. The store keeps the task's
     * snapshot as a blob with this name (task/snapshot.h). */
    const char *task_sha;
    const char *arch;     /* such as "sm_90a" */
    const char *gpu;      /* the GPU whose roofline is used, such as "h200" */
    const char *device;   /* "emu" or "cuda"; "" means a GPU if there is one */
    const char *on;       /* where candidates run: "local", "spool:DIR", ... (sched/sched.h) */
    const char *compiler; /* "nvrtc" or "nvcc"; "" means the one that is found */
    /* The author of each role, as the user wrote it. NULL means the author of the role "code". */
    const char *authors[AUTHOR_ROLES];
    enum dialect dialect;
    bool strict_dialect;
    struct dialect_rule dialects_before[MAX_DIALECT_RULES]; /* earlier rules, the oldest first */
    uint32_t ndialects_before;
    enum profile_mode profile;
    enum context_mode context;
    enum select_mode select;
    /* Where a comment begins with the name of a strategy, only that strategy uses the member. */
    bool restore;       /* refine: after a slower kernel, go back to the best one */
    bool class_prompts; /* prompts list the moves that suit the task's class */
    bool anchors;       /* search: the planner names the lines to change (anchors.h) */
    bool zero_shot;     /* prompts contain no example kernel */
    /* Prompts show the current kernel as a whole file, never as an older file and its changes
     * (shown_file.h). This is for authors without a prompt cache. */
    bool whole_files;
    bool rejudge;   /* a replay judges the candidates anew and ignores recorded verdicts */
    bool baselines; /* time the task's baselines too */
    /* Further PyTorch variants that are timed with PyTorch (job/torch_variants.h); 0 = none. */
    unsigned torch_variants;
    bool smoke;        /* judge candidates at the small smoke shapes only, without times */
    bool torch_at_end; /* time PyTorch only beside the best kernel, when the strategy is done */
    uint64_t seed;
    /* How many steps (refine, reflect), rounds (team) or nodes (search, sample) the run makes. */
    uint32_t steps;
    int32_t repairs; /* how often to repair a failed step; -1 means the strategy's default */
    uint32_t tries;  /* how often to ask for a first kernel */
    /* The first step in which prompts may show the profiler's counters; -1 means the default of the
     * task's class. */
    int32_t profile_delay;
    /* refine: a step of the stage "structure" may make the kernel slower. The slower kernel may
     * still be the next parent, if it is slower by at most this factor (refine.c). */
    double regress_allow;
    uint32_t regress_steps; /* refine: for how many steps the slower kernel may be the parent */
    double stop_pct;        /* the run stops at this percentage of the roofline; 0 means never */
    /* For studies: the run stops when a kernel is this fast; 0 means never. The store does not keep
     * it. */
    double stop_ns;
    double eps;               /* search: the probability that it selects a random leaf */
    uint32_t proposals;       /* refine: how many moves a step asks for; the cost model picks one */
    uint32_t moves;           /* refine: how many moves a call asks for; all of them are judged */
    uint32_t n_root, n_child; /* search: limits on a node's children; see search.c */
    uint32_t leaders;         /* search: how many of the fastest candidates a plan prompt lists */
    uint32_t wave;            /* search, sample: how many candidates to ask for at the same time */
    struct budget budget;
    const char *from;      /* the text of the starting kernel; "" if there is none */
    const char *from_name; /* the file that the starting kernel came from */
    bool use_memory;       /* use lessons of earlier runs, and keep those of this run */
    /* The lessons that memory gave when the run began (memory/memory.h), as JSON; "" if none. */
    const char *memory;
    const char *out; /* the full path of the report's folder; "" means hone-out/RUN */
};

void run_config_init(struct run_config *c); /* defaults of `refine` */
/* Sets whole_files if some author of the run is a person or a program. Such an author wants to read
 * the whole kernel. It has no prompt cache, so nothing is saved by prompts that begin alike. */
void run_config_set_whole_files(struct run_config *c);
/* Sets one ablation, "KEY=VALUE". With ablations a study switches off or varies single ideas of the
 * published strategies. ABLATIONS lists the keys. */
int run_config_ablate(struct run_config *c, const char *setting, struct err *err);
#define ABLATIONS                                                                          \
    "for studies, may be given several times:\n"                                           \
    "profile=never|always|delayed   when counters reach the prompts (default: delayed;\n"  \
    "                               team: always)\n"                                       \
    "profile-delay=STEP             delayed: the first step that may have them\n"          \
    "                               (default: by the class of the task)\n"                 \
    "class-prompts=off              no list of moves for the task's class in prompts\n"    \
    "example=off                    no example kernel in the prompts\n"                    \
    "dialect=strict                 --dialect cute: reject kernels without CuTe\n"         \
    "anchors=off                    search: plans do not say which lines to change\n"      \
    "memory=off                     neither use nor leave lessons\n"                       \
    "restore=off                    refine: go on from the last kernel that passed, not\n" \
    "                               from the best one\n"                                   \
    "context=flat                   search: every role sees every node\n"                  \
    "select=greedy                  search: always expand the best node"
/* Fills in the strategy's default for each value that the user did not set. */
void run_config_settle(struct run_config *c, const struct task *t);
/* Returns the rule for a reply that is read after `calls` author calls have ended. */
struct dialect_rule run_config_dialect(const struct run_config *c, uint64_t calls);
/* Changes the rule for the replies that are read from now on. `calls` is the number of author calls
 * that have ended. */
int run_config_set_dialect(struct run_config *c, enum dialect dialect, bool strict, uint64_t calls,
                           struct err *err);
/* Finds a dialect by its name. */
int dialect_from_name(const char *name, enum dialect *out, struct err *err);
/* Returns the configuration as JSON; NULL if a text is not UTF-8. */
json_t *run_config_to_json(const struct run_config *c);
/* Returns the configuration as JSON text; the caller frees it. Returns NULL and sets *err if a text
 * is not UTF-8. */
char *run_config_text(const struct run_config *c, struct err *err);
/* Reads a configuration. The texts of *c live in the arena. A wrong value is an error. A missing
 * key is an error too, except a key that older versions of Hone did not write. */
int run_config_from_json(struct run_config *c, const json_t *j, struct arena *a, struct err *err);

#endif
