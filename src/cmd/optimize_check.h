/*
 * optimize_check.h - refuses a run that could not produce a candidate, and options for which the
 * run's strategy has no use.
 */
#ifndef CMD_OPTIMIZE_CHECK_H
#define CMD_OPTIMIZE_CHECK_H

#include "agent/config.h"
#include "base/err.h"
#include "task/task.h"

/* Refuses a run that could not produce a candidate; the error says what to change. Call
 * run_config_settle() first. */
int optimize_check(const struct run_config *c, const struct task *t, struct err *err);

/* An option and the strategies that use it. */
struct option_use {
    const char *option; /* "--wave" */
    bool given;
    const char *strategies; /* "search and sample" */
};
int option_uses_check(const struct option_use *uses, size_t n, const char *strategy,
                      struct err *err);
/* `setting` is a "KEY=VALUE" of --ablate, which switches off one idea of a strategy. Refuses an
 * idea that the strategy does not have. */
int ablation_check(const char *setting, const char *strategy, struct err *err);

#endif
