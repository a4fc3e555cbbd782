#include "base/sample.h"

#include "base/poison.h"
#include "base/util.h"

void sample_units(uint64_t units, uint64_t max, uint64_t seed, struct sample *out)
{
    bool all = !sample_is_partial(units, max);
    out->n = all ? 1 : (uint32_t)MIN(max, (uint64_t)SAMPLE_MAX_RUNS);
    out->run = all ? units : max / out->n;
    out->start[0] = 0;
    uint64_t stretch = units / out->n;
    for (uint32_t i = 1; i < out->n; i++) {
        seed = poison_mix(seed + i);
        out->start[i] = i * stretch + seed % (stretch - out->run + 1);
    }
    if (out->n > 1)
        out->start[out->n - 1] = units - out->run;
}
