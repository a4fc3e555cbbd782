/*
 * turn.h - the file `turn` of a bundle. A worker that shares its GPU with other workers writes it.
 * From this file, `hone` can tell whether the worker waits for the GPU or hangs.
 *
 *     turn_text(&(struct turn){.count = ++n}, text);              the worker waits
 *     turn_text(&(struct turn){.count = n, .begun_ns = now_ns()}, text);    it has the GPU now
 *     if (turn_read(&t, text)) ...
 *
 * `hone` and the worker run on one machine, so they have the same monotonic clock.
 */
#ifndef JOB_TURN_H
#define JOB_TURN_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TURN_FILE "turn"
enum { TURN_MAX = 64 };

struct turn {
    uint64_t count;    /* grows once a second while the worker waits */
    uint64_t begun_ns; /* now_ns() when the worker got its GPU; 0 = it waits */
};

static inline int turn_text(const struct turn *t, char out[TURN_MAX])
{
    return snprintf(out, TURN_MAX, "%" PRIu64 " %" PRIu64 "\n", t->count, t->begun_ns);
}

static inline bool turn_read(struct turn *t, const char *text)
{
    return sscanf(text, "%" SCNu64 " %" SCNu64, &t->count, &t->begun_ns) == 2;
}

#endif
