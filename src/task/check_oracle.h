/*
 * check_oracle.h - the part of task_check() that builds and runs reference.c.
 *
 * It runs the oracle at every smoke and check workload, at the regimes (task/regimes.h) that
 * displace no address, and at some shapes of every held-out workload. It skips shapes that would
 * take too long. It reports undefined behaviour, accesses out of bounds, accesses that depend on
 * the order of units (task/oracle_watch.h), elements that no unit writes, wrong magnitudes, results
 * that depend on the language (C or C++) or on the order of units, and outputs for which a wrong
 * answer would pass.
 */
#ifndef TASK_CHECK_ORACLE_H
#define TASK_CHECK_ORACLE_H

#include "task/check_result.h"

/* Puts the compiled shared objects into `dir`, but the one that evaluations use at r->oracle_so, if
 * that is set. Adds its problems and notes to *r. */
void check_oracle(const struct task *t, const char *dir, struct task_check_result *r);

#endif
