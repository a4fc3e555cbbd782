/*
 * timing.h - turns the raw times of a job into medians, intervals and ratios.
 *
 * Every case with timing gets one verdict_time per program (the candidate or a baseline). A ratio
 * is the baseline's time divided by the candidate's time. Calls of baseline and candidate alternate
 * and are compared in pairs, so that slow changes of the machine's speed cancel out. A baseline
 * with fewer than three calls is compared with all calls of the candidate. The floor is the
 * shortest time that physics allows. measure_below_floor() reports a candidate that is faster than
 * the floor. The caller decides which verdict follows.
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
    double launch_ns; /* time of an empty launch */
};

struct measure_input {
    const struct job *job;
    const struct result *result;
    const char *const *shapes;       /* one text per case */
    const struct ceilings *ceilings; /* NULL = use the data sheet */
    /* Dtype of the task's first input. It decides which unit of the GPU counts as the fastest. */
    enum dtype operand;
    bool allow_tf32; /* float32 products may use TF32 */
    /* one per program: true if we report no times of it; NULL = we report all times */
    const bool *left_out;
    /* share of the task's flops that no algorithm can avoid; 0 = unknown */
    double least_arithmetic;
    bool float32; /* all float inputs are float32 */
};

/* Fills v->times, time_ns, speedup, speedup_over and time_is_model, and adds warnings about them.
 * `speedup` compares the candidate with the first baseline that has a time. Contenders that only
 * run beside (job/torch_variants.h) get a time and a ratio, but are no such baseline. */
void measure_times(struct verdict *v, const struct measure_input *in);

/* The work of the tensor cores in one case. */
struct tensor_use {
    /* The arithmetic of the tensor cores in TF32 and in narrower types. Both are divided by the
     * task's flops. */
    double tf32, narrow;
    /* How many products the candidate did, divided by how many products the declared precision
     * needs. */
    double share;
};
/* Uses the emulator's counters. Finds the case with the smallest `share`, and sets *out for it.
 * Returns that case if its share is below in->least_arithmetic, else -1. If the task declares
 * float32, each product needs three TF32 products, or six of a 16-bit type. If the task allows
 * TF32, one TF32 product is enough; of a 16-bit type it needs six as well. Looks only at cases in
 * which tensor cores worked, and only if all float inputs are float32. */
int measure_tensor_use(const struct measure_input *in, struct tensor_use *out);

/* Returns the first case in which the candidate was faster than the floor, or -1 if there is none.
 * Sets *floor_ns to the floor of that case, and *got_ns to the candidate's time. If the time is
 * modelled, 80% of the floor takes the place of the floor. */
int measure_below_floor(const struct measure_input *in, double *got_ns, double *floor_ns);
/* For the emulator, where not every timed call can be verified. Returns the first case in which the
 * candidate left out work, or -1 if there is none. There are two tests. If the candidate touched
 * less than 75% of the memory that the task needs, *arithmetic is false and *share is the share
 * that it touched. If its share of the task's arithmetic is less than least_arithmetic, *arithmetic
 * is true and *share is this share. Cases with a call that was cut off do not count. */
int measure_skipped_work(const struct measure_input *in, double *share, bool *arithmetic);

#endif
