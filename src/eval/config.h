/*
 * config.h - says how far to evaluate one candidate, and against which baselines.
 */
#ifndef EVAL_CONFIG_H
#define EVAL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "eval/torch_program.h"

/* Which of the task's own baselines are timed. BASELINES_HERE leaves out PyTorch, which imports and
 * compiles for many seconds in each of its processes. */
enum eval_baselines { BASELINES_NONE, BASELINES_HERE, BASELINES_ALL };

enum eval_depth { EVAL_SMOKE, EVAL_CHECK, EVAL_TIME, EVAL_PROFILE };

struct eval_config {
    enum eval_depth depth;
    uint64_t seed; /* 0 = drawn at random and recorded in the verdict */
    bool sanitize;
    const char *const *against; /* other kernel files as baselines; NULL-terminated, or NULL */
    enum eval_baselines baselines;
    /* Further PyTorch variants to time if `baselines` is BASELINES_ALL (job/torch_variants.h). */
    unsigned torch_variants;
    struct torch_programs programs; /* the user's, as further baselines; not on the emulator */
    uint64_t measure_ns; /* how long to time calls; 0 = 2 s, and half a second for each variant */
    bool warm_l2;        /* time with a warm L2 (docs/judge.md); not on the emulator */
    /* A longer call counts as a hang. 0 = the default: 5 s, with a profiler 20 s, on the emulator
     * 40 s. */
    uint64_t call_ns;
    /* Run only these workloads: names ("smoke:0,check:1"), positions in the task's list of
     * workloads from 0 on, or roles ("time"). NULL = all. */
    const char *workload;
    bool annotate;       /* emulator: counters per source line */
    const char *ncu_csv; /* EVAL_PROFILE: where to write ncu's output; NULL = nowhere */
    /* Detectors (check/) to switch off; only hone-test sets it. NULL-terminated, or NULL. */
    const char *const *disabled_detectors;
    /* The source that the candidate was derived from, or NULL. If it has a family header
     * (compile/family.h), the candidate compiles faster. */
    const char *parent;
};
#define EVAL_CONFIG_INIT                                                 \
    {                                                                    \
        .depth = EVAL_TIME, .sanitize = true, .baselines = BASELINES_ALL \
    }

#endif
