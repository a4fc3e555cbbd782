/*
 * check_oracle.h - the part of task_check() that builds and runs reference.c.
 *
 * It runs the compiled reference.c, the oracle,
 *  - at every smoke and check workload;
 *  - at every workload that Hone adds (task/regimes.h), unless only the addresses of tensors
 *    differ;
 *  - at some shapes of every held-out workload.
 *
 * A note names shapes that would take too long and were left out. A problem can be
 *  - undefined behaviour, or an access out of bounds;
 *  - an access of a unit to an element that another unit may write at the same time;
 *  - an element that no unit writes;
 *  - a magnitude that cannot be right;
 *  - a result that differs if units run in another order, or if reference.c is compiled as C++;
 *  - an output for which a wrong answer would pass.
 */
#ifndef TASK_CHECK_ORACLE_H
#define TASK_CHECK_ORACLE_H

#include "task/check_result.h"

/* Compiles reference.c into two shared objects: one as evaluations use it, and one with checks. The
 * first goes to r->oracle_so if that is set, else into `dir`, the second always into `dir`. */
void check_oracle(const struct task *t, const char *dir, struct task_check_result *r);

#endif
