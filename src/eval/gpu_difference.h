/*
 * gpu_difference.h - for an evaluator that runs jobs on several GPUs: notices that one of them is
 * slower than another.
 *
 *     gpu_difference_note(&e->gpu_times, v);         for each verdict with times
 *
 * Every job times the baselines beside the candidate, on the same GPU. So each GPU has times of the
 * same baselines. If the baselines' times on this verdict's GPU and on another GPU differ by more
 * than 2% (the median over baselines and shapes), the verdict gets a warning. Times on the two GPUs
 * then cannot be compared, but ratios to baselines can.
 */
#ifndef EVAL_GPU_DIFFERENCE_H
#define EVAL_GPU_DIFFERENCE_H

#include "base/vec.h"
#include "verdict/verdict.h"

struct gpu_time;
VEC_DECL(gpu_times, struct gpu_time);

/* Adds the warning to v if need be. Also adds the times of baselines in v to `seen`. */
void gpu_difference_note(struct gpu_times *seen, struct verdict *v);
void gpu_times_release(struct gpu_times *seen);

#endif
