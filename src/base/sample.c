#include "base/sample.h"

#include "base/poison.h"
#include "base/util.h"

uint32_t sample_units(uint64_t units, uint64_t max, uint64_t seed,
                      struct sample_range out[SAMPLE_MAX_RANGES])
{
    if (!max || units <= max) {
        out[0] = (struct sample_range){0, units};
        return units ? 1 : 0;
    }
    uint32_t n = (uint32_t)MIN(max, (uint64_t)SAMPLE_MAX_RANGES);
    uint64_t each = max / n;
    for (uint32_t i = 0; i < n; i++) {
        seed = poison_mix(seed + i);
        out[i] = (struct sample_range){seed % (units - each + 1), each};
    }
    out[0].first = 0;
    out[n - 1].first = units - each;
    return n;
}
