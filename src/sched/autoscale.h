/*
 * autoscale.h - decides how many workers a place (starter.h) should have. The functions only
 * compute, so the simulator of t/unit/cluster.c can call them.
 *
 *     struct autoscale a = {.most = 64};
 *     int n = autoscale_step(&a, &(struct autoscale_seen){.bundles = 90, .pending = 3}, now);
 *     n > 0: start n workers; n < 0: cancel -n of those that have not begun
 *
 * There should be one worker for each bundle, up to `most`. Idle workers end by themselves
 * (hone-worker --idle). If workers cannot start, or end before they finish a bundle, the next ones
 * start only after 2 s. This pause doubles with each further failure in a row, up to 256 s.
 */
#ifndef SCHED_AUTOSCALE_H
#define SCHED_AUTOSCALE_H

#include <stdint.h>

struct autoscale {
    unsigned most;
    uint64_t unit_ns;  /* unit of the pauses after failures; 0 = a second */
    unsigned failures; /* failures in a row */
    uint64_t hold_ns;  /* start no worker before this time */
    /* When we first saw that there are too many workers; 0 = there are not too many. */
    uint64_t too_many_ns;
};

struct autoscale_seen {
    unsigned bundles; /* bundles that wait or run */
    unsigned pending; /* workers that were asked for, but have not begun */
    unsigned running;
};

int autoscale_step(struct autoscale *a, const struct autoscale_seen *seen, uint64_t now_ns);
/* Call this if a worker could not start, or ended before it finished a bundle. */
void autoscale_failed(struct autoscale *a, uint64_t now_ns);
void autoscale_worked(struct autoscale *a);

#endif
