/*
 * memory.h - how much memory the machine has left, and how much a process uses.
 *
 *     if (memory_available() < need) ...
 *
 * The functions allocate nothing, so the compile service may call them.
 */
#ifndef SYS_MEMORY_H
#define SYS_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/* Bytes that new processes can have without swapping: the machine's, or what the limit of this
 * process's container leaves. HONE_MEMINFO names a file to read instead of /proc/meminfo, for
 * tests. Returns 0 if it cannot tell. */
uint64_t memory_available(void);
/* Bytes of a process that are in memory now, or were at most; 0 as `pid` = this process. */
uint64_t memory_resident(pid_t pid);
uint64_t memory_peak(pid_t pid);

#endif
