/*
 * memory.h - how much memory the machine has left, and how much a process uses.
 *
 *     if (memory_available() < need) ...
 *
 * The functions allocate nothing: compile_service.c, which must not allocate, calls them.
 */
#ifndef SYS_MEMORY_H
#define SYS_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/* Returns how many bytes new processes can have without swapping. That is the memory that the
 * machine has left, or less if this process's container has a limit. Returns 0 if it cannot tell.
 * HONE_MEMINFO names a file to read instead of /proc/meminfo, for tests. */
uint64_t memory_available(void);
/* memory_resident() returns how many bytes of a process are in memory now. memory_peak() returns
 * the largest such number so far. A `pid` of 0 is this process. */
uint64_t memory_resident(pid_t pid);
uint64_t memory_peak(pid_t pid);

#endif
