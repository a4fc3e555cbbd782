/*
 * baseline_verdict.h - keeps the verdicts of baseline kernels from one evaluation to the next.
 *
 * Hone compares a candidate's time only with baselines that are right. So the evaluator first
 * evaluates naive.cu and every file of --against, like a candidate. The verdict's key is the hash
 * of all that the verdict depends on: the task, the baseline's source, the build of Hone, and
 * `struct baseline_place`. The seed of a baseline's evaluation is computed from the task and the
 * source. So the verdict does not depend on the candidate that needs it first. Verdicts are entries
 * of the compile cache (compile/cache.h).
 *
 *     struct baseline_verdicts b;
 *     baseline_verdicts_open(&b, NULL);
 *     baseline_key(&b, &where, task, source, key);
 *     const struct verdict *v = baseline_verdict_get(&b, key);
 *     baseline_verdict_put(&b, key, &verdict);            if v was NULL and you judged the baseline
 *     baseline_verdicts_close(&b);
 */
#ifndef EVAL_BASELINE_VERDICT_H
#define EVAL_BASELINE_VERDICT_H

#include "base/vec.h"
#include "compile/cache.h"
#include "sys/hash.h"
#include "task/task.h"
#include "verdict/verdict.h"

/* Where and with which tools a baseline is judged; all members are part of the key. `gpu` names the
 * data sheet and `gpu_name` the GPU itself. `on` is the --on option, such as "spool:DIR". `call_ns`
 * is the time limit of a call. */
struct baseline_place {
    const char *device; /* "emu", "cuda" */
    const char *gpu, *gpu_name, *driver, *arch, *compiler, *on;
    uint64_t call_ns;
};

struct known_baseline {
    char key[HASH_HEX];
    struct verdict verdict;
};

struct baseline_verdicts {
    struct cache cache;
    bool have_cache;
    VEC(struct known_baseline *) known; /* the verdicts that this process has read or made */
    char build[HASH_HEX];               /* tells builds of hone and hone-worker apart */
};

/* Opens the cache. Without a usable cache directory, verdicts are kept for this process only. */
void baseline_verdicts_open(struct baseline_verdicts *b, const char *cache_dir);
void baseline_verdicts_close(struct baseline_verdicts *b);

void baseline_key(const struct baseline_verdicts *b, const struct baseline_place *p,
                  const struct task *t, const char *source, char key[HASH_HEX]);
/* Returns the seed of the evaluation that judges this baseline. It is never 0. */
uint64_t baseline_seed(const struct task *t, const char *source);

/* Returns the verdict, borrowed until close; NULL if it is not known yet. */
const struct verdict *baseline_verdict_get(struct baseline_verdicts *b, const char *key);
/* Takes ownership of the contents of *v, and drops its counters. A verdict `unjudged` is kept for
 * this process only. */
void baseline_verdict_put(struct baseline_verdicts *b, const char *key, struct verdict *v);

/* Returns the number of the first source line that the verdict names, in a compile error, a plan
 * error or a finding (a mistake that the emulator saw). Returns 0 if it names no line. */
uint32_t baseline_verdict_line(const struct verdict *v);

#endif
