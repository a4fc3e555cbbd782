/*
 * timing.h - turns the raw times of a job into medians, intervals and ratios.
 *
 * Every timed case gets one verdict_time per program (the candidate or a baseline). A ratio is the
 * baseline's time divided by the candidate's. Their calls alternate and are compared in pairs, so
 * that slow changes of the machine's speed cancel out. The floor is the shortest time that physics
 * allows.
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
    double launch_ns; /* of an empty launch */
};

struct measure_input {
    const struct job *job;
    const struct result *result;
    const char *const *shapes;       /* one text per case */
    const struct ceilings *ceilings; /* NULL = use the data sheet */
    enum dtype operand;   /* of the task's first input; decides which unit of the GPU counts */
    bool allow_tf32;      /* float32 products may use TF32 */
    const bool *left_out; /* one per program: true to report no times of it; or NULL */
    /* Share of the task's flops that no algorithm can avoid; 0 = unknown. */
    double least_arithmetic;
    bool float32; /* all float inputs are float32 */
};

/* Fills v->times, time_ns, speedup, speedup_over and time_is_model, and adds warnings. `speedup`
 * compares the candidate with the first baseline that has a time. This is never a contender that
 * only runs beside (job/torch_variants.h). */
void measure_times(struct verdict *v, const struct measure_input *in);

struct tensor_use {
    double tf32, narrow; /* flops of the tensor cores, by type, divided by the task's flops */
    double share;        /* products done, divided by those that the declared precision needs */
};
/* From the emulator's counters: finds the case with the smallest `share`, and sets *out for it.
 * Returns the case if its share is below in->least_arithmetic, else -1. One float32 product needs
 * six products of a 16-bit type, or three of TF32, or one of TF32 if the task allows TF32. Looks
 * only at cases in which tensor cores worked, and only if all float inputs are float32. */
int measure_tensor_use(const struct measure_input *in, struct tensor_use *out);

/* Returns the first case in which the candidate was faster than the floor, or -1. Sets *floor_ns
 * and *got_ns, the candidate's time. A modelled time is compared with 80% of the floor. */
int measure_below_floor(const struct measure_input *in, double *got_ns, double *floor_ns);
/* For the emulator, where not every timed call can be verified. Returns the first case in which the
 * candidate left out work, or -1. Skips cases with a call that was cut off. *share is the part that
 * the candidate did: if *arithmetic is false, less than 75% of the memory that the task touches; if
 * true, less than least_arithmetic of its flops. */
int measure_skipped_work(const struct measure_input *in, double *share, bool *arithmetic);

#endif
