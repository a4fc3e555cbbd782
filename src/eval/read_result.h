/*
 * read_result.h - reads the result of a worker. The worker ran a candidate that may be hostile, so
 * the result is checked before use.
 */
#ifndef EVAL_READ_RESULT_H
#define EVAL_READ_RESULT_H

#include "job/job.h"
#include "job/result.h"
#include "sched/sched.h"

/*
 * The bundle in `dir` was made for `job`; `d` says how the worker ended. If the worker wrote no
 * result, reads progress.bin, which says how far it came. Then r->status is RESULT_MACHINE, which
 * does not count against the candidate. This is not the case of a call that exceeds its time limit:
 * after such a call, the worker still writes a result. Returns -1 if neither file can be read, or
 * if the file does not fit the job.
 */
int read_worker_result(struct result *r, const struct sched_done *d, const char *dir,
                       const struct job *job, struct arena *a, struct err *err);

#endif
