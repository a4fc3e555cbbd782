/*
 * ptx_job_read.h - makes a case from the JSON that describes a PTX job.
 */
#ifndef EVAL_PTX_JOB_READ_H
#define EVAL_PTX_JOB_READ_H

#include "job/job.h"
#include "task/reader.h"

/* The files that the user named for a buffer; "" = none. */
struct ptx_job_files {
    const char *from; /* the buffer's contents */
    const char *to;   /* receives the result */
};

/* Fills *c, and one entry of `files` for each buffer. Allocates everything in the root's arena.
 * Adds problems to the root's list; returns true if there are none. */
bool ptx_job_read(const struct json_node *root, struct job_case *c, struct ptx_job_files *files);

#endif
