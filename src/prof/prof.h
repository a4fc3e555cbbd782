/*
 * prof.h - names the resource that limits a kernel, with the numbers that show it.
 *
 * Counters come from Nsight Compute (ncu) if it may run, else from the emulator. The functions
 * below turn them into shares of the device's peak. An unknown share is NaN.
 *
 *     struct ncu_table *t;
 *     if (ncu_read(&t, csv, len, &arena, err) < 0) ...
 *     ncu_counters(t, first, n, "time:0", v);                  launches first .. first+n-1
 *     int n = prof_from_counters(v, "time:0", kernels, 8);
 *     prof_verdict_text(&sb, &verdict, launch_ns);
 *         "dram-bound: 91% of peak DRAM throughput (kernel softmax, 100% of the time; ncu)"
 */
#ifndef PROF_PROF_H
#define PROF_PROF_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "verdict/verdict.h"

enum prof_bound {
    BOUND_UNKNOWN,
    BOUND_DRAM,
    BOUND_L2,
    BOUND_SHARED,
    BOUND_ISSUE, /* issue slots, or the pipe of one kind of arithmetic */
    BOUND_TENSOR,
    BOUND_LATENCY, /* no unit is busy: too few requests or threads */
    BOUND_LAUNCH   /* see prof_classify() */
};

struct prof_kernel {
    const char *name;
    const char *source; /* "ncu" or "model" */
    double launches;
    double time_ns; /* total of the kernel's launches */
    /* Percent of the peak, over the kernel's whole time. */
    double dram_pct, l2_pct, shared_pct, issue_pct, tensor_pct;
    double fma_pct, alu_pct, sfu_pct, fp64_pct; /* arithmetic pipes */
    /* The time that latency alone would take, in percent of time_ns; only from the model. */
    double latency_pct;
    double occupancy_pct;              /* active warps, in percent of an SM's maximum */
    double registers, smem_bytes;      /* per thread, per block */
    double dram_bytes, bank_conflicts; /* totals */
    double l2_hit_pct;
    /* Warps that wait for each reason, on average per issued instruction. */
    double stall_memory, stall_shared, stall_barrier, stall_math;
};

/* ---- Nsight Compute ---- */

/* The argument of ncu --metrics. ncu prints "n/a" for metrics that the GPU lacks. */
const char *ncu_metrics(struct arena *a);

/* The output of ncu --csv --page raw: a row of names, a row of units, a row per launch. */
struct ncu_table;
int ncu_read(struct ncu_table **out, const char *csv, size_t len, struct arena *a, struct err *err);
size_t ncu_launches(const struct ncu_table *t);
const char *ncu_kernel(const struct ncu_table *t, size_t launch);
/*
 * Adds the counters of launches first .. first+n-1 to the verdict, one row for each kernel. Values
 * whose name ends in .sum are added up. Others are averaged, weighted by time.
 */
void ncu_counters(const struct ncu_table *t, size_t first, size_t n, const char *workload,
                  struct verdict *v);

/* ---- from counters to words ---- */

/* Fills `out` with the kernels that were counted at `workload`. Prefers ncu's counters to the
 * emulator's. Returns their number, at most `max`. */
size_t prof_from_counters(const struct verdict *v, const char *workload, struct prof_kernel *out,
                          size_t max);

const char *prof_bound_name(enum prof_bound b);
/* Returns what limits the kernel. `launch_ns` is the time of an empty launch; 0 = unknown.
 * BOUND_LAUNCH means: a modelled launch takes less than 2 * launch_ns; or a launch under ncu takes
 * less than 1.5 * launch_ns, and no unit is busy. */
enum prof_bound prof_classify(const struct prof_kernel *k, double launch_ns);
/* Writes a line for each timed workload with counters. */
void prof_verdict_text(struct strbuf *sb, const struct verdict *v, double launch_ns);

#endif
