/*
 * gpu_difference.h - notices that one of several GPUs is slower than another.
 *
 *     gpu_difference_note(&e->gpu_times, v);         for each verdict with times
 *
 * Every job times the baselines on the GPU that runs the candidate, so each GPU has times of the
 * same baselines. If the times on two GPUs differ by more than 2% (the median over baselines and
 * shapes), the verdict gets a warning. Times on these GPUs then cannot be compared, but ratios to
 * baselines can.
 */
#ifndef EVAL_GPU_DIFFERENCE_H
#define EVAL_GPU_DIFFERENCE_H

#include "base/vec.h"
#include "verdict/verdict.h"

struct gpu_time;
VEC_DECL(gpu_times, struct gpu_time);

/* Adds the warning to v if need be, and the baselines' times in v to `seen`. */
void gpu_difference_note(struct gpu_times *seen, struct verdict *v);
void gpu_times_release(struct gpu_times *seen);

#endif
