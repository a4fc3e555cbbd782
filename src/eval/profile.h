/*
 * profile.h - the last stage of a passing candidate: counters, static facts, and what they mean.
 *
 * On a GPU the profile bundle (one call per timed workload) runs under Nsight Compute, which is
 * told by the worker where to look; where that is not to be had, the emulator counts a sample of
 * blocks. A profile that fails is a warning: it takes nothing from a verdict.
 */
#ifndef EVAL_PROFILE_H
#define EVAL_PROFILE_H

#include "compile/compile.h"
#include "job/job.h"
#include "verdict/verdict.h"

/* The ncu of this machine with the options that make it write DIR/ncu.csv, NULL-terminated; NULL
 * where there is none. */
const char *const *profile_ncu(const char *dir, struct arena *a);

/* Reads DIR/ncu.csv, whose launches must be the job's, case by case. */
int profile_take_ncu(struct verdict *v, const struct job *job, const char *dir, struct err *err);

/* Registers, spills, shared memory and the machine code counted by kind: role "static". */
void profile_static(struct verdict *v, const struct compiled *code);

#endif
