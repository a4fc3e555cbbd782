/*
 * profile.h - the last stage of a candidate that passed: counters, facts about the code, and the
 * bottleneck they show.
 *
 * On a GPU, Nsight Compute (ncu) runs the worker on the profile bundle (one call per timed
 * workload), and the worker tells ncu which launches to count. Without ncu, the emulator counts a
 * sample of blocks. A profile that fails is a warning and does not lower the verdict.
 */
#ifndef EVAL_PROFILE_H
#define EVAL_PROFILE_H

#include "compile/compile.h"
#include "job/job.h"
#include "verdict/verdict.h"

/* The command line of this machine's ncu that makes it write DIR/ncu.csv, NULL-terminated. NULL if
 * there is no ncu. */
const char *const *profile_ncu(const char *dir, struct arena *a);

/* Reads DIR/ncu.csv. Its launches must be the launches of the job, case by case. */
int profile_read_ncu(struct verdict *v, const struct job *job, const char *dir, struct err *err);

/* Adds registers, spills, shared memory and counts of machine code by kind, with the role
 * "static". */
void profile_static(struct verdict *v, const struct compiled *code);

#endif
