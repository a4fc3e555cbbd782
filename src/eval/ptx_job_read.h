/*
 * ptx_job_read.h - the JSON of a bare job, read into a job's case.
 */
#ifndef EVAL_PTX_JOB_READ_H
#define EVAL_PTX_JOB_READ_H

#include "job/job.h"
#include "task/reader.h"

/* Beside a buffer: the files the user named, "" if none. */
struct bare_files {
    const char *from; /* its contents */
    const char *to;   /* where the result goes */
};

/* Everything in `a`; problems are reported to the root's report. */
bool bare_read(const struct node *root, struct job_case *c, struct bare_files *files);

#endif
