/* counters.h - says in words what the counters of a verdict mean. A counter comes from the
 * emulator, from ncu (NVIDIA's profiler), or from the compiler. */
#ifndef VERDICT_COUNTERS_H
#define VERDICT_COUNTERS_H

#include <stddef.h>

struct counter_info {
    const char *name;
    const char *meaning; /* comes after the value: "39 % of the DRAM's peak throughput" */
};

/* The counters that tell most about a kernel's speed, the most telling first. */
extern const struct counter_info counter_infos[];
extern const size_t counter_ninfos;

/* Returns "" for an unknown name. Of ncu's counters it knows those that Hone asks for. */
const char *counter_meaning(const char *name);

#endif
