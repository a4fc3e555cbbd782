/*
 * pch.h - precompiled headers on disk: FILE.pch, and FILE.pch.sum with its checksum.
 *
 *     int lock = pch_lock(path);              one process at a time builds a header
 *     if (lock >= 0 && !pch_valid(path))
 *         ... write tmp ..., pch_seal(tmp, path);
 *     close(lock);
 *
 * The names of family headers (family.h), which are many times as large as others, begin with
 * PCH_FAMILY.
 */
#ifndef COMPILE_PCH_H
#define COMPILE_PCH_H

#include <stdbool.h>

enum { PCH_PATH_MAX = 512 };
#define PCH_FAMILY "family-"

/* Waits until no other process builds this header. The lock lasts until the descriptor is closed or
 * the process ends. -1 if locking fails. */
int pch_lock(const char *path);

bool pch_valid(const char *path); /* the header exists and matches its checksum */
/* Writes the checksum of tmp, then renames tmp to path. Returns 0 or -1. */
int pch_seal(const char *tmp, const char *path);
int pch_discard(const char *path); /* deletes header and checksum; 0, or -1 and errno */

#endif
