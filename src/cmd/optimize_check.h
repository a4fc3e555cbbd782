/*
 * optimize_check.h - checks before a run begins: refuses a run that could not produce a candidate,
 * and options for which the run's strategy has no use.
 */
#ifndef CMD_OPTIMIZE_CHECK_H
#define CMD_OPTIMIZE_CHECK_H

#include "agent/config.h"
#include "base/err.h"
#include "task/task.h"

/* Returns 0, or -1 and an error that says what to change. Call run_config_settle() before. */
int optimize_check(const struct run_config *c, const struct task *t, struct err *err);

/* An option, whether the user gave it, and the names of the strategies that use it. */
struct option_use {
    const char *option; /* "--wave" */
    bool given;
    const char *strategies; /* "search and sample" */
};
/* Refuses an option that was given although the strategy has no use for it. */
int option_uses_check(const struct option_use *uses, size_t n, const char *strategy,
                      struct err *err);
/* `setting` is a "KEY=VALUE" of --ablate, which switches off one idea of a strategy. Refuses it if
 * the strategy does not have this idea. */
int ablation_check(const char *setting, const char *strategy, struct err *err);

#endif
