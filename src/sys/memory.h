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

/* How many bytes new processes can have without swapping: what the machine has left, or less in a
 * container with a limit. Returns 0 if it cannot tell. For tests, HONE_MEMINFO names a file to read
 * instead of /proc/meminfo. */
uint64_t memory_available(void);
/* Bytes of a process in memory: now, and the most so far. A `pid` of 0 is this process. */
uint64_t memory_resident(pid_t pid);
uint64_t memory_peak(pid_t pid);

#endif
