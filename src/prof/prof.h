/*
 * prof.h - names the resource that limits a kernel, with the numbers that show it.
 *
 * Counters come from Nsight Compute (ncu) if it may run, else from the emulator. The verdict keeps
 * the counters (name, unit and value, per kernel and workload). The functions below turn them into
 * shares of the device's peak. An unknown share is NaN.
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
    BOUND_LATENCY, /* no unit is busy: too few requests in flight, or too few threads */
    BOUND_LAUNCH   /* a launch takes hardly longer than an empty launch: see prof_classify() */
};

struct prof_kernel {
    const char *name;
    const char *source; /* "ncu" or "model" */
    double launches;
    double time_ns; /* total of all launches of the kernel */
    /* Percent of the peak, over the kernel's whole time. */
    double dram_pct, l2_pct, shared_pct, issue_pct, tensor_pct;
    double fma_pct, alu_pct, sfu_pct, fp64_pct; /* arithmetic pipes, in percent of their peaks */
    /* Only if source is "model": the time that latency alone would take, in percent of the kernel's
     * time. */
    double latency_pct;
    double occupancy_pct;              /* active warps, in percent of the most that an SM holds */
    double registers, smem_bytes;      /* registers per thread, shared memory per block */
    double dram_bytes, bank_conflicts; /* totals, not shares */
    double l2_hit_pct;
    /* How many warps wait for each reason, on average, per issued instruction. */
    double stall_memory, stall_shared, stall_barrier, stall_math;
};

/* ---- Nsight Compute ---- */

/* Returns the metrics that Hone asks for, separated by commas, for ncu --metrics. ncu prints "n/a"
 * for a metric that the GPU does not have. */
const char *ncu_metrics(struct arena *a);

/* A table of ncu --csv --page raw: a header of metric names, a row of units, a row per launch. */
struct ncu_table;
int ncu_read(struct ncu_table **out, const char *csv, size_t len, struct arena *a, struct err *err);
size_t ncu_launches(const struct ncu_table *t);
/* Returns the name of the kernel of launch number `launch`. */
const char *ncu_kernel(const struct ncu_table *t, size_t launch);
/*
 * Adds the counters of launches first .. first+n-1 to the verdict, with ncu's own names and units.
 * The launches of one kernel become one row. Values whose name ends in .sum are added up. Other
 * values are averaged, weighted by time.
 */
void ncu_counters(const struct ncu_table *t, size_t first, size_t n, const char *workload,
                  struct verdict *v);

/* ---- from counters to words ---- */

/* Fills `out` with the kernels that were counted at `workload` and have a time. The numbers come
 * from ncu's counters if there are any, else from the emulator's counters. Returns how many kernels
 * there are, at most `max`. */
size_t prof_from_counters(const struct verdict *v, const char *workload, struct prof_kernel *out,
                          size_t max);

const char *prof_bound_name(enum prof_bound b);
/* Returns what limits the kernel. `launch_ns` is the time of an empty launch; 0 = unknown. The
 * result is BOUND_LAUNCH in two cases. With times of the cost model: a launch of the kernel takes
 * less than 2 * launch_ns. With times of ncu: a launch takes less than 1.5 * launch_ns, and no unit
 * is busy. */
enum prof_bound prof_classify(const struct prof_kernel *k, double launch_ns);
/* Writes a line for each timed workload with counters. If the verdict has only one timed workload,
 * the line does not name it. */
void prof_verdict_text(struct strbuf *sb, const struct verdict *v, double launch_ns);

#endif
