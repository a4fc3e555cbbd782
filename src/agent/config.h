/*
 * config.h - the configuration of a run, which the store keeps for `hone resume`.
 */
#ifndef AGENT_CONFIG_H
#define AGENT_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "author/budget.h"
#include "base/arena.h"
#include "base/err.h"
#include "eval/torch_program.h"
#include "task/task.h"

enum profile_mode { PROFILE_NEVER, PROFILE_ALWAYS, PROFILE_DELAYED, PROFILE_MODES };
enum context_mode { CONTEXT_FLAT, CONTEXT_DYNAMIC, CONTEXT_MODES };
enum select_mode { SELECT_GREEDY, SELECT_EPS, SELECT_MODES };
enum dialect { DIALECT_CUTE, DIALECT_CUDA, DIALECTS };
extern const char *const profile_names[PROFILE_MODES];
extern const char *const context_names[CONTEXT_MODES];
extern const char *const select_names[SELECT_MODES];
extern const char *const dialect_names[DIALECTS];

enum {
    RUN_MAX_STEPS = 100000,
    RUN_MAX_REPAIRS = 1000,
    RUN_MAX_TRIES = 1000,
    RUN_MAX_WAVE = 64,
    RUN_MAX_PROPOSALS = 64,
    RUN_MAX_MOVES = 8
};

enum author_role {
    AUTHOR_CODE,
    AUTHOR_PLAN,
    AUTHOR_DEBUG,
    AUTHOR_TEST,
    AUTHOR_PROFILE,
    AUTHOR_PORT,
    AUTHOR_ROLES
};

/* The dialect that the run asks for. `hone resume` may change the rule. But it reads each stored
 * reply by the rule that held when the reply came, so that the resumed run makes the same
 * candidates. */
struct dialect_rule {
    enum dialect dialect;
    bool strict;    /* reject kernels in another dialect; else only report them */
    uint64_t until; /* the rule holds while at most this many author calls have ended */
};
enum { MAX_DIALECT_RULES = 8 };

struct run_config {
    const char *strategy;
    /* A built-in task's name, or a path. The store has an absolute path. */
    const char *task;
    /* Hash of the task's snapshot in the store (task/snapshot.h), or "". */
    const char *task_sha;
    const char *arch;
    const char *gpu;
    const char *device;   /* "emu" or "cuda"; "" means a GPU if there is one */
    const char *on;       /* "local", "spool:DIR", ... (sched/sched.h) */
    const char *compiler; /* "nvrtc", "nvcc", or "" for whichever is found */
    /* NULL means the author of "code". */
    const char *authors[AUTHOR_ROLES];
    enum dialect dialect;
    bool strict_dialect;
    struct dialect_rule dialects_before[MAX_DIALECT_RULES]; /* the oldest first */
    uint32_t ndialects_before;
    enum profile_mode profile;
    enum context_mode context;
    enum select_mode select;
    bool restore; /* refine: after a slower kernel, go back to the best one */
    bool class_prompts;
    bool anchors; /* search: plans name the lines to change (anchors.h) */
    bool zero_shot;
    bool whole_files; /* prompts always show the whole kernel (shown_file.h) */
    bool rejudge;     /* a replay ignores recorded verdicts */
    bool baselines;
    unsigned torch_variants;        /* PyTorch variants to time, as bits (job/torch_variants.h) */
    struct torch_programs programs; /* PyTorch programs of the user, as further baselines */
    bool smoke;                     /* judge at the smoke shapes only, without times */
    bool torch_at_end;              /* time PyTorch only beside the final kernel */
    uint64_t seed;
    /* Steps (refine, reflect), rounds (team) or nodes (search, sample). */
    uint32_t steps;
    int32_t repairs; /* the most repairs of a failed step; -1: the strategy's default */
    uint32_t tries;
    /* The first step whose prompt may show the profiler's counters; -1: by the task's class. */
    int32_t profile_delay;
    /* refine: for regress_steps steps the parent may be slower than the best by this factor. */
    double regress_allow;
    uint32_t regress_steps;
    double stop_pct; /* the run stops at this share of the roofline; 0: never */
    /* For studies: the run stops when a kernel is this fast; 0: never. Not stored. */
    double stop_ns;
    double eps;               /* search: probability of a random leaf */
    uint32_t proposals;       /* refine: moves per step; the cost model picks one */
    uint32_t moves;           /* refine: moves per call; all are judged */
    uint32_t n_root, n_child; /* search: limits on a node's children (search.c) */
    uint32_t leaders;         /* search: a plan prompt shows this many of the fastest candidates */
    uint32_t wave;            /* search, sample: candidates to ask for at once */
    struct budget budget;
    const char *from; /* text of the starting kernel, or "" */
    const char *from_name;
    bool use_memory;
    /* The lessons that the run began with, as JSON (memory/memory.h); or "". */
    const char *memory;
    const char *out; /* the report's folder; "" means hone-out/RUN */
};

void run_config_init(struct run_config *c); /* defaults of `refine` */
/* Sets whole_files if an author is a person or a program: these have no prompt cache. */
void run_config_set_whole_files(struct run_config *c);
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
void run_config_settle(struct run_config *c, const struct task *t);
/* Returns the rule for a reply that is read after `calls` author calls have ended. */
struct dialect_rule run_config_dialect(const struct run_config *c, uint64_t calls);
int run_config_set_dialect(struct run_config *c, enum dialect dialect, bool strict, uint64_t calls,
                           struct err *err);
int dialect_from_name(const char *name, enum dialect *out, struct err *err);
/* Returns NULL if a text is not UTF-8. */
json_t *run_config_to_json(const struct run_config *c);
/* Returns the same JSON as text, which the caller frees. Returns NULL if a text is not UTF-8. */
char *run_config_text(const struct run_config *c, struct err *err);
/* Reads the configuration `j` into *c. The texts of *c live in the arena. Keys that older versions
 * of Hone did not write may be missing. */
int run_config_from_json(struct run_config *c, const json_t *j, struct arena *a, struct err *err);

#endif
