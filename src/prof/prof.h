/*
 * prof.h - what bounds a kernel, in words, with the numbers that say so.
 *
 * Facts come from Nsight Compute where it is permitted, else from the emulator's counters; both are
 * brought to shares of what the device can do, per kernel. A share that is not known is NaN.
 *
 *     struct prof_kernel k[8];
 *     size_t n = prof_from_ncu(csv, len, k, 8, &arena, err);
 *     prof_bottleneck(&sb, k, n, launch_ns);
 *         "dram-bound: 91% of peak DRAM throughput (kernel softmax, 100% of the time)"
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
    BOUND_LATENCY, /* nothing is busy: too little in flight, or too few threads */
    BOUND_LAUNCH   /* shorter than what a launch costs */
};

struct prof_kernel {
    const char *name;
    const char *source; /* "ncu" or "model" */
    unsigned launches;
    double time_ns;                                             /* of all its launches */
    double dram_pct, l2_pct, shared_pct, issue_pct, tensor_pct; /* of peak, elapsed */
    double occupancy_pct;                                       /* achieved */
    double registers, smem_bytes;                               /* per thread, per block */
    double dram_bytes, bank_conflicts;                          /* absolute */
};

struct prof_kernel prof_kernel_unknown(const char *name, const char *source);

/* ncu --csv --page raw: a header of metric names, a row of units, a row per launch. Launches of one
 * kernel are merged, weighted by time. Returns how many kernels, or -1. */
int prof_from_ncu(const char *csv, size_t len, struct prof_kernel *out, size_t max, struct arena *a,
                  struct err *err);
/* The metrics prof_from_ncu reads, comma-separated, for ncu --metrics. */
extern const char prof_ncu_metrics[];

/* From a verdict's counters (the emulator's). */
int prof_from_counters(const struct verdict *v, struct prof_kernel *out, size_t max);

const char *prof_bound_name(enum prof_bound b);
enum prof_bound prof_classify(const struct prof_kernel *k, double launch_ns);
/* One line on the kernel that takes most of the time; nothing if nothing is known. */
void prof_bottleneck(struct strbuf *sb, const struct prof_kernel *k, size_t n, double launch_ns);

#endif
