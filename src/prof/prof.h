/*
 * prof.h - names the resource that limits a kernel: "dram-bound: 91% of peak DRAM throughput
 * (kernel softmax, 100% of the time; ncu)". Counters come from Nsight Compute (ncu) if it may run,
 * else from the emulator. NaN means unknown.
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
    BOUND_ISSUE,
    BOUND_TENSOR,
    BOUND_LATENCY, /* no unit is busy */
    BOUND_LAUNCH   /* see prof_classify() */
};

struct prof_kernel {
    const char *name;
    const char *source;
    double launches;
    double time_ns; /* time of all its launches together */
    /* The throughput of each unit during time_ns, in percent of the unit's peak. */
    double dram_pct, l2_pct, shared_pct, issue_pct, tensor_pct;
    double fma_pct, alu_pct, sfu_pct, fp64_pct;
    /* The time that latency alone would take, in percent of time_ns; only from the emulator. */
    double latency_pct;
    double occupancy_pct;              /* active warps, in percent of an SM's maximum */
    double registers, smem_bytes;      /* registers per thread, shared memory per block */
    double dram_bytes, bank_conflicts; /* totals */
    double l2_hit_pct;
    /* How many warps wait for each reason, on average per issued instruction. */
    double stall_memory, stall_shared, stall_barrier, stall_math;
};

/* ---- Nsight Compute ---- */

/* Returns the metrics that Hone asks ncu for, separated by commas. ncu prints "n/a" for a metric
 * that the GPU lacks. */
const char *ncu_metrics(struct arena *a);

/* The output of ncu --csv --page raw: a row of names, a row of units, a row per launch. */
struct ncu_table;
int ncu_read(struct ncu_table **out, const char *csv, size_t len, struct arena *a, struct err *err);
size_t ncu_launches(const struct ncu_table *t);
const char *ncu_kernel(const struct ncu_table *t, size_t launch);
/*
 * Adds the counters of launches first .. first+n-1. A kernel's values are added up if the metric's
 * name ends in .sum, else averaged by time.
 */
void ncu_counters(const struct ncu_table *t, size_t first, size_t n, const char *workload,
                  struct verdict *v);

/* ---- from counters to words ---- */

/* Fills `out` from ncu's counters, or else from the emulator's. Returns the number of kernels. */
size_t prof_from_counters(const struct verdict *v, const char *workload, struct prof_kernel *out,
                          size_t max);

const char *prof_bound_name(enum prof_bound b);
/* Returns the resource that limits the kernel. `launch_ns` is the time of an empty launch; 0 =
 * unknown. BOUND_LAUNCH means: a modelled launch takes less than 2 * launch_ns; or a launch under
 * ncu takes less than 1.5 * launch_ns, and no unit is busy. */
enum prof_bound prof_classify(const struct prof_kernel *k, double launch_ns);
/* Appends the bottleneck of each timed workload that has counters, one line each. */
void prof_verdict_text(struct strbuf *sb, const struct verdict *v, double launch_ns);

#endif
