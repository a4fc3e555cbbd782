#include "hone_ref.h"

HONE_FN uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* A permutation of 0..n-1, or its inverse. */
HONE_FN uint32_t permute(uint32_t key, uint32_t n, uint32_t i, int inverse)
{
    uint32_t bits = 2;
    while (bits < 32 && (n - 1) >> bits)
        bits++;
    uint32_t half = bits / 2, low_mask = (1u << half) - 1, high_mask = (1u << (bits - half)) - 1;
    do {
        uint32_t low = i & low_mask, high = i >> half;
        for (uint32_t step = 0; step < 6; step++) {
            uint32_t r = inverse ? 5 - step : step;
            uint32_t word = mix(key + (r << 20) + (r % 2 ? high : low));
            if (r % 2)
                low ^= word & low_mask;
            else
                high ^= word & high_mask;
        }
        i = high << half | low;
    } while (i >= n);
    return i;
}

/* One unit per offset. */
PHASE(offsets)
{
    int64_t i = unit / AX(R), g = unit % AX(R);
    double first = (double)AX(R) * IN(prefix, i);
    OUT(offset, unit, i == AX(G) ? first : first + (double)g * (IN(prefix, i + 1) - IN(prefix, i)));
}

/* One unit per member: finds the partners of its ends in all communities. */
PHASE(neighbours)
{
    uint32_t communities = (uint32_t)AX(R), ends = (uint32_t)AX(P), local = (uint32_t)AX(LOCAL);
    uint32_t others = ends - local, all = communities * others, keys = mix((uint32_t)AX(SEED) ^ 0x70617065u);
    int64_t first = (int64_t)IN(prefix, unit), degree = (int64_t)IN(prefix, unit + 1) - first;
    for (int64_t n = 0; n < degree * AX(R); n++) {
        uint32_t g = (uint32_t)(n / degree);
        uint32_t place = permute(mix(keys + g), ends, (uint32_t)(first + n % degree), 0);
        if (place < local) {
            place ^= 1;
        } else {
            uint32_t at = g * others + (place - local), key = mix(keys + 0xffffffffu);
            uint32_t partner = permute(key, all, at, 0) ^ 1;
            if (partner < all)
                at = permute(key, all, partner, 1);
            g = at / others;
            place = local + at % others;
        }
        uint32_t end = permute(mix(keys + g), ends, place, 1);
        int64_t low = 0, high = AX(G);
        while (high - low > 1) {
            int64_t middle = (low + high) / 2;
            if ((uint32_t)IN(prefix, middle) <= end)
                low = middle;
            else
                high = middle;
        }
        OUT(neighbour, AX(R) * first + n, (double)(low * AX(R) + g));
    }
}
