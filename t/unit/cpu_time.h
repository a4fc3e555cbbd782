#ifndef HONE_T_CPU_TIME_H
#define HONE_T_CPU_TIME_H

/* The CPU time of this process, for tests that some work stays far from exponential. Unlike the
 * time on the wall it does not grow when other programs use the cores. */

#include <stdint.h>
#include <time.h>

static inline double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
