/*
 * autoscale.h - decides how many workers a place (starter.h) should have. It does nothing else, so
 * the simulator of t/unit/cluster.c can run it.
 *
 *     struct autoscale a = {.most = 64};
 *     int n = autoscale_step(&a, &(struct autoscale_seen){.bundles = 90, .pending = 3}, now);
 *     n > 0: start n workers; n < 0: cancel -n of those that have not begun
 *
 * There should be one worker for each bundle (a directory with a job), up to `most` workers.
 * Workers that run and have nothing to do end by themselves (hone-worker --idle). If workers cannot
 * be started, or end before they finish a bundle, the autoscaler waits before it starts others. It
 * waits 2 s after the first failure, then 4 s, up to 256 s.
 */
#ifndef SCHED_AUTOSCALE_H
#define SCHED_AUTOSCALE_H

#include <stdint.h>

struct autoscale {
    unsigned most;
    uint64_t unit_ns;  /* the waiting times above count in this unit; 0 = a second */
    unsigned failures; /* how many failures there were in a row */
    uint64_t hold_ns;  /* no worker is started before this time */
    /* since when there are more workers than needed; 0 = there are no more than needed */
    uint64_t too_many_ns;
};

struct autoscale_seen {
    unsigned bundles; /* bundles that are not finished: they wait or run */
    unsigned pending; /* workers that were asked for and have not begun */
    unsigned running;
};

int autoscale_step(struct autoscale *a, const struct autoscale_seen *seen, uint64_t now_ns);
/* Call this when a worker could not be started, or ended before it finished a bundle. */
void autoscale_failed(struct autoscale *a, uint64_t now_ns);
/* Call this when a worker finished a bundle. */
void autoscale_worked(struct autoscale *a);

#endif
