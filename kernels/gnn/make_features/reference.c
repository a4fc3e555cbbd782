#include "hone_ref.h"

HONE_FN uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* One unit per feature. */
PHASE(reference)
{
    uint32_t seed = (uint32_t)AX(SEED), key = mix(mix(seed ^ 0x70617065u) - 1);
    uint32_t v = (uint32_t)(unit / AX(D)), d = (uint32_t)(unit % AX(D));
    uint32_t own = mix(key ^ mix(v)), from = own % 4 ? mix(key + v % (uint32_t)AX(R)) : own;
    uint32_t label = (from >> 8) % (uint32_t)AX(C);
    uint32_t c[4] = {v, d / 8, 0, 0x66656174u}, k0 = key, k1 = seed;
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)c[0] * 0xD2511F53u, q = (uint64_t)c[2] * 0xCD9E8D57u;
        c[0] = (uint32_t)(q >> 32) ^ c[1] ^ k0;
        c[2] = (uint32_t)(p >> 32) ^ c[3] ^ k1;
        c[1] = (uint32_t)q;
        c[3] = (uint32_t)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    uint32_t half = c[d % 8 / 2] >> (d % 2 * 16);
    int32_t noise = (int32_t)(half & 255) - (int32_t)(half >> 8 & 255);
    OUT(x, unit, IN(mean, (int64_t)label * AX(D) + d) + (double)noise / 128);
}
