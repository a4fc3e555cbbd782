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
 * says how the worker ended. If the worker was killed, reads progress.bin instead, which says how
 * far it came. A worker ends calls that exceed a time limit by itself and still writes a result. So
 * if another process had to end the worker, that does not count against the candidate.
 */
int read_worker_result(struct result *r, const struct sched_done *d, const char *dir,
                       const struct job *job, struct arena *a, struct err *err);

#endif
