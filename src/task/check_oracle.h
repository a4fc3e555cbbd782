/*
 * check_oracle.h - the part of task_check() that builds and runs reference.c.
 *
 * It runs the oracle
 *  - at every smoke and check workload;
 *  - at every workload that Hone adds (task/regimes.h), except those that differ from others only
 *    in the addresses of tensors, which the oracle does not see;
 *  - at some shapes of every held-out workload.
 * It skips shapes that would take too long, and says so in a note. It reports
 *  - undefined behaviour, and accesses out of bounds;
 *  - accesses that depend on the order of units (task/oracle_watch.h);
 *  - elements that no unit writes, and wrong magnitudes;
 *  - results that depend on the order of units, or on the language (C or C++);
 *  - outputs for which a wrong answer would pass.
 */
#ifndef TASK_CHECK_ORACLE_H
#define TASK_CHECK_ORACLE_H

#include "task/check_result.h"

/* Compiles reference.c into two shared objects: one as evaluations use it, and one with checks.
 * Writes the first to r->oracle_so if that is set, else into `dir`, and the second into `dir`. Adds
 * problems and notes to *r. */
void check_oracle(const struct task *t, const char *dir, struct task_check_result *r);

#endif
