/*
 * cpu_time.h - the CPU time of this process, for tests of how fast the cost of some work grows.
 * Unlike elapsed time, CPU time does not grow when other programs use the cores.
 */
#ifndef HONE_T_CPU_TIME_H
#define HONE_T_CPU_TIME_H

#include <stdint.h>
#include <time.h>

static inline double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
