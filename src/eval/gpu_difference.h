/*
 * gpu_difference.h - notices that one GPU is slower than another of the same place.
 *
 *     gpu_difference_note(&e->gpu_times, v);         for each verdict with times
 *
 * Every job times the baselines beside the candidate, on the same GPU. So a baseline is a reference
 * kernel that runs on every GPU. If its time on this verdict's GPU differs by more than 2% from its
 * time on another one, the verdict gets a warning: times of the two GPUs cannot be compared, while
 * ratios to baselines can.
 */
#ifndef EVAL_GPU_DIFFERENCE_H
#define EVAL_GPU_DIFFERENCE_H

#include "base/vec.h"
#include "verdict/verdict.h"

struct gpu_time;
VEC_DECL(gpu_times, struct gpu_time);

void gpu_difference_note(struct gpu_times *seen, struct verdict *v);
void gpu_times_release(struct gpu_times *seen);

#endif
