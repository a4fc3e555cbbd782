/*
 * check_input.h - the input of the rules in decide_verdict.h: a job and its result.
 */
#ifndef CHECK_CHECK_INPUT_H
#define CHECK_CHECK_INPUT_H

#include "job/job.h"
#include "job/result.h"
#include "task/task.h"

struct check_case {
    enum workload_role role;
    const char *shape; /* "M=256 N=512" */
    bool misaligned;   /* the workload sets an address offset or a small alignment */
};

struct check_input {
    /* Each case of the job, which is one shape, has a program for the candidate and for each
     * baseline. This is the number of the program to judge; 0 is the candidate. */
    uint32_t program;
    const struct task *task;
    const struct job *job;
    const struct result *result;
    const struct check_case *cases; /* one per job case */
    const char *const *off;         /* names of detectors that are switched off, only in tests;
                                     * NULL-terminated */
};

#endif
