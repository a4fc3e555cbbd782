/*
 * ptx_job.h - runs a PTX file on the emulator without a task. A JSON file describes its buffers,
 * launches and tensor maps (docs/emulator.md, "A bare PTX file").
 *
 *     struct ptx_options o = {.ptx = "k.ptx", .job = "k.json", .gpu = "h200", .sanitize = true};
 *     int rc = ptx_job_run(&o, &verdict, &problems, err);     1 if the JSON is wrong; see problems
 *
 * The verdict has no task; `pass` means that the kernel ran without findings. Its counters include
 * the modelled time. The key "to" of a buffer names a file for its result, which is written even if
 * there are findings.
 */
#ifndef EVAL_PTX_JOB_H
#define EVAL_PTX_JOB_H

#include "task/task.h"
#include "verdict/verdict.h"

struct ptx_options {
    const char *ptx, *job;
    const char *gpu; /* NULL = h200 */
    bool sanitize, annotate;
    uint64_t seed;
};

int ptx_job_run(const struct ptx_options *o, struct verdict *out, struct problem_vec *problems,
                struct err *err);

#endif
