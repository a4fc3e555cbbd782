/*
 * optimize_check.h - refuses a run that could not produce a candidate, before the run exists.
 */
#ifndef CMD_OPTIMIZE_CHECK_H
#define CMD_OPTIMIZE_CHECK_H

#include "agent/config.h"
#include "base/err.h"
#include "task/task.h"

/* Returns 0, or -1 and an error that says what to change. The configuration must be settled. */
int optimize_check(const struct run_config *c, const struct task *t, struct err *err);

#endif
