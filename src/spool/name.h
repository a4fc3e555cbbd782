/*
 * name.h - the names of bundles in a spool (lease.h).
 *
 *     todo/ID.g2f1            a bundle that waits
 *     claimed/ID.g2f1.W       a bundle that worker W has
 *     done/ID                 a bundle with its result
 *
 * A worker runs each bundle in a child process. g counts how often a worker took the bundle and
 * gave no result, for any reason. f counts how often the child process died. Each claim of a bundle
 * has a different g, so the name of a claim is never used again. So a late worker cannot mistake a
 * new claim for its own. A bundle that came in a tar file is called just todo/ID; its g and f are
 * 0.
 *
 * Bundles that Hone submits have the id KIND-RUN-SECONDS-SEQUENCE. KIND says which workers can run
 * the bundle: `cuda` means workers with a GPU, `emu_x86_64` means workers on an x86_64 machine.
 * SECONDS is the time that the run's previous bundle took, rounded up; the first bundle of a run
 * has 0. If an id has another form, every worker may take the bundle.
 */
#ifndef SPOOL_NAME_H
#define SPOOL_NAME_H

#include <stdbool.h>

enum { SPOOL_ID_MAX = 128, SPOOL_NAME_MAX = 320 };

struct spool_name {
    char id[SPOOL_ID_MAX];
    unsigned taken, failed;    /* g and f */
    char worker[SPOOL_ID_MAX]; /* only in claimed/; else "" */
};

/* Read a name in todo/ or in claimed/, without the folder. Return false if `text` is no such
 * name. */
bool spool_name_todo(struct spool_name *out, const char *text);
bool spool_name_claimed(struct spool_name *out, const char *text);

/* Write "todo/...", "claimed/..." for the name. */
void spool_todo_path(const struct spool_name *n, char out[SPOOL_NAME_MAX]);
void spool_claimed_path(const struct spool_name *n, char out[SPOOL_NAME_MAX]);

/* Returns the SECONDS of an id, or of a name of todo/ or claimed/; 0 if there are none. */
unsigned spool_name_seconds(const char *name);

#endif
