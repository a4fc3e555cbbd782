/*
 * timing.h - from the raw times of a run to medians, intervals and ratios people can trust.
 *
 * Every case with timing becomes one verdict_time per program; ratios are baseline / candidate over
 * calls paired in the order they were interleaved, so drift cancels. A candidate faster than
 * physics allows is reported by measure_below_floor; the caller decides what that makes it.
 */
#ifndef MEASURE_TIMING_H
#define MEASURE_TIMING_H

#include "job/job.h"
#include "job/result.h"
#include "verdict/verdict.h"

/* Measured on the device; 0 = unknown. */
struct ceilings {
    double dram_gbps; /* the better of copying and reading */
    double f16_tflops, tf32_tflops, f32_tflops;
    double launch_ns; /* an empty launch */
};

struct measure_input {
    const struct job *job;
    const struct result *result;
    const char *const *shapes;       /* per case */
    const struct ceilings *ceilings; /* NULL = the data sheet */
    enum dtype operand;      /* the dtype of the task's first input: which unit could do it */
    bool allow_tf32;         /* may float32 go through TF32? */
    double least_arithmetic; /* share of the flops that even clever algorithms need; 0 = unknown */
};

/* Fills v->times, time_ns, speedup, time_is_model and the warnings about them. */
void measure_times(struct verdict *v, const struct measure_input *in);

/* The case in which the candidate beat the physical floor, or -1; *floor_ns is what it beat. */
int measure_below_floor(const struct measure_input *in, double *got_ns, double *floor_ns);
/* On the emulator, where not every timed call can be verified: the case in which the candidate
 * touched far less memory than the task must, or did far less arithmetic (*share of which), or
 * -1. */
int measure_too_little(const struct measure_input *in, double *share, bool *arithmetic);

#endif
