#include "job/unit_sample.h"

#include "base/util.h"
#include "job/poison.h"

void unit_sample_draw(uint64_t units, uint64_t max, uint64_t seed, struct unit_sample *out)
{
    bool all = !max || units <= max;
    out->n = all ? 1 : (uint32_t)MIN(max, (uint64_t)UNIT_SAMPLE_MAX_RUNS);
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

void unit_sample_of_phase(const struct job_case *c, uint32_t phase, uint64_t seed,
                          struct unit_sample *out)
{
    unit_sample_draw(c->phases[phase].units, phase + 1 == c->nphases ? c->max_units : 0, seed, out);
}

bool unit_sample_is_partial(const struct job_case *c)
{
    return c->nphases && c->max_units && c->phases[c->nphases - 1].units > c->max_units;
}
