/*
 * baseline_states.h - decides for each baseline of an evaluation whether its result was right. The
 * verdict shows no times of a baseline that was wrong or failed.
 */
#ifndef EVAL_BASELINE_STATES_H
#define EVAL_BASELINE_STATES_H

#include "check/decide_verdict.h"
#include "eval/bundle_files.h"

/*
 * Fills v->baselines, first with the baselines that were rejected before the job ran. If the
 * candidate passes, the baselines of the job follow. We judge these by the calls that the worker
 * verified in this job. A kernel baseline's own earlier verdict does not show that it is right on
 * the data of this job. Sets left_out[p] for each program that is wrong or failed; left_out has
 * JOB_MAX_PROGRAMS entries.
 */
void baseline_states(struct verdict *v, const struct check_input *in,
                     const struct rejected_baseline_vec *rejected, bool *left_out);

/* If a fault or a hang of a baseline ended the job, returns the baseline's module number, else
 * 0. */
uint32_t baseline_that_broke_the_job(const struct result *r, const struct job *j);

#endif
