/*
 * read_result.h - reads the result that a worker wrote. The result is hostile data, so it is
 * checked before use.
 */
#ifndef EVAL_READ_RESULT_H
#define EVAL_READ_RESULT_H

#include "job/job.h"
#include "job/result.h"
#include "sched/sched.h"

/*
 * Reads the facts that a worker wrote to the bundle in `dir`. The bundle was made for `job`; `d`
 * says how the worker ended. If there is no result, reads progress.bin instead, which says how far
 * the worker came; r->status is then RESULT_MACHINE. A worker ends calls that exceed a time limit
 * by itself and still writes a result. So if something else ended the worker, that does not count
 * against the candidate. Returns -1 if neither file can be read or the file does not fit the job.
 */
int read_worker_result(struct result *r, const struct sched_done *d, const char *dir,
                       const struct job *job, struct arena *a, struct err *err);

#endif
