/*
 * memory.h - how much memory the machine has left, and how much a process uses.
 *
 *     if (memory_available() < need) ...
 *
 * The functions allocate nothing, because the compile service calls them and must not allocate.
 */
#ifndef SYS_MEMORY_H
#define SYS_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/* Returns how many bytes new processes can use without swapping: what the machine has left, or less
 * in a container with a limit. Returns 0 if this is unknown. For tests, HONE_MEMINFO names a file
 * to read instead of /proc/meminfo. */
uint64_t memory_available(void);
/* Returns how many bytes a process has in memory: at this moment, and the most so far. A `pid` of 0
 * stands for this process. */
uint64_t memory_resident(pid_t pid);
uint64_t memory_peak(pid_t pid);

#endif
