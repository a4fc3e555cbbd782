/*
 * name.h - the names of bundles in a spool (lease.h).
 *
 *     todo/ID.g2f1            a bundle that waits
 *     claimed/ID.g2f1.W       a bundle that worker W has
 *     done/ID                 a bundle with its result
 *
 * g counts how often a worker took the bundle and gave no result. A worker runs each bundle in a
 * child process; f counts how often that process died. Each claim of a bundle has a different g, so
 * a late worker cannot mistake a new claim for its own. A bundle that came in a tar file is just
 * todo/ID; its g and f are 0.
 *
 * Bundles that Hone submits have the id KIND-RUN-SECONDS-SEQUENCE. KIND says which workers can run
 * the bundle: `cuda` needs a GPU, `emu_x86_64` an x86_64 machine. SECONDS is how long the run's
 * previous bundle took; in the id of the first bundle, it is 0. A bundle with an id of another form
 * is for every worker.
 */
#ifndef SPOOL_NAME_H
#define SPOOL_NAME_H

#include <stdbool.h>

enum { SPOOL_ID_MAX = 128, SPOOL_NAME_MAX = 320 };

struct spool_name {
    char id[SPOOL_ID_MAX];
    unsigned taken, failed;    /* g and f */
    char worker[SPOOL_ID_MAX]; /* only in claimed/ */
};

/* `text` is a name in todo/ or claimed/, without the folder. Return false if it is not. */
bool spool_name_todo(struct spool_name *out, const char *text);
bool spool_name_claimed(struct spool_name *out, const char *text);

/* Write "todo/..." or "claimed/...". */
void spool_todo_path(const struct spool_name *n, char out[SPOOL_NAME_MAX]);
void spool_claimed_path(const struct spool_name *n, char out[SPOOL_NAME_MAX]);

/* `name` is an id, or a name in todo/ or claimed/. Returns 0 if it has no SECONDS. */
unsigned spool_name_seconds(const char *name);

#endif
