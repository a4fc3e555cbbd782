/* autoscale.c - decides when to start and cancel workers. See autoscale.h. */
#include "sched/autoscale.h"

#include "base/util.h"

#define SECOND UINT64_C(1000000000)
enum { MOST_DOUBLINGS = 8, PATIENCE_S = 10 };

int autoscale_step(struct autoscale *a, const struct autoscale_seen *seen, uint64_t now_ns)
{
    unsigned wanted = MIN(seen->bundles, a->most), have = seen->pending + seen->running;
    if (have <= wanted)
        a->too_many_ns = 0;
    if (have < wanted)
        return now_ns < a->hold_ns ? 0 : (int)(wanted - have);
    if (have == wanted || !seen->pending)
        return 0;
    /* Soon there may be more bundles again, so we cancel workers only after PATIENCE_S. */
    if (!a->too_many_ns)
        a->too_many_ns = now_ns ? now_ns : 1;
    if (now_ns - a->too_many_ns < PATIENCE_S * SECOND)
        return 0;
    return -(int)MIN(seen->pending, have - wanted);
}

void autoscale_failed(struct autoscale *a, uint64_t now_ns)
{
    if (now_ns < a->hold_ns)
        /* workers that were started together failed together, which counts as one failure */
        return;
    a->failures++;
    uint64_t unit = a->unit_ns ? a->unit_ns : SECOND;
    a->hold_ns = now_ns + (unit << MIN(a->failures, (unsigned)MOST_DOUBLINGS));
}

void autoscale_worked(struct autoscale *a)
{
    a->failures = 0;
    a->hold_ns = 0;
}
