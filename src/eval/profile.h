/*
 * profile.h - the optional last part of an evaluation: adds counters and facts about the code to
 * the verdict of a candidate that passed.
 *
 * On a GPU, Hone makes one more bundle, which calls the candidate once for each timed workload.
 * Nsight Compute (ncu) runs the worker on this bundle, and the worker tells ncu which launches to
 * count. Without ncu, the emulator counts in a sample of blocks. If the profile fails, the verdict
 * only gets a warning.
 */
#ifndef EVAL_PROFILE_H
#define EVAL_PROFILE_H

#include "compile/compile.h"
#include "job/job.h"
#include "verdict/verdict.h"

/* Returns the words to put before the worker's own command: the path of this machine's ncu, and the
 * options with which ncu writes dir/ncu.csv. The list ends with NULL. Returns NULL if there is no
 * ncu. */
const char *const *profile_ncu(const char *dir, struct arena *a);

/* Adds the counters in dir/ncu.csv to the verdict. The file must list as many launches as the job's
 * cases have launches of the candidate. Kernel names are not compared. */
int profile_read_ncu(struct verdict *v, const struct job *job, const char *dir, struct err *err);

/* Adds registers, stack, spills, shared memory and counts of machine instructions by kind. The
 * workload of these counters is "code", and their role is "static". */
void profile_static(struct verdict *v, const struct compiled *code);

#endif
