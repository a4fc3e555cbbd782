/*
 * timing.h - turns the raw times of a job into medians, intervals and ratios.
 *
 * A ratio is the baseline's time divided by the candidate's. The worker calls the two in turn. We
 * compare their times in pairs, so that slow changes of the machine's speed cancel out.
 */
#ifndef MEASURE_TIMING_H
#define MEASURE_TIMING_H

#include "job/job.h"
#include "job/result.h"
#include "verdict/verdict.h"

/* Rates measured on the device; 0 = unknown. */
struct ceilings {
    double dram_gbps; /* the faster of copying and reading */
    double f16_tflops, tf32_tflops, f32_tflops;
    double launch_ns;
};

struct measure_input {
    const struct job *job;
    const struct result *result;
    const char *const *shapes;       /* one text per case */
    const struct ceilings *ceilings; /* NULL = the data sheet */
    enum dtype operand; /* of the task's first input; decides which unit of the GPU counts */
    bool allow_tf32;
    const bool *left_out; /* per program: true = report no times; may be NULL */
    /* Share of the task's flops that no algorithm can avoid; 0 = unknown. */
    double least_arithmetic;
    bool float32; /* all float inputs are float32 */
};

/* Fills v->times, time_ns, speedup, speedup_over and time_is_model, and adds warnings. `speedup`
 * compares with the first baseline that has a time. Contenders that only run beside the baselines
 * (job/torch_variants.h) do not count. */
void measure_times(struct verdict *v, const struct measure_input *in);

struct tensor_use {
    double tf32, narrow; /* flops of the tensor cores / flops of the task */
    double share;        /* products done / products that the declared precision needs */
};
/* Finds the case with the smallest `share` in the emulator's counters. Returns the case's index if
 * the share is below in->least_arithmetic, else -1. One float32 product needs six products of a
 * 16-bit type, three of TF32, or one of TF32 if the task allows TF32. Looks only at cases with work
 * of tensor cores, and only if all float inputs are float32. */
int measure_tensor_use(const struct measure_input *in, struct tensor_use *out);

/* Returns the first case in which the candidate was faster than physics allows (the floor), and
 * sets *got_ns and *floor_ns. Returns -1 if there is none. A modelled time is compared with 80% of
 * the floor. */
int measure_below_floor(const struct measure_input *in, double *got_ns, double *floor_ns);
/* For the emulator, which cannot verify every timed call. Returns the first case in which the
 * candidate left out work, or -1. *share is the part of the work that the candidate did: less than
 * 75% of the memory that the task touches or, if *arithmetic is true, less than least_arithmetic of
 * the task's flops. Skips cases with a call that was cut off. */
int measure_skipped_work(const struct measure_input *in, double *share, bool *arithmetic);

#endif
