/*
 * pch.h - precompiled headers on disk: FILE.pch, and FILE.pch.sum with its checksum.
 *
 *     int lock = pch_lock(path);              builders of the same header come one at a time
 *     if (lock >= 0 && !pch_valid(path))
 *         ... write tmp ..., pch_seal(tmp, path);
 *     close(lock);
 *
 * A family's header (family.h) is many times as large as the others and is named for it.
 */
#ifndef COMPILE_PCH_H
#define COMPILE_PCH_H

#include <stdbool.h>

enum { PCH_PATH_MAX = 512 };
#define PCH_FAMILY "family-"

/* Waits until no other process builds this header; closing the descriptor, or the end of the
 * process, lets the next one in. -1 if there can be no lock. */
int pch_lock(const char *path);

bool pch_valid(const char *path);
int pch_seal(const char *tmp, const char *path); /* tmp becomes path */
int pch_discard(const char *path);               /* 0, or -1 and errno */

#endif
