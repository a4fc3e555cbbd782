/*
 * check_oracle.h - the part of task_check() that builds and runs reference.c.
 *
 * The oracle is the compiled reference.c. This part of task_check() runs the oracle
 *  - at every smoke and check workload;
 *  - at every workload that Hone adds (task/regimes.h), except those that differ from others only
 *    in the addresses of tensors, which the oracle does not see;
 *  - at some shapes of every held-out workload.
 * It skips shapes that would take too long, and says so in a note. It reports
 *  - undefined behaviour, and accesses out of bounds;
 *  - accesses of a unit to an element that another unit may write at the same time
 *    (task/oracle_watch.h explains units);
 *  - elements that no unit writes;
 *  - magnitudes that cannot be right (the oracle writes a magnitude beside each value);
 *  - results that differ if units run in another order, or if reference.c is compiled as C++;
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
