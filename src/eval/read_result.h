/*
 * read_result.h - reads the result that a worker wrote. The worker ran a candidate that may be
 * hostile, so the result is checked before use.
 */
#ifndef EVAL_READ_RESULT_H
#define EVAL_READ_RESULT_H

#include "job/job.h"
#include "job/result.h"
#include "sched/sched.h"

/*
 * Reads the facts that a worker wrote to the bundle (pack.h) in `dir`. The bundle was made for
 * `job`; `d` says how the worker ended. If there is no result, reads progress.bin instead, which
 * says how far the worker came. Then r->status is RESULT_MACHINE, which does not count against the
 * candidate. If only a call of the candidate exceeds its time limit, there is a result: the worker
 * ends the call and writes the result. Returns -1 if neither file can be read, or if the file that
 * was read does not fit the job.
 */
int read_worker_result(struct result *r, const struct sched_done *d, const char *dir,
                       const struct job *job, struct arena *a, struct err *err);

#endif
