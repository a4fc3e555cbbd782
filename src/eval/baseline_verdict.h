/*
 * baseline_verdict.h - keeps the verdicts of baseline kernels from one evaluation to the next.
 *
 * A candidate's time is compared only with baselines that are right. So Hone first evaluates
 * naive.cu and every file of --against. The verdicts are entries of the compile cache
 * (compile/cache.h).
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

/* These are part of a verdict's key. `gpu` names the data sheet, `gpu_name` the GPU. `on` says
 * where jobs run (eval.h). `call_ns` is the time limit of a call. */
struct baseline_place {
    const char *device;
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
    VEC(struct known_baseline *) known; /* verdicts that this process has read or made */
    char build[HASH_HEX];               /* tells builds of hone and hone-worker apart */
};

/* Without a usable cache directory, verdicts are kept for this process only. */
void baseline_verdicts_open(struct baseline_verdicts *b, const char *cache_dir);
void baseline_verdicts_close(struct baseline_verdicts *b);

void baseline_key(const struct baseline_verdicts *b, const struct baseline_place *p,
                  const struct task *t, const char *source, char key[HASH_HEX]);
/* Returns the seed for every evaluation of this baseline. It is never 0. */
uint64_t baseline_seed(const struct task *t, const char *source);

/* Returns a baseline's verdict, or NULL if it is not known yet. The verdict is borrowed until
 * baseline_verdicts_close(). */
const struct verdict *baseline_verdict_get(struct baseline_verdicts *b, const char *key);
/* Takes ownership of the contents of *v, and drops its counters. An `unjudged` verdict is kept for
 * this process only. */
void baseline_verdict_put(struct baseline_verdicts *b, const char *key, struct verdict *v);

/* Returns the first source line that an error or finding of the verdict names, or 0. */
uint32_t baseline_verdict_line(const struct verdict *v);

#endif
