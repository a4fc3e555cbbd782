/*
 * ptx_job.h - a PTX file on the emulator without a task: its buffers, launches and tensor maps are
 * described by hand in a JSON file (docs/emulator.md, "A bare PTX file").
 *
 *     struct bare_options o = {.ptx = "k.ptx", .job = "k.json", .gpu = "h200", .sanitize = true};
 *     int rc = bare_run(&o, &verdict, &problems, err);     1: the JSON is wrong, see problems
 *
 * The verdict has no task and no times but the model's; `pass` means that it ran and nothing was
 * found. Outputs with a "to" are written there, also when something was found.
 */
#ifndef EVAL_PTX_JOB_H
#define EVAL_PTX_JOB_H

#include "task/task.h"
#include "verdict/verdict.h"

struct bare_options {
    const char *ptx, *job;
    const char *gpu; /* NULL = h200 */
    bool sanitize, annotate;
    uint64_t seed;
};

int bare_run(const struct bare_options *o, struct verdict *out, struct problem_vec *problems,
             struct err *err);

#endif
