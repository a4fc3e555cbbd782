/*
 * read_result.h - what a worker wrote down about a bundle, read as if an enemy had written it.
 */
#ifndef EVAL_READ_RESULT_H
#define EVAL_READ_RESULT_H

#include "job/job.h"
#include "job/result.h"
#include "sched/sched.h"

/*
 * The facts of the run `d` of the bundle in `dir`, made for `job`. A worker that was killed leaves
 * its last progress, which says where it was. It keeps the time limits itself and answers with a
 * result; one that had to be ended from outside is not the candidate's failure.
 */
int facts_read(struct result *r, const struct sched_done *d, const char *dir, const struct job *job,
               struct arena *a, struct err *err);

#endif
