/*
 * baseline_states.h - says of each baseline of an evaluation whether its result was right, and
 * which baselines therefore have no times.
 */
#ifndef EVAL_BASELINE_STATES_H
#define EVAL_BASELINE_STATES_H

#include "check/decide_verdict.h"
#include "eval/bundle_files.h"

/*
 * Fills v->baselines: first those that were rejected before the run, then, if the candidate
 * passes, the modules of the job.
 * A kernel was judged in an evaluation of its own. PyTorch and libraries were not, so their outputs
 * at the timed shapes are compared with the truth here. left_out[p] is set for each program of the
 * job that is wrong or failed; it has room for JOB_MAX_PROGRAMS.
 */
void baseline_states(struct verdict *v, const struct check_input *in,
                     const struct rejected_baseline_vec *rejected, bool *left_out);

/* The module of a baseline that ended the job because it failed; 0 = none did. */
uint32_t baseline_that_broke_the_job(const struct result *r, const struct job *j);

#endif
