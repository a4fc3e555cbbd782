/*
 * config.h - how far one candidate goes, and beside which baselines.
 */
#ifndef EVAL_CONFIG_H
#define EVAL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

/* Which of the task's own baselines stand beside a candidate. PyTorch's take a process each, which
 * imports and compiles for many seconds before the first call. */
enum eval_baselines { BASELINES_NONE, BASELINES_HERE, BASELINES_ALL }; /* HERE: but for those */

enum eval_depth { EVAL_SMOKE, EVAL_CHECK, EVAL_TIME, EVAL_PROFILE };

struct eval_config {
    enum eval_depth depth; /* how far a passing candidate goes */
    uint64_t seed;         /* 0 = unpredictable, recorded in the verdict */
    bool sanitize;
    const char *const *against; /* other kernel files as baselines; NULL-terminated, or NULL */
    enum eval_baselines baselines;
    uint64_t measure_ns;  /* time budget of measuring; 0 = 2 s */
    uint64_t call_ns;     /* a longer call hangs; 0 = 5 s, on the emulator 20 s */
    const char *workload; /* only this one: "smoke:0", or its number in the task; NULL = all */
    bool annotate;        /* emulator: counters per source line */
    const char *ncu_csv;  /* EVAL_PROFILE: where to leave what ncu printed; NULL = nowhere */
    const char *const *disabled_detectors; /* hone-test only; NULL-terminated, or NULL */
    const char *parent; /* the source it was made from, whose types it shares; NULL = none */
};
#define EVAL_CONFIG_INIT                                                 \
    {                                                                    \
        .depth = EVAL_TIME, .sanitize = true, .baselines = BASELINES_ALL \
    }

#endif
