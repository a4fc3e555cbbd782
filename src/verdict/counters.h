/*
 * counters.h - says in words what the counters of a verdict mean. A counter is a number that the
 * emulator or ncu (NVIDIA's profiler) counted while a kernel ran, or that the compiler gave.
 */
#ifndef VERDICT_COUNTERS_H
#define VERDICT_COUNTERS_H

#include <stddef.h>

struct counter_info {
    const char *name;
    const char *meaning; /* to be read after the value: "39 % of the DRAM's peak throughput" */
};

/* The counters that tell most about a kernel's speed, the most telling first. */
extern const struct counter_info counter_infos[];
extern const size_t counter_ninfos;

/* Returns the meaning of a counter of the emulator, of the compiled code, or of ncu. Of ncu's
 * counters it knows only those that Hone asks for. Returns "" for an unknown name. */
const char *counter_meaning(const char *name);

#endif
