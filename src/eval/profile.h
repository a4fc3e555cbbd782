/*
 * profile.h - the optional last part of an evaluation: adds counters of a candidate that passed,
 * and facts about its code, to the verdict.
 *
 * On a GPU, we make another bundle (eval/pack.h), which calls the candidate once for each timed
 * workload. Nsight Compute (ncu) runs the worker on it, and the worker tells ncu which launches to
 * count. Without ncu, the emulator counts in a sample of blocks. If the profile fails, the verdict
 * gets a warning but is not lowered. prof/prof.h finds the bottleneck from the counters.
 */
#ifndef EVAL_PROFILE_H
#define EVAL_PROFILE_H

#include "compile/compile.h"
#include "job/job.h"
#include "verdict/verdict.h"

/* Returns an array that ends with NULL: the path of this machine's ncu, and the options with which
 * ncu writes dir/ncu.csv. These words go before the worker's own command. Returns NULL if there is
 * no ncu. */
const char *const *profile_ncu(const char *dir, struct arena *a);

/* Adds the counters in dir/ncu.csv to the verdict. The file must list as many launches as the job's
 * cases have launches of the candidate. The launches are taken in the order of the cases; their
 * kernel names are not compared. */
int profile_read_ncu(struct verdict *v, const struct job *job, const char *dir, struct err *err);

/* Adds registers, stack, spills, shared memory and counts of machine instructions by kind. These
 * counters belong to no workload: their workload is "code" and their role "static". */
void profile_static(struct verdict *v, const struct compiled *code);

#endif
